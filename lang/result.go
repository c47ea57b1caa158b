package lang

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/modellog/modellog/lm"
	tty "golang.org/x/term"
)

// Result is what a statement brings forth: a [*Report], [*Value], [*Table],
// [*Ladder], [*Run], [*Figure] or [*Note]. All have a method HTML() string for
// notebooks as well; reports, values and ladders have LaTeX() string, figures
// SVG() ([]byte, error).
type Result interface {
	// Kind names the result's type as its JSON does: "report", "value",
	// "table", "ladder", "run", "figure" or "note".
	Kind() string
	// Text shows the result in lines of at most st.Width columns where
	// that can be done by cutting texts short. There is no newline at the
	// end.
	Text(st Style) string
	// MarshalJSON gives the whole result as one object with its "kind".
	// A number that is only known to lie in an interval is [lo, hi]; one
	// that is undefined or infinite is null.
	json.Marshaler
}

// Style says how text is shown.
type Style struct {
	Color bool // with ANSI escape sequences
	Width int  // columns; 80 for 0
}

// StyleOf says how to show text on w: in colour on a terminal, unless NO_COLOR is set or TERM is dumb, and
// as wide as that is. For anything but a terminal it is the zero Style.
func StyleOf(w io.Writer) Style {
	f, ok := w.(*os.File)
	if !ok || !tty.IsTerminal(int(f.Fd())) {
		return Style{}
	}
	fd := int(f.Fd())
	st := Style{Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	if width, _, err := tty.GetSize(fd); err == nil {
		st.Width = width
	}
	return st
}

func (st Style) width() int {
	if st.Width <= 0 {
		return 80
	}
	return max(st.Width, 40)
}

// ANSI colours by what they are used for.
const (
	styleBold  = "1"
	styleDim   = "2"
	styleGood  = "32"
	styleBad   = "31"
	styleDoubt = "33"
	stylePiece = "36"
)

// paint colours a text if there are colours.
func (st Style) paint(code, text string) string {
	if !st.Color || text == "" || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Note tells of something: which model was opened, where a file was written,
// how long a statement took.
type Note struct {
	What    string  // "model", "calibration", "time", "saved", "help", …
	Message string  // one or more lines
	Path    string  // of a "saved" note: the file's absolute path
	Seconds float64 // of a "time" note
}

// Kind returns "note".
func (n *Note) Kind() string { return "note" }

// Text returns the message.
func (n *Note) Text(st Style) string {
	if n.What == "time" {
		return st.paint(styleDim, n.Message)
	}
	return n.Message
}

// MarshalJSON gives {"kind":"note","what":…,"message":…}.
func (n *Note) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Kind    string  `json:"kind"`
		What    string  `json:"what"`
		Message string  `json:"message"`
		Path    string  `json:"path,omitempty"`
		Seconds float64 `json:"seconds,omitempty"`
	}{n.Kind(), n.What, n.Message, n.Path, n.Seconds})
}

// describeModel says in one line which model it is and how it was opened.
func describeModel(i lm.Info) string {
	parts := []string{i.Name, i.Backend, count(i.Vocabulary) + " tokens"}
	if i.Precision != "" {
		parts = append(parts, i.Precision)
	}
	if !i.Whole {
		parts = append(parts, "sees the most probable tokens only: results are intervals")
	}
	return strings.Join(parts, " · ")
}

func formatDuration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d.Microseconds())/1e3)
	case d < time.Minute:
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

package lang

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/modellog/modellog/plots"
)

// Figure is a drawing that %plot made.
type Figure struct {
	What    string // the kind of plot: "report", "ladder", …
	Drawing *plots.Figure
}

// figureFormats are the extensions of the files that a figure is written to.
var figureFormats = []string{".svg", ".png", ".pdf"}

// Write writes the figure as "svg", "png" or "pdf".
func (f *Figure) Write(w io.Writer, format string) error {
	return f.Drawing.Write(w, format)
}

// Kind returns "figure".
func (f *Figure) Kind() string { return "figure" }

// Text names the figure and tells how to see it.
func (f *Figure) Text(st Style) string {
	return st.paint(styleBold, cutRight(escape(f.Drawing.Title()), st.width())) +
		"\n  " + st.paint(styleDim, fmt.Sprintf("figure: %s; %%save FILE.svg writes it (or .png, .pdf)", f.What))
}

// MarshalJSON gives {"kind":"figure","plot":…,"title":…,"svg":…}.
func (f *Figure) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := f.Write(&b, "svg"); err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Kind  string `json:"kind"`
		Plot  string `json:"plot"`
		Title string `json:"title"`
		SVG   string `json:"svg"`
	}{f.Kind(), f.What, f.Drawing.Title(), b.String()})
}

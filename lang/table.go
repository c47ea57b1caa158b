package lang

import (
	"encoding/json"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/modellog/modellog/event"
)

// Table is a query's or command's answer in rows.
type Table struct {
	Query   string // the query or command: "marginals", "models", "who", …
	Formula string // what was asked about, or ""
	Head    []string
	Cells   [][]string // as shown; one row for each of Rows where those fit a terminal
	Rows    []any      // as JSON objects
	Note    string     // below the rows; may be empty

	p, logP *number // of mpe: the interpretation's probability and its natural logarithm

	keys  int           // leading columns that say what a row is of: where lines are too long, they are repeated before the others
	right []bool        // columns aligned to the right
	flex  int           // the column that is cut where the line is too long, or -1
	asked []*event.Step // of each row what the model was asked, which the column flex shows; nil where nothing
}

// Kind returns "table".
func (t *Table) Kind() string { return "table" }

// Text shows the rows under their heads, and of many rows the first.
func (t *Table) Text(st Style) string {
	g := &grid{indent: 2}
	for i, h := range t.Head {
		g.head = append(g.head, column{title: h, flex: i == t.flex, right: i < len(t.right) && t.right[i]})
	}
	for i, row := range t.Cells {
		if i == maxRows {
			break
		}
		g.add(row...)
	}
	var lines []string
	if t.Formula != "" {
		lines = append(lines, st.paint(styleBold, cutRight(escape(clip(t.Formula)), st.width())))
	}
	for i, part := range g.parts(t.keys, st) {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, part.lines(st)...)
	}
	if n := len(t.Cells) - maxRows; n > 0 {
		lines = append(lines, st.paint(styleDim, "  … and "+plural(n, "more row")+" (JSON has all)"))
	}
	if t.Note != "" {
		note := t.Note
		if runewidth.StringWidth(note)+2 > st.width() {
			note = wrap(note, st.width()-2, "  ")
		}
		lines = append(lines, st.paint(styleDim, "  "+note))
	}
	return strings.Join(lines, "\n")
}

// wrap breaks a text at spaces.
func wrap(s string, width int, indent string) string {
	var b strings.Builder
	n := 0
	for i, word := range strings.Fields(s) {
		w := runewidth.StringWidth(word)
		switch {
		case i > 0 && n+1+w > width:
			b.WriteString("\n" + indent)
			n = 0
		case i > 0:
			b.WriteString(" ")
			n++
		}
		b.WriteString(word)
		n += w
	}
	return b.String()
}

// MarshalJSON gives {"kind":"table","query":…,"formula":…,"rows":[{…},…]}.
func (t *Table) MarshalJSON() ([]byte, error) {
	rows := t.Rows
	if rows == nil {
		rows = []any{}
	}
	return json.Marshal(struct {
		Kind    string  `json:"kind"`
		Query   string  `json:"query"`
		Formula *string `json:"formula"`
		Rows    []any   `json:"rows"`
		P       *number `json:"p,omitempty"`
		LogP    *number `json:"log_p,omitempty"`
		Note    *string `json:"note,omitempty"`
	}{t.Kind(), t.Query, optional(t.Formula), rows, t.p, t.logP, optional(t.Note)})
}

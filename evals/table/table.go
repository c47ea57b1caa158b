// Package table shows measured figures beside published ones: as text for a
// terminal, as CSV, as Markdown, and as LaTeX.
//
// A table has columns and groups of rows, such as those measured here and those
// that a paper publishes; a rule and a heading stand before each group. A number is
// shown with the decimals that it is given, with its standard deviation, or as the
// interval that it is known to lie in. One that is not defined says so, and one that
// nobody has measured is a dash.
//
// Text keeps within a width without ever breaking a number: where a line would be too
// long, columns go into further parts below, each with the columns that say what a row
// is. CSV has one number a row, in the form of package published, with all its digits; it
// leaves out what is no finite number. LaTeX needs the package booktabs.
//
// The best number of a column is marked only where it is sure: in a group that asks for it,
// among numbers that are shown, and for intervals where no other one may be better.
package table

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/modellog/modellog/notebooks/published"
)

// About says what a number is of.
type About = published.About

// Table is a table of figures. Its texts are shown as they are in all forms: what
// is special in Markdown or LaTeX is escaped.
type Table struct {
	Number  string // such as "Table 2"; may be empty
	Caption string // may be empty
	Columns []Column
	Groups  []Group
	Notes   []string // below the table, each a paragraph
}

// Column is a column of a table.
type Column struct {
	Head string
	// Key is what a column of texts shows of its rows, for GroupOf: "model",
	// "family", "subset", "quantity", "table", or a name in About.Other.
	// Columns with a Key stand before the others and are aligned to the left.
	Key string
	// About says what the numbers of the column are of, as far as it is the
	// same for all of them; each needs a quantity, from its column or its row.
	About
	// Best says which of the column's numbers is marked, in groups with Mark.
	Best Best
}

// Best says which number is the best of several.
type Best int

const (
	None Best = iota
	Highest
	Lowest
)

// Group is a part of a table's rows.
type Group struct {
	Heading string // may be empty
	Rows    []Row
	Mark    bool // mark the best of each column that has one
}

// Row has a cell for each column.
type Row struct {
	About // what its numbers are of, as far as the columns do not say it
	Cells []Cell
}

// check reports what is wrong with a table, and what is only wrong with it as CSV.
func (t *Table) check(f Format) error {
	if len(t.Columns) == 0 {
		return errors.New("it has no columns")
	}
	for i, c := range t.Columns {
		if i > 0 && c.Key != "" && t.Columns[i-1].Key == "" {
			return fmt.Errorf("the column %q says what rows are and stands behind one of numbers", c.Head)
		}
	}
	for _, g := range t.Groups {
		for j, r := range g.Rows {
			if len(r.Cells) != len(t.Columns) {
				return fmt.Errorf("row %d of the group %q has %d cells for %d columns", j+1, g.Heading, len(r.Cells), len(t.Columns))
			}
			if f != CSV {
				continue
			}
			for i, c := range r.Cells {
				if c.finite() && merge(t.Columns[i].About, r.About).Quantity == "" {
					return fmt.Errorf("row %d of the group %q has a number in the column %q, and neither says what quantity it is", j+1, g.Heading, t.Columns[i].Head)
				}
			}
		}
	}
	return nil
}

// merge says what a column and a row say together; where both do, the column goes first.
func merge(column, row About) About {
	or := func(a, b string) string {
		if a != "" {
			return a
		}
		return b
	}
	out := About{
		Table: or(column.Table, row.Table), Model: or(column.Model, row.Model), Family: or(column.Family, row.Family), Size: column.Size,
		Subset: or(column.Subset, row.Subset), Quantity: or(column.Quantity, row.Quantity), Unit: or(column.Unit, row.Unit),
	}
	if out.Size == 0 {
		out.Size = row.Size
	}
	if len(column.Other)+len(row.Other) > 0 {
		out.Other = make(map[string]string)
		maps.Copy(out.Other, row.Other)
		maps.Copy(out.Other, column.Other)
	}
	return out
}

// GroupOf puts figures, published ones for instance, into rows under columns. A figure stands
// in the column that says nothing else of it, and in the row of those that agree
// in everything that columns do not say; rows come in the order of the figures. A figure
// that no column is for is left out, and where there is none for a cell it is Missing.
func GroupOf(heading string, columns []Column, figures []published.Figure) (Group, error) {
	g := Group{Heading: heading}
	rows := make(map[string]int)
	for _, f := range figures {
		at := slices.IndexFunc(columns, func(c Column) bool { return c.Key == "" && fits(c.About, f.About) })
		if at < 0 {
			continue
		}
		about := without(f.About, columns)
		key := fmt.Sprintf("%q", []any{about.Table, about.Model, about.Family, about.Size, about.Subset, about.Quantity, about.Unit, slices.Sorted(maps.Keys(about.Other)), about.Other})
		i, ok := rows[key]
		if !ok {
			i = len(g.Rows)
			rows[key] = i
			r := Row{About: about, Cells: make([]Cell, len(columns))}
			for j, c := range columns {
				if c.Key != "" {
					r.Cells[j] = Text(keyOf(about, c.Key))
				}
			}
			g.Rows = append(g.Rows, r)
		}
		if g.Rows[i].Cells[at] != Missing() {
			return Group{}, fmt.Errorf("two figures stand in one cell, of line %d and before; say more of the columns", f.Line)
		}
		g.Rows[i].Cells[at] = Printed(f)
	}
	return g, nil
}

// fits reports whether a figure is what a column is for.
func fits(column, figure About) bool {
	for _, p := range [][2]string{
		{column.Table, figure.Table}, {column.Model, figure.Model}, {column.Family, figure.Family}, {column.Subset, figure.Subset},
		{column.Quantity, figure.Quantity}, {column.Unit, figure.Unit},
	} {
		if p[0] != "" && p[0] != p[1] {
			return false
		}
	}
	for k, v := range column.Other {
		if figure.Other[k] != v {
			return false
		}
	}
	return column.Size == 0 || column.Size == figure.Size
}

// without is what a row says: what some column tells of its numbers is for the columns to say.
func without(a About, columns []Column) About {
	a.Other = maps.Clone(a.Other)
	for _, c := range columns {
		if c.Key != "" {
			continue
		}
		for _, p := range []struct {
			told string
			of   *string
		}{{c.Table, &a.Table}, {c.Model, &a.Model}, {c.Family, &a.Family}, {c.Subset, &a.Subset}, {c.Quantity, &a.Quantity}, {c.Unit, &a.Unit}} {
			if p.told != "" {
				*p.of = ""
			}
		}
		if c.Size != 0 {
			a.Size = 0
		}
		for k := range c.Other {
			delete(a.Other, k)
		}
	}
	return a
}

// keyOf is the text that a key column has for a row.
func keyOf(a About, key string) string {
	switch key {
	case "model":
		return a.Model
	case "family":
		return a.Family
	case "subset":
		return a.Subset
	case "quantity":
		return a.Quantity
	case "table":
		return a.Table
	}
	return a.Other[key]
}

// best reports for each cell of a group whether it is the best of its column.
func (t *Table) best(g Group) [][]bool {
	marks := make([][]bool, len(g.Rows))
	for i := range marks {
		marks[i] = make([]bool, len(t.Columns))
	}
	if !g.Mark {
		return marks
	}
	for j, c := range t.Columns {
		if c.Best == None {
			continue
		}
		n := 0
		for _, r := range g.Rows {
			if r.Cells[j].isNumber() {
				n++
			}
		}
		if n < 2 {
			continue
		}
		for i, r := range g.Rows {
			a := r.Cells[j]
			marks[i][j] = a.isNumber() && !slices.ContainsFunc(g.Rows, func(o Row) bool {
				b := o.Cells[j]
				return b.isNumber() && a != b && b.text() != a.text() && !surelyBeats(a, b, c.Best)
			})
		}
	}
	return marks
}

// surelyBeats reports whether a is at least as good as b wherever the two lie.
func surelyBeats(a, b Cell, best Best) bool {
	if best == Lowest {
		return a.hi <= b.lo
	}
	return a.lo >= b.hi
}

// title is the line above a table.
func (t *Table) title() string {
	return strings.TrimSuffix(strings.TrimPrefix(t.Number+". "+t.Caption, ". "), ". ")
}

// keys is how many columns say what a row is.
func (t *Table) keys() int {
	n := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Key == "" })
	if n < 0 {
		return len(t.Columns)
	}
	return n
}

// Format is a form in which a table is written.
type Format int

const (
	PlainText Format = iota
	CSV
	Markdown
	LaTeX
)

var formats = []struct{ name, extension string }{{"text", ".txt"}, {"csv", ".csv"}, {"markdown", ".md"}, {"latex", ".tex"}}

// String returns "text", "csv", "markdown" or "latex".
func (f Format) String() string { return formats[f].name }

// Extension returns the ending of a file of this form: ".txt", ".csv", ".md", ".tex".
func (f Format) Extension() string { return formats[f].extension }

// ParseFormat returns the form with a name.
func ParseFormat(name string) (Format, error) {
	for i, f := range formats {
		if strings.EqualFold(f.name, name) {
			return Format(i), nil
		}
	}
	return 0, fmt.Errorf("a table is written as text, csv, markdown or latex, not as %q", name)
}

// Style says how text is shown.
type Style struct {
	Width int  // columns that a line may take; 0 for any number
	Color bool // with ANSI escape sequences
}

// Write writes tables one below the other; as CSV they make one file. The style is for
// text alone. It is an error if a row has not a cell for each column, or if in CSV a
// number does not say what quantity it is.
func Write(w io.Writer, f Format, st Style, tables ...*Table) error {
	for _, t := range tables {
		if err := t.check(f); err != nil {
			return fmt.Errorf("writing %s: %w", strings.Trim(fmt.Sprintf("the table %q", t.title()), " "), err)
		}
	}
	if f == CSV {
		return writeCSV(w, tables)
	}
	for i, t := range tables {
		var s string
		switch f {
		case PlainText:
			s = t.plainText(st)
		case Markdown:
			s = t.markdown()
		case LaTeX:
			s = t.latex()
		default:
			return fmt.Errorf("writing a table: there is no form %d", int(f))
		}
		if i > 0 {
			s = "\n" + s
		}
		if _, err := io.WriteString(w, s); err != nil {
			return err
		}
	}
	return nil
}

// clean makes a text one line without characters that a terminal obeys.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || r == '\u2028' || r == '\u2029':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// isFinite reports whether a number can stand in a file of figures.
func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

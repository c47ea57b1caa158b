package lang

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modellog/modellog/lang/syntax"
)

// measuredHere stands in place of a published table's name.
const measuredHere = "measured here"

// tableCommand shows in a table what %plot scaling draws: a line for each model and published table,
// a column for each subset and quantity.
func (s *Session) tableCommand(ctx context.Context, u *unit, c *syntax.Command, words []syntax.Word) error {
	g, err := s.gather(u, words)
	if err != nil {
		return err
	}
	if g == nil {
		return usage(u, c)
	}
	if len(g.panels) == 0 {
		return u.src.Errorf(words[0], "there is nothing in it")
	}
	t, err := g.tabulate()
	if err != nil {
		return u.src.Errorf(c, "%w", err)
	}
	return u.emit(t)
}

// across is the column of a file whose values become the table's columns: the subset, or where a
// subset has several quantities these. The values of all others become lines.
func (g *gathered) across() string {
	if len(g.distinct("quantity")) > 1 || len(g.distinct("subset")) < 2 {
		return "quantity"
	}
	return "subset"
}

// tableLine is one of a table's lines: what it is of, and a cell for each column.
type tableLine struct {
	of    []string // model, table, and the values of the columns that are not across
	cells []string
}

func (g *gathered) tabulate() (*Table, error) {
	across := g.across()
	t := &Table{Query: "table", flex: -1}
	var down []string
	for _, col := range g.about {
		if col != across && (col != "quantity" || len(g.distinct(col)) > 1) {
			down = append(down, col)
		}
	}
	head := append([]string{"model", "table"}, down...)

	// The columns, each with the panels that it is made of.
	var columns []string
	units := map[string]bool{}
	for _, p := range g.panels {
		units[p.unit] = true
	}
	title := g.title()
	if first := g.panels[0]; across == "subset" && len(units) == 1 && first.about["quantity"] != "" {
		title = append(title, quantityName(first.about["quantity"])+unitSuffix(first.unit))
	}
	t.Formula = strings.Join(title, " · ")
	name := func(p *scalingPanel) string { return columnName(p, across, across == "quantity" || len(units) > 1) }
	for _, p := range g.panels {
		if n := name(p); !slices.Contains(columns, n) {
			columns = append(columns, n)
		}
	}
	if len(columns) > mostPanels {
		return nil, fmt.Errorf("these are %d columns, and a table has room for %d; choose some by %s=…", len(columns), mostPanels, across)
	}
	var published, own []*tableLine
	for _, p := range g.panels {
		at := slices.Index(columns, name(p))
		for _, v := range p.values {
			of, lines := []string{cmp.Or(v.model, v.family), v.table}, &published
			if v.table == "" {
				of[1], lines = measuredHere, &own
			}
			for _, col := range down {
				of = append(of, p.about[col])
			}
			i := slices.IndexFunc(*lines, func(l *tableLine) bool { return slices.Equal(l.of, of) && l.cells[at] == "" })
			if i < 0 {
				i = len(*lines)
				*lines = append(*lines, &tableLine{of, make([]string, len(columns))})
			}
			(*lines)[i].cells[at] = v.shown
			t.Rows = append(t.Rows, g.jsonValue(p, v))
		}
	}

	// What is the same in all lines is in the title, or needs no saying.
	lines := append(published, own...)
	var kept []int
	for i := range head {
		same := !slices.ContainsFunc(lines, func(l *tableLine) bool { return l.of[i] != lines[0].of[i] })
		if !same || i == 0 && lines[0].of[0] != "" {
			kept = append(kept, i)
		}
	}
	for _, i := range kept {
		t.Head = append(t.Head, head[i])
		t.right = append(t.right, false)
	}
	t.keys = len(kept)
	for _, name := range columns {
		t.Head = append(t.Head, escape(name))
		t.right = append(t.right, true)
	}
	for _, l := range lines {
		var row []string
		for _, i := range kept {
			row = append(row, escape(l.of[i]))
		}
		for _, x := range l.cells {
			row = append(row, escape(x))
		}
		t.Cells = append(t.Cells, row)
	}
	t.Note = g.means()
	return t, nil
}

// columnName is the head of the column that a panel belongs to.
func columnName(p *scalingPanel, across string, unit bool) string {
	name := p.about[across]
	if across == "quantity" {
		name = cmp.Or(quantityName(name), "value")
	}
	if unit {
		name += unitSuffix(p.unit)
	}
	return name
}

func unitSuffix(unit string) string {
	if unit == "" {
		return ""
	}
	return " (" + unit + ")"
}

// means says what the values that were measured here are means of.
func (g *gathered) means() string {
	var notes []string
	for _, p := range g.panels {
		for _, v := range p.values {
			if v.method == "" {
				continue
			}
			note := v.method
			var ps []string
			for _, x := range v.ps {
				ps = append(ps, strconv.FormatFloat(x, 'g', -1, 64))
			}
			switch len(ps) {
			case 0:
			case 1:
				note += ", p = " + ps[0]
			default:
				note += ", mean ± standard deviation over p = " + strings.Join(ps, ", ")
			}
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	if len(notes) == 0 {
		return ""
	}
	return measuredHere + ": " + strings.Join(notes, "; ")
}

// jsonValue is a value with all that is known of it.
func (g *gathered) jsonValue(p *scalingPanel, v panelValue) any {
	about := map[string]string{}
	for _, col := range g.about {
		about[col] = p.about[col]
	}
	type value struct {
		Table  *string           `json:"table"`
		Model  *string           `json:"model"`
		Family *string           `json:"family"`
		Size   *float64          `json:"size"`
		Of     map[string]string `json:"of"`
		Unit   *string           `json:"unit"`
		Value  number            `json:"value"`
		Std    *float64          `json:"std"`
	}
	out := value{
		Table: optional(v.table), Model: optional(v.model), Family: optional(v.family), Of: about, Unit: optional(p.unit),
		Value: number{Lo: v.value, Hi: v.value},
	}
	if v.size > 0 {
		out.Size = &v.size
	}
	if v.std > 0 {
		out.Std = &v.std
	}
	return out
}

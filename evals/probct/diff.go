package probct

import (
	"fmt"
	"math"
	"slices"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/evals/bootstrap"
	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/logic"
)

// Change is how a subset's figures differ between two models, over the rows that were
// measured on both and decided.
type Change struct {
	Subset        string
	Pairs         int // rows measured on both
	OnlyA, OnlyB  int // measured on one alone: a target is several tokens of the other
	Undecided     int // left out: on one of the two the verdict is open
	Gained, Lost  int // rows that became consistent, and that ceased to be
	CAccA, CAccB  float64
	CAcc, Rho     bootstrap.Interval // of B − A; CAcc as a share
	RhoA, RhoB    float64
	Fallen, Risen []RowChange // the rows whose ρ fell and rose most
}

// RowChange is a row's ρ in both.
type RowChange struct {
	Line   int
	Values []string
	A, B   float64
}

// DiffOptions say how two models' rows are compared.
type DiffOptions struct {
	Calibration calibrate.Calibration
	Bootstrap   bootstrap.Options
	Examples    int // how many rows are shown whose ρ fell, and rose, most
}

// Diff compares the rows of model A of one run with those of model B of another, or of the same,
// subset by subset, with paired bootstrap intervals. The runs must be of the same data.
func Diff(a *RunFolder, modelA string, b *RunFolder, modelB string, o DiffOptions) ([]Change, error) {
	for _, d := range manifest.Compare(a.Manifest, b.Manifest) {
		if d.Kind == manifest.OfData {
			return nil, fmt.Errorf("the runs in %s and %s are not of the same data: %s", a.Dir, b.Dir, d)
		}
	}
	type place struct {
		subset string
		line   int
	}
	type score struct {
		rho        float64
		consistent bool
		open       bool
	}
	read := func(r *RunFolder, model string, yield func(place, score, *Measured)) error {
		return r.Rows(model, func(m *Measured) error {
			if m.Status != StatusMeasured {
				return nil
			}
			u := m.Under(o.Calibration)
			if u == nil {
				return fmt.Errorf("the run in %s was not measured under %v", r.Dir, o.Calibration)
			}
			x := u.Rho.Interval()
			yield(place{m.Subset, m.Line}, score{
				rho: (x.Lo + x.Hi) / 2, consistent: u.Verdict == logic.Consistent.String(), open: u.Verdict == logic.Undecided.String(),
			}, m)
			return nil
		})
	}
	of := map[place]score{}
	changes := map[string]*Change{}
	var order []string
	change := func(subset string) *Change {
		if changes[subset] == nil {
			changes[subset] = &Change{Subset: subset}
			order = append(order, subset)
		}
		return changes[subset]
	}
	if err := read(a, modelA, func(p place, s score, _ *Measured) {
		of[p] = s
		change(p.subset)
	}); err != nil {
		return nil, err
	}
	type pairs struct{ a, b, rhoA, rhoB []float64 }
	all := map[string]*pairs{}
	if err := read(b, modelB, func(p place, s score, m *Measured) {
		c := change(p.subset)
		before, both := of[p]
		if !both {
			c.OnlyB++
			return
		}
		delete(of, p)
		if before.open || s.open {
			c.Undecided++
			return
		}
		x := all[p.subset]
		if x == nil {
			x = &pairs{}
			all[p.subset] = x
		}
		c.Pairs++
		switch {
		case s.consistent && !before.consistent:
			c.Gained++
		case before.consistent && !s.consistent:
			c.Lost++
		}
		x.a, x.b = append(x.a, share(before.consistent)), append(x.b, share(s.consistent))
		if math.IsNaN(before.rho) || math.IsNaN(s.rho) || math.IsInf(before.rho, 0) || math.IsInf(s.rho, 0) {
			return
		}
		x.rhoA, x.rhoB = append(x.rhoA, before.rho), append(x.rhoB, s.rho)
		row := RowChange{Line: m.Line, Values: m.Values, A: before.rho, B: s.rho}
		c.Fallen = most(c.Fallen, row, o.Examples, func(r RowChange) float64 { return r.A - r.B })
		c.Risen = most(c.Risen, row, o.Examples, func(r RowChange) float64 { return r.B - r.A })
	}); err != nil {
		return nil, err
	}
	for p := range of {
		changes[p.subset].OnlyA++
	}
	var out []Change
	for _, name := range order {
		c := changes[name]
		if x := all[name]; x != nil {
			var err error
			if c.CAcc, err = bootstrap.Difference(x.a, x.b, o.Bootstrap); err != nil {
				return nil, err
			}
			c.CAccA, c.CAccB = mean(x.a), mean(x.b)
			if len(x.rhoA) > 0 {
				if c.Rho, err = bootstrap.Difference(x.rhoA, x.rhoB, o.Bootstrap); err != nil {
					return nil, err
				}
			}
			c.RhoA, c.RhoB = mean(x.rhoA), mean(x.rhoB)
		}
		out = append(out, *c)
	}
	return out, nil
}

func share(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// most keeps the n rows of greatest size, which is above 0, the greatest first.
func most(rows []RowChange, r RowChange, n int, size func(RowChange) float64) []RowChange {
	if size(r) <= 0 {
		return rows
	}
	at := len(rows)
	for at > 0 && size(rows[at-1]) < size(r) {
		at--
	}
	if at >= n {
		return rows
	}
	rows = slices.Insert(rows, at, r)
	return rows[:min(len(rows), n)]
}

// DiffTable is a table of changes, with notes below it.
func DiffTable(changes []Change, modelA, modelB string, cal calibrate.Calibration, notes ...string) *table.Table {
	number := func(head, quantity, unit string) table.Column {
		return table.Column{Head: head, About: table.About{Quantity: quantity, Unit: unit}}
	}
	t := &table.Table{
		Caption: fmt.Sprintf("from A = %s to B = %s, %v", modelA, modelB, cal),
		Columns: []table.Column{
			{Head: "Subset", Key: "subset"},
			number("rows", "rows", "examples"),
			number("CAcc A", "CAcc A", "%"), number("CAcc B", "CAcc B", "%"),
			number("B − A", "CAcc B-A", "%"), number("from", "CAcc B-A low", "%"), number("to", "CAcc B-A high", "%"),
			number("gained", "gained", "examples"), number("lost", "lost", "examples"),
			number("ρ B − A", "rho B-A", ""), number("from", "rho B-A low", ""), number("to", "rho B-A high", ""),
		},
		Notes: notes,
	}
	var g table.Group
	for _, c := range changes {
		whole := func(n int) table.Cell { return table.Number(float64(n), 0) }
		r := table.Row{About: table.About{Subset: Title(c.Subset)}, Cells: []table.Cell{table.Text(Title(c.Subset)), whole(c.Pairs)}}
		figures := []table.Cell{
			table.Number(100*c.CAccA, 1), table.Number(100*c.CAccB, 1),
			table.Number(100*c.CAcc.Value, 1), table.Number(100*c.CAcc.Lo, 1), table.Number(100*c.CAcc.Hi, 1),
			whole(c.Gained), whole(c.Lost),
			table.Number(c.Rho.Value, 3), table.Number(c.Rho.Lo, 3), table.Number(c.Rho.Hi, 3),
		}
		if c.Pairs == 0 {
			figures = make([]table.Cell, len(figures))
		}
		r.Cells = append(r.Cells, figures...)
		g.Rows = append(g.Rows, r)
		if n := c.OnlyA + c.OnlyB + c.Undecided; n > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("%s: left out are %d rows measured on A alone, %d on B alone, and %d whose verdict is open.", Title(c.Subset), c.OnlyA, c.OnlyB, c.Undecided))
		}
	}
	t.Groups = []table.Group{g}
	return t
}

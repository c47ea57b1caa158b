package table

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
)

// writeCSV writes the numbers of tables in the form that package published reads.
func writeCSV(w io.Writer, tables []*Table) error {
	type line struct {
		about About
		cell  Cell
	}
	var lines []line
	names := make(map[string]bool)
	intervals := false
	for _, t := range tables {
		for _, g := range t.Groups {
			for _, r := range g.Rows {
				for i, c := range r.Cells {
					if !c.finite() {
						continue
					}
					a := merge(t.Columns[i].About, r.About)
					lines = append(lines, line{a, c})
					intervals = intervals || c.between()
					for k, v := range a.Other {
						if v != "" {
							names[k] = true
						}
					}
				}
			}
		}
	}
	head := []string{"table", "model", "family", "size", "subset", "quantity", "unit", "value", "std"}
	if intervals {
		head = append(head, "lo", "hi")
	}
	other := slices.Sorted(maps.Keys(names))
	out := csv.NewWriter(w)
	if err := out.Write(append(slices.Clone(head), other...)); err != nil {
		return err
	}
	for _, l := range lines {
		a, c := l.about, l.cell
		size, std := "", ""
		if a.Size > 0 {
			size = strconv.FormatFloat(a.Size, 'f', -1, 64)
		}
		if c.std >= 0 && isFinite(c.std) {
			std = exact(c.std, c.stdDecimals)
		}
		record := []string{a.Table, a.Model, a.Family, size, a.Subset, a.Quantity, a.Unit, exact(c.value, c.decimals), std}
		if c.between() {
			record = append(record, exact(c.lo, c.decimals), exact(c.hi, c.decimals))
		} else if intervals {
			record = append(record, "", "")
		}
		for _, k := range other {
			record = append(record, a.Other[k])
		}
		for i := range record {
			record[i] = clean(record[i])
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// exact writes a number with some decimals, or with as many as it takes to read it back.
func exact(x float64, decimals int) string {
	s := fixed(x, decimals)
	if y, err := strconv.ParseFloat(s, 64); err == nil && y == x {
		return s
	}
	s = strconv.FormatFloat(x, 'f', -1, 64)
	if len(s) > 24 {
		s = strconv.FormatFloat(x, 'g', -1, 64)
	}
	return s
}

package inference

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modellog/modellog/bench"
)

// Comparison is one theory with modellog's line and the fastest line of the peers, which differs
// between compiling and counting anew; nil where there is none.
type Comparison struct {
	Theory           *Theory
	Own              *Line
	Compile, Recount *Line
	Whole            bool // all programs were asked; where the run was interrupted another may be the fastest
}

// Compile ratio and recount ratio: how many times longer the best of the peers takes than modellog.
func (c *Comparison) ratios() (compile, recount float64) {
	if c.Own == nil || c.Compile == nil || !c.Whole {
		return 0, 0
	}
	return c.Compile.Best() / c.Own.Best(), c.Recount.Answer.Recount / c.Own.Answer.Recount
}

// Comparisons has one for each theory.
func (r *Results) Comparisons() []*Comparison {
	var out []*Comparison
	for _, l := range r.Lines {
		if len(out) == 0 || out[len(out)-1].Theory != l.Theory {
			out = append(out, &Comparison{Theory: l.Theory, Whole: true})
		}
		c := out[len(out)-1]
		switch {
		case l.Why == interrupted:
			c.Whole = false
		case !l.OK():
		case l.Name == Own:
			c.Own = l
		default:
			if c.Compile == nil || l.Best() < c.Compile.Best() {
				c.Compile = l
			}
			if c.Recount == nil || l.Answer.Recount < c.Recount.Answer.Recount {
				c.Recount = l
			}
		}
	}
	return out
}

// WriteText writes results for reading: the best of each theory, the largest of each family, then all lines.
func (r *Results) WriteText(w io.Writer, c bench.Circumstances, o Options) error {
	p := &bench.Printer{W: w}
	p.F("%s, %s\n", c.Command, c.Started.Format(time.RFC3339))
	p.F("modellog %s, %s; %s\n", c.Program.Version, c.Program.Go, strings.Join(r.Versions, ", "))
	p.F("%s/%s, %s, one thread each, load average before %s\n", c.Machine.OS, c.Machine.Arch, c.Processor, c.Load)
	p.F("seed %d, %v and %d MiB for each program and theory, shortest of at most %d\n", o.Seed, o.Limits.Time, o.Limits.Memory>>20, o.Repeats)
	if r.Ended != "" {
		p.F("not all was measured: %s\n", r.Ended)
	}
	for _, s := range r.Skipped {
		p.F("%s is missing: %s\n", s.Name, s.Why)
	}
	p.F("\nThe fastest of the peers beside modellog, and how many times longer it takes\n")
	p.F("%-9s %-18s %7s %8s | %10s %10s %7s  %-32s | %10s %10s %7s  %s\n", "family", "theory", "vars", "factors", "compile+", "best peer", "×", "", "recount", "best peer", "×", "")
	for _, x := range r.Comparisons() {
		a := []string{"–", "–", "–", ""}
		b := []string{"–", "–", "–", ""}
		if x.Own != nil {
			a[0], b[0] = duration(x.Own.Best()), duration(x.Own.Answer.Recount)
		}
		if x.Compile != nil && x.Whole {
			a[1], a[3] = duration(x.Compile.Best()), x.Compile.who()
			b[1], b[3] = duration(x.Recount.Answer.Recount), x.Recount.who()
		}
		if x.Own != nil && x.Compile != nil && x.Whole {
			compile, recount := x.ratios()
			a[2], b[2] = fmt.Sprintf("%.2f", compile), fmt.Sprintf("%.1f", recount)
		}
		p.F("%-9s %-18s %7d %8d | %10s %10s %7s  %-32s | %10s %10s %7s  %s\n", x.Theory.Family, x.Theory.Name, x.Theory.Vars, len(x.Theory.Clauses)+len(x.Theory.Exactly),
			a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3])
	}
	p.F("\nThe largest theory of each family that each program counted\n")
	names := []string{Own}
	for _, l := range r.Lines {
		if !slices.Contains(names, l.Name) {
			names = append(names, l.Name)
		}
	}
	p.F("%-9s", "family")
	for _, n := range names {
		p.F(" %-18s", n)
	}
	p.F("\n")
	for _, f := range o.Families {
		p.F("%-9s", f.Name)
		for _, n := range names {
			p.F(" %-18s", r.largest(f.Name, n))
		}
		p.F(" %s\n", f.About)
	}
	p.F("\nAll of them\n")
	p.F("%-18s %-34s %6s %10s %10s %9s  %s\n", "theory", "", "passes", "compile+", "recount", "size", "")
	for _, l := range r.Lines {
		if len(l.Seconds) == 0 || l.Answer == nil {
			p.F("%-18s %-34s missing: %s\n", l.Theory.Name, l.who(), l.Why)
			continue
		}
		p.F("%-18s %-34s %6d %10s %10s %9d  %s\n", l.Theory.Name, l.who(), len(l.Seconds), duration(l.Best()), duration(l.Answer.Recount), l.Answer.Size, l.Why)
	}
	return p.Err
}

func (l *Line) who() string {
	if l.Setting == "" {
		return l.Name
	}
	return l.Name + ", " + l.Setting
}

func (r *Results) largest(family, name string) string {
	largest := "none"
	for _, l := range r.Lines {
		if l.Theory.Family == family && l.Name == name && l.OK() {
			largest = l.Theory.Name
		}
	}
	return largest
}

// WriteCSV writes a row for each program, setting and theory.
func (r *Results) WriteCSV(w io.Writer, c bench.Circumstances, o Options) error {
	rows := [][]string{{"date", "version", "cpu", "seed", "family", "theory", "vars", "clauses", "thresholds", "program", "setting", "passes", "compile_and_count_seconds", "recount_seconds", "size", "wmc", "models", "missing"}}
	for _, l := range r.Lines {
		row := []string{c.Started.Format(time.RFC3339), c.Program.Version, c.Processor, strconv.FormatUint(o.Seed, 10), l.Theory.Family, l.Theory.Name, strconv.Itoa(l.Theory.Vars),
			strconv.Itoa(len(l.Theory.Clauses)), strconv.Itoa(len(l.Theory.Exactly)), l.Name, l.Setting, strconv.Itoa(len(l.Seconds)), "", "", "", "", "", l.Why}
		if a := l.Answer; a != nil && len(l.Seconds) > 0 {
			row[12], row[13], row[14], row[15] = bench.Number(l.Best()), bench.Number(a.Recount), strconv.Itoa(a.Size), strconv.FormatFloat(a.WMC[0], 'g', 12, 64)
			if len(a.Models) <= 40 {
				row[16] = a.Models
			}
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// Save writes both forms into a folder, as exact.txt and exact.csv, in the place of what an earlier run wrote.
func (r *Results) Save(dir string, c bench.Circumstances, o Options) error {
	return bench.SaveForms(dir, "exact",
		func(w io.Writer) error { return r.WriteText(w, c, o) },
		func(w io.Writer) error { return r.WriteCSV(w, c, o) })
}

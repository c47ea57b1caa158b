package lang

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lang/syntax"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/logic"
)

// Run is a schema measured on each row of a data file.
type Run struct {
	Schema string // with its holes: "implication(x, a, b)"
	File   string // as it was written
	Path   string // absolute

	Rows       int // read
	Scored     int // that the figures below are over
	MultiToken int // left out because a target has several tokens
	Bad        []BadRow
	BadRows    int  // how many are bad; Bad has the first of them
	Stopped    bool // before the file's end
	// Columns is how the columns of a CSV or TSV file became the holes: by the "name" in its
	// header, or, as it has none, by "position"; "" for other files.
	Columns string

	WMC       Interval // mean WMC (Eq. 1)
	Rho       Interval // mean ρ (Eq. 5) over the rows where it is defined
	CAcc      Interval // share of consistent rows (Eq. 6), in [0, 1]
	Undecided int      // rows whose CAcc the intervals leave open
	Undefined int      // rows that are always true, where ρ is undefined
	Info      float64  // mean informativeness in bits
	Rhos      []Interval

	Model       *lm.Info
	Calibration calibrate.Calibration
}

// BadRow is a row that could not be measured, and why.
type BadRow struct {
	Line int
	Why  string
}

const maxBadRows = 5 // that are shown one by one

// runCommand measures a schema on a file's rows.
func (s *Session) runCommand(ctx context.Context, u *unit, c *syntax.Command, words []syntax.Word) error {
	if len(words) < 2 {
		return usage(u, c)
	}
	d, err := s.schema(words[0].Text)
	if err != nil {
		return u.src.Errorf(words[0], "%w", err)
	}
	data := Dataset{File: words[1].Text, Schemas: []string{d.name}}
	for _, w := range words[2:] {
		key, val, _ := strings.Cut(w.Text, "=")
		n, err := strconv.Atoi(val)
		switch {
		case key == "multi" && (val == "keep" || val == "drop"):
			data.Multi = val == "keep"
		case key == "limit" && err == nil && n > 0:
			data.Limit = n
		default:
			return u.src.Errorf(w, "after the file there can be multi=keep, which measures targets of several tokens too, and limit=N")
		}
	}
	path, err := s.abs(data.File, u.dir)
	if err != nil {
		return u.src.Errorf(words[1], "%w", err)
	}
	in, err := openRows(path, d.params)
	if err != nil {
		return u.src.Errorf(words[1], "%w", err)
	}
	defer in.close()
	m, err := s.newMeasuring(u, data, d.params, in)
	if err != nil {
		return newExpander(s, u.src).used(words[0], d, err)
	}

	r := &runner{Run: &Run{Schema: d.head(), File: data.File, Path: path, Calibration: s.calibration, Columns: in.columns}}
	err = m.all(ctx, r.row)
	r.Rows = m.rows
	if m.read {
		info := s.model.Info()
		r.Model = &info
	}
	if err != nil && ctx.Err() == nil {
		err = u.src.Errorf(words[1], "%w", err)
	}
	if err == nil && r.Rows == 0 {
		err = u.src.Errorf(words[1], "the file has no rows")
	}
	if err != nil && r.Scored == 0 {
		return err
	}
	// What has been measured is shown, whatever ended the run.
	r.Stopped = err != nil
	r.finish()
	if r.Scored > 0 {
		s.keep(r.Run)
	}
	if e := u.emit(r.Run); e != nil {
		return e
	}
	if err == nil && r.Scored == 0 {
		err = u.src.Errorf(words[1], "none of its %s could be measured", plural(r.Rows, "row"))
	}
	return err
}

// maxRuns is how many runs a session keeps for figures.
const maxRuns = 200

// keep remembers a run, in place of an earlier one of the same.
func (s *Session) keep(r *Run) {
	s.runs = slices.DeleteFunc(s.runs, func(o *Run) bool {
		return o.Schema == r.Schema && o.Path == r.Path && o.modelName() == r.modelName() && o.Calibration == r.Calibration
	})
	if len(s.runs) == maxRuns {
		s.runs = s.runs[1:]
	}
	s.runs = append(s.runs, r)
}

// modelName is "" where no model was asked.
func (r *Run) modelName() string {
	if r.Model == nil {
		return ""
	}
	return r.Model.Name
}

// name is the schema's without its holes.
func (r *Run) name() string {
	name, _, _ := strings.Cut(r.Schema, "(")
	return name
}

// runner gathers a run's figures.
type runner struct {
	*Run
	wmcLo, wmcHi, rhoLo, rhoHi, info float64
	consistent                       int
}

func (r *runner) row(row *Row) error {
	switch {
	case row.Bad != "":
		r.BadRows++
		if len(r.Bad) < maxBadRows {
			r.Bad = append(r.Bad, BadRow{row.Line, row.Bad})
		}
	case row.Multi:
		r.MultiToken++
	default:
		r.score(row.Scores[0][0])
	}
	return nil
}

func (r *runner) score(x RowScore) {
	r.Scored++
	r.info += x.Info
	r.wmcLo += x.WMC.Lo
	r.wmcHi += x.WMC.Hi
	switch x.CAcc {
	case logic.Consistent:
		r.consistent++
	case logic.Undecided:
		r.Undecided++
	}
	if math.IsNaN(x.Rho.Lo) {
		r.Undefined++
		return
	}
	r.rhoLo += x.Rho.Lo
	r.rhoHi += x.Rho.Hi
	r.Rhos = append(r.Rhos, x.Rho)
}

// finish turns sums into means.
func (r *runner) finish() {
	n := float64(r.Scored)
	r.Info = r.info / n
	r.WMC = Interval{Lo: r.wmcLo / n, Hi: r.wmcHi / n}
	r.CAcc = Interval{Lo: float64(r.consistent) / n, Hi: float64(r.consistent+r.Undecided) / n}
	k := float64(len(r.Rhos))
	r.Rho = Interval{Lo: r.rhoLo / k, Hi: r.rhoHi / k}
}

// Kind returns "run".
func (r *Run) Kind() string { return "run" }

// Text shows the means over the rows, and what became of the rows that are not
// among them.
func (r *Run) Text(st Style) string {
	lines := []string{st.paint(styleBold, r.Schema) + "  " + st.paint(styleDim, escape(r.File))}
	if r.Scored > 0 {
		cacc := percent(r.CAcc.Lo)
		if hi := percent(r.CAcc.Hi); hi != cacc {
			cacc += " … " + hi
		}
		lines = append(lines, fmt.Sprintf("  n %s   WMC %s   ρ %s   CAcc %s %%   I %s bits", count(r.Scored), show(r.WMC, sig), show(r.Rho, sig), cacc, figures(r.Info, sig)))
	}
	lines = append(lines, st.paint(styleDim, "  "+strings.Join(r.counts(), " · ")))
	for _, b := range r.Bad {
		line := fmt.Sprintf("line %d: %s", b.Line, escape(b.Why))
		if runewidth.StringWidth(line) > st.width()-2 {
			// The reason comes last, after what is quoted of the row.
			line = wrap(line, st.width()-4, "  ")
		}
		for part := range strings.SplitSeq(line, "\n") {
			lines = append(lines, st.paint(styleDoubt, cutRight("  "+part, st.width())))
		}
	}
	if n := r.BadRows - len(r.Bad); n > 0 {
		lines = append(lines, st.paint(styleDoubt, fmt.Sprintf("  … and %s more", count(n))))
	}
	return strings.Join(lines, "\n")
}

// counts says what became of the rows.
func (r *Run) counts() []string {
	counts := []string{plural(r.Rows, "row")}
	add := func(n int, what string) {
		if n > 0 {
			counts = append(counts, count(n)+" "+what)
		}
	}
	add(r.Scored, "measured")
	add(r.MultiToken, "left out (a target has several tokens)")
	add(r.BadRows, "bad")
	add(r.Undecided, "undecided")
	add(r.Undefined, "always true (ρ undefined)")
	if r.Stopped {
		counts = append(counts, "stopped")
	}
	if r.Columns == byPosition {
		counts = append(counts, "no header: columns taken by position")
	}
	return counts
}

// MarshalJSON gives the run's figures; see REFERENCE.md.
func (r *Run) MarshalJSON() ([]byte, error) {
	type badRow struct {
		Line int    `json:"line"`
		Why  string `json:"why"`
	}
	bad := []badRow{}
	for _, b := range r.Bad {
		bad = append(bad, badRow(b))
	}
	return json.Marshal(struct {
		Kind        string          `json:"kind"`
		Schema      string          `json:"schema"`
		File        string          `json:"file"`
		Rows        int             `json:"rows"`
		N           int             `json:"n"`
		MultiToken  int             `json:"multi_token"`
		BadRows     int             `json:"bad_rows"`
		Bad         []badRow        `json:"bad"`
		BadShown    int             `json:"bad_shown"`
		Columns     string          `json:"columns,omitempty"`
		Stopped     bool            `json:"stopped"`
		WMC         number          `json:"wmc"`
		Rho         number          `json:"rho"`
		CAcc        number          `json:"cacc"`
		Undecided   int             `json:"undecided"`
		Undefined   int             `json:"undefined"`
		Info        number          `json:"info"`
		Model       *jsonModel      `json:"model"`
		Calibration jsonCalibration `json:"calibration"`
	}{
		r.Kind(), r.Schema, r.File, r.Rows, r.Scored, r.MultiToken, r.BadRows, bad, len(bad), r.Columns, r.Stopped, number(r.WMC), number(r.Rho), number(r.CAcc),
		r.Undecided, r.Undefined, number(calibrate.Exact(r.Info)), modelJSON(r.Model), calibrationJSON(r.Calibration),
	})
}

package probct

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/logic"
)

// Calibrations returns those that a suite is measured under: nucleus entropy at p = 0.80,
// 0.85, 0.90 and 0.95 (Tables 2, 3, 6, 7, 9 and 10), the entropy (Table 11), the nucleus
// size at the same values (Table 12), and raw probabilities.
func Calibrations() []calibrate.Calibration {
	var out []calibrate.Calibration
	for _, m := range []calibrate.Method{calibrate.NucleusEntropy, calibrate.Entropy, calibrate.NucleusSize, calibrate.Raw} {
		if !m.UsesNucleus() {
			out = append(out, calibrate.Calibration{Method: m})
			continue
		}
		for _, p := range calibrate.TableThresholds() {
			out = append(out, calibrate.Calibration{Method: m, P: p})
		}
	}
	return out
}

// Options say how a suite is measured.
type Options struct {
	Calibrations []calibrate.Calibration // those of [Calibrations] if empty
	Limit        int                     // rows of each subset; 0 for all
	Multi        bool                    // keep rows in which a target has several tokens
}

// ErrNothingMeasured is the error of a subset none of whose rows could be measured.
var ErrNothingMeasured = errors.New("none of its rows could be measured")

// Measure measures a suite on the session's model. The model runs once on each distinct
// prefix, for all subsets, schemas and calibrations together, as far as the session's cache of readings holds
// them. Each row goes to yield, whether it could be measured or not; none is held. A
// subset without any measured row is an error that wraps [ErrNothingMeasured].
//
// When ctx is done, what was read is in the cache, and another call comes to the
// result that this one would have had.
func Measure(ctx context.Context, s *lang.Session, suite *Suite, o Options, yield func(*Measured) error) (*Result, error) {
	if len(o.Calibrations) == 0 {
		o.Calibrations = Calibrations()
	}
	if err := evalLogic(ctx, s, suite); err != nil {
		return nil, err
	}
	var all []lang.Dataset
	for _, sub := range suite.Subsets {
		all = append(all, sub.dataset(o))
	}
	// A prefix that several subsets have is read once, for all that they ask of it.
	if err := s.Prefetch(ctx, all...); err != nil {
		return nil, err
	}
	result := &Result{Calibrations: o.Calibrations}
	for _, sub := range suite.Subsets {
		g, err := measureSubset(ctx, s, sub, o, yield)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sub.Name, err)
		}
		result.Subsets = append(result.Subsets, g)
	}
	result.Model, _ = s.Model()
	return result, nil
}

// evalLogic defines a suite's schemas in a session.
func evalLogic(ctx context.Context, s *lang.Session, suite *Suite) error {
	text, err := os.ReadFile(suite.Logic)
	if err == nil {
		err = s.Eval(ctx, suite.Logic, string(text), func(lang.Result) error { return nil })
	}
	if err != nil {
		return fmt.Errorf("reading the schemas of the suite in %s: %w", suite.Dir, err)
	}
	return nil
}

// dataset is the subset's rows, and what is measured on them.
func (sub Subset) dataset(o Options) lang.Dataset {
	d := lang.Dataset{
		File: sub.File, Schemas: []string{sub.Name}, Calibrations: o.Calibrations, Multi: o.Multi, Limit: o.Limit, Gradient: true,
	}
	if sub.Facts != "" {
		d.Schemas = append(d.Schemas, sub.Facts)
	}
	return d
}

func measureSubset(ctx context.Context, s *lang.Session, sub Subset, o Options, yield func(*Measured) error) (*SubsetResult, error) {
	g := newSubsetResult(sub, len(o.Calibrations))
	err := s.Measure(ctx, sub.dataset(o), func(row *lang.Row) error {
		g.add(row)
		return yield(newMeasured(sub.Name, row, o.Calibrations))
	})
	if err != nil {
		return nil, err
	}
	if g.Scored == 0 {
		why := "there are no rows"
		switch {
		case len(g.BadRows) > 0:
			why = fmt.Sprintf("line %d: %s", g.BadRows[0].Line, g.BadRows[0].Why)
		case g.Multi > 0:
			why = "in all of them a target has several tokens of this model"
		}
		return nil, fmt.Errorf("%w (%s)", ErrNothingMeasured, why)
	}
	return g, nil
}

// Result is a suite's figures on one model.
type Result struct {
	Model        lm.Info
	Calibrations []calibrate.Calibration
	Subsets      []*SubsetResult
}

// SubsetResult is what became of a subset's rows, and their figures.
type SubsetResult struct {
	Subset
	Rows, Scored, Multi, Bad int
	BadRows                  []lang.BadRow // the first of them

	Info  float64      // mean informativeness I of the constraint, in bits
	Under []*Aggregate // a list as long as the calibrations
}

// maxBadRows are listed one by one; the file of rows has all.
const maxBadRows = 20

// Aggregate has a subset's means under one calibration. Where the backend tells only of the
// most probable tokens they are intervals.
type Aggregate struct {
	CAcc      lang.Interval // share of consistent rows (Eq. 6), in [0, 1]
	FactsCAcc lang.Interval // the same of the true statements' conjunction (Table 9); NaN without
	WMC, Rho  lang.Interval // mean of WMC (Eq. 1) and of ρ (Eq. 5)

	// P are the mean probabilities of the constraint's events in the order in which it first
	// mentions them, over the rows that have as many as the first.
	P []lang.Interval
	// Delta is the mean difference between the last event's probability and the
	// product of the others', and Above the share of rows where it is above 0: the gap between conclusion
	// and premises of Tables 3, 6 and 7.
	Delta, Above lang.Interval

	// Scores counts the rows by ρ, rounded to thousandths away from 0, so that no
	// row changes sides: a count of what Figures 3 to 6 draw that does not grow with the rows.
	Scores map[float64]int

	n, events, rhos   int
	sure, open        int
	factSure, factMay int
	aboveSure, above  int
}

func newSubsetResult(sub Subset, calibrations int) *SubsetResult {
	g := &SubsetResult{Subset: sub}
	for range calibrations {
		g.Under = append(g.Under, &Aggregate{Scores: map[float64]int{}})
	}
	return g
}

// add counts a row in.
func (g *SubsetResult) add(row *lang.Row) {
	g.Rows++
	switch {
	case row.Bad != "":
		g.Bad++
		if len(g.BadRows) < maxBadRows {
			g.BadRows = append(g.BadRows, lang.BadRow{Line: row.Line, Why: row.Bad})
		}
		return
	case row.Multi:
		g.Multi++
		return
	}
	g.Scored++
	g.Info += (row.Scores[0][0].Info - g.Info) / float64(g.Scored)
	for k, a := range g.Under {
		a.add(row, k)
	}
}

// running adds x to a mean of n values, itself among them.
func running(mean *lang.Interval, x lang.Interval, n int) {
	mean.Lo += (x.Lo - mean.Lo) / float64(n)
	mean.Hi += (x.Hi - mean.Hi) / float64(n)
}

// verdict counts a row as surely or possibly consistent, and returns the share.
func verdict(v logic.Verdict, sure, may *int, n int) lang.Interval {
	switch v {
	case logic.Consistent:
		*sure++
	case logic.Undecided:
		*may++
	}
	return lang.Interval{Lo: float64(*sure) / float64(n), Hi: float64(*sure+*may) / float64(n)}
}

func (a *Aggregate) add(row *lang.Row, k int) {
	a.n++
	x := row.Scores[0][k]
	a.CAcc = verdict(x.CAcc, &a.sure, &a.open, a.n)
	running(&a.WMC, x.WMC, a.n)
	if !math.IsNaN(x.Rho.Lo) {
		a.rhos++
		running(&a.Rho, x.Rho, a.rhos)
		a.Scores[rounded((x.Rho.Lo+x.Rho.Hi)/2)]++
	}
	a.FactsCAcc = lang.Interval{Lo: math.NaN(), Hi: math.NaN()}
	if len(row.Scores) > 1 {
		a.FactsCAcc = verdict(row.Scores[1][k].CAcc, &a.factSure, &a.factMay, a.n)
	}

	if a.P == nil {
		a.P = make([]lang.Interval, len(row.Events))
	}
	if len(row.Events) != len(a.P) {
		return
	}
	a.events++
	premises := lang.Interval{Lo: 1, Hi: 1}
	var p lang.Interval
	for i, e := range row.Events {
		p = e.EventP[k]
		running(&a.P[i], p, a.events)
		if i < len(row.Events)-1 {
			premises.Lo *= p.Lo
			premises.Hi *= p.Hi
		}
	}
	gap := lang.Interval{Lo: p.Lo - premises.Hi, Hi: p.Hi - premises.Lo}
	running(&a.Delta, gap, a.events)
	if gap.Lo > 0 {
		a.aboveSure++
	}
	if gap.Hi > 0 {
		a.above++
	}
	a.Above = lang.Interval{Lo: float64(a.aboveSure) / float64(a.events), Hi: float64(a.above) / float64(a.events)}
}

// rounded rounds a score to thousandths, away from 0.
func rounded(rho float64) float64 {
	if rho < 0 {
		return math.Floor(rho*1000) / 1000
	}
	return math.Ceil(rho*1000) / 1000
}

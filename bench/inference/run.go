package inference

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modellog/modellog/bench"
)

// Options say what is measured.
type Options struct {
	Families []*Family
	Peers    []*Peer
	Limits   Limits
	Repeats  int // passes of each that is quick
	Seed     uint64
	Tell     func(format string, args ...any)
}

// Line is what became of one program, in one setting, on one theory.
type Line struct {
	Theory  *Theory
	Name    string
	Setting string
	Seconds []float64 // from the theory to the first count, one a pass
	Answer  *Answer
	Why     string // it has no time, or its time says nothing
}

// key names a program in a setting.
func (l *Line) key() string { return l.Name + ", " + l.Setting }

// OK tells whether the line has a time that says something.
func (l *Line) OK() bool { return l.Why == "" && len(l.Seconds) > 0 }

// Best is the shortest pass in seconds.
func (l *Line) Best() float64 { return slices.Min(l.Seconds) }

// Results are all lines, in the order of the families and their sizes.
type Results struct {
	Lines    []*Line
	Versions []string
	Skipped  []bench.Skipped
	Ended    string // why the run ended before all was measured; "" where it did not
}

// Why a line has no time, where no program was asked for one.
const (
	interrupted = "the run was interrupted"
	unfinished  = "it did not finish a smaller one"
)

// slower is how many times slower than a peer's best setting another of its settings may be, on a theory that
// took it 0.2 s or more, to be asked for the family's next.
const slower = 5

// Run measures all families. A theory's programs run in turn, each in its own process, one at a time. A setting
// that did not finish a theory is not asked for larger ones of the family. One that was much slower than
// another setting of the same peer is asked again where none of the peer's others finishes. What it returns when ctx ends is what there is by then.
func Run(ctx context.Context, o Options) (*Results, error) {
	r := &Results{}
	seen := map[string]bool{}
	versions := func(of map[string]string) {
		for _, v := range bench.Versions(of) {
			if !seen[v] {
				seen[v] = true
				r.Versions = append(r.Versions, v)
			}
		}
	}
	for _, f := range o.Families {
		out := map[string]string{} // settings that are not asked any more, and why
		for _, size := range f.Sizes {
			t, err := f.Theory(size, o.Seed)
			if err != nil {
				return r, err
			}
			lines, err := o.theory(ctx, t, out, versions)
			r.Lines = append(r.Lines, lines...)
			if err != nil {
				r.Ended = interrupted
				return r, err
			}
			if leave(lines, out) {
				break
			}
		}
	}
	return r, nil
}

// leave settles what is not asked for the family's next theory, and tells whether that is all.
func leave(lines []*Line, out map[string]string) bool {
	best := map[string]float64{}
	for _, l := range lines {
		if b, ok := best[l.Name]; l.OK() && (!ok || l.Best() < b) {
			best[l.Name] = l.Best()
		}
	}
	all := true
	for _, l := range lines {
		key := l.key()
		switch {
		case out[key] != "" && l.Why == out[key]: // it was not asked
		case !l.OK():
			out[key] = unfinished
		case l.Best() > max(0.2, slower*best[l.Name]):
			out[key] = fmt.Sprintf("another setting was %d times faster", slower)
		default:
			delete(out, key)
			all = false
		}
	}
	return all
}

// theory measures all programs on one theory.
func (o *Options) theory(ctx context.Context, t *Theory, out map[string]string, versions func(map[string]string)) ([]*Line, error) {
	var lines []*Line
	var waiting []bench.Contestant
	at := map[bench.Contestant]*Line{}
	of := map[*Line]contestant{}
	add := func(c contestant) {
		l := &Line{Theory: t, Name: c.Name(), Setting: c.Setting()}
		l.Why = out[l.key()]
		lines = append(lines, l)
		at[c], of[l] = l, c
		if l.Why == "" {
			waiting = append(waiting, c)
		}
	}
	add(&own{theory: t, limits: o.Limits})
	for _, p := range o.Peers {
		for _, s := range p.Settings {
			add(&asked{peer: p, setting: s, theory: t, limits: o.Limits, versions: versions})
		}
	}
	defer func() {
		for _, c := range of {
			c.Close()
		}
	}()
	passes := func() error {
		for range o.Repeats {
			measured, err := bench.Interleave(ctx, waiting, 1, 0, func(string, float64) {})
			waiting = nil
			for _, m := range measured {
				l, c := at[m.Contestant], m.Contestant.(contestant)
				l.Seconds = append(l.Seconds, m.Seconds...)
				switch {
				case m.Err != nil:
					l.Why = m.Err.Error()
				case len(m.Seconds) > 0:
					if l.Answer != nil && l.Answer.Recount < c.Answer().Recount {
						c.Answer().Recount = l.Answer.Recount
					}
					l.Answer = c.Answer()
					if m.Seconds[0] < long.Seconds()/2 {
						waiting = append(waiting, m.Contestant)
					}
				case err != nil:
					l.Why = interrupted
				}
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := passes(); err != nil {
		return lines, err
	}
	// Where a peer finishes in none of its settings, those that were left out for being slower are asked too.
	finished := map[string]bool{}
	for _, l := range lines {
		finished[l.Name] = finished[l.Name] || l.OK()
	}
	waiting = nil
	for _, l := range lines {
		if why := out[l.key()]; why != "" && why != unfinished && !finished[l.Name] {
			l.Why = ""
			waiting = append(waiting, of[l])
		}
	}
	if err := passes(); err != nil {
		return lines, err
	}
	reference := lines[0].Answer
	for _, l := range lines {
		if reference != nil && l.Answer != nil {
			if l.Name == Own && t.Models != nil && l.Answer.Models != "" && t.Models.String() != l.Answer.Models {
				return lines, fmt.Errorf("%s has %v models, and modellog counts %s", t.Name, t.Models, l.Answer.Models)
			}
			if why := disagreement(reference, l.Answer); why != "" {
				l.Why = why
			}
		}
		o.Tell("%s: %s", t.Name, l)
	}
	return lines, nil
}

func (l *Line) String() string {
	name := l.Name
	if l.Setting != "" {
		name += " (" + l.Setting + ")"
	}
	if !l.OK() {
		return name + " is missing: " + l.Why
	}
	return fmt.Sprintf("%s %s, recount %s", name, duration(l.Best()), duration(l.Answer.Recount))
}

// Install makes sure of each peer's environment; those that cannot be had are passed over.
func Install(ctx context.Context, dir string, peers []*Peer, tell func(format string, args ...any)) (have []*Peer, skipped []bench.Skipped, err error) {
	for _, p := range peers {
		python, err := bench.Environment(ctx, dir, p.Kind, func(s string) { tell("%s", s) })
		if ctx.Err() != nil {
			return nil, nil, errors.Join(ctx.Err(), err)
		}
		if err != nil {
			tell("%s is missing: %v", p.Name, err)
			skipped = append(skipped, bench.Skipped{Name: p.Name, Why: err.Error()})
			continue
		}
		p.Python = python
		have = append(have, p)
	}
	return have, skipped, nil
}

func duration(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case d < 999500*time.Nanosecond:
		return fmt.Sprintf("%.3g µs", seconds*1e6)
	case d < 999500*time.Microsecond:
		return fmt.Sprintf("%.3g ms", seconds*1e3)
	}
	return fmt.Sprintf("%.3g s", seconds)
}

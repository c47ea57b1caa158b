// Package bench measures modellog beside other programs that can do the same work, in one
// run on one machine, and writes down what ran.
//
// The work is the distinct prefixes of a ProbCT suite and the targets asked after each
// ([Suite]). The other programs do it in processes of their own ([Peer], by the program
// peers/peers.py), with the weights loaded and after a trial; each tells the seconds that
// one pass took it, and what it read, so that [Compare] can show that the work was the
// same. Passes of all contestants are interleaved, so that what else the machine does
// meets all of them, and the shortest counts.
//
// A peer that cannot be had on a machine is passed over with the reason, and a run that is
// interrupted has the passes that had ended by then.
package bench

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/modellog/modellog/evals/probct"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf"
	"github.com/modellog/modellog/lm/store/readings"
)

// Prefix is one distinct prefix and what is asked after it.
type Prefix struct {
	Text    string     `json:"text"`
	Tokens  []lm.Token `json:"tokens"` // with the beginning-of-sequence token, where the model has one
	BOS     bool       `json:"bos"`    // Tokens begin with it
	Targets []lm.Token `json:"targets"`
	Pieces  []string   `json:"pieces"` // the targets' texts
}

// Pass is one time through the work.
type Pass struct {
	Seconds float64
	LogP    [][]*float64 // natural logarithms, by prefix and target; nil where it is not told
}

// Contestant does the work again and again.
type Contestant interface {
	Name() string
	Setting() string  // how it does the work, in a few words
	Processes() []int // that do it, without those they start
	Run(ctx context.Context) (Pass, error)
}

// Suite is the readings of a ProbCT suite on an open model.
type Suite struct {
	Model    lm.Model
	Prefixes []Prefix
	Tokens   int // of all prefixes
	Read     int // tokens that go through modellog's engine for them, which reads once what a batch's begin with alike
	Events   int // distinct pairs of prefix and target

	suite *probct.Suite
	rows  int
	steps []event.Step
}

// count finds out how many tokens go through modellog's engine.
func (s *Suite) count() error {
	engine, ok := s.Model.(*gguf.Model)
	if !ok {
		s.Read = s.Tokens
		return nil
	}
	prefixes := make([][]lm.Token, len(s.Prefixes))
	for i, p := range s.Prefixes {
		prefixes[i] = p.Tokens
	}
	slices.SortFunc(prefixes, slices.Compare[[]lm.Token])
	var err error
	s.Read, err = engine.Tokens(prefixes)
	return err
}

// NewSuite measures the first so many rows of each subset once, which loads the model's
// weights, and keeps what was asked of it.
func NewSuite(ctx context.Context, m lm.Model, suite *probct.Suite, rows int) (*Suite, error) {
	forgetPeak()
	s := &Suite{Model: m, suite: suite, rows: rows}
	var events []event.Event
	seen := map[[2]string]bool{}
	session, done, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	_, err = probct.Measure(ctx, session, suite, probct.Options{Limit: rows}, func(row *probct.Measured) error {
		for _, e := range row.Events {
			if key := [2]string{e.Prefix, e.Token}; !seen[key] {
				seen[key] = true
				events = append(events, event.Event{Prefix: e.Prefix, Target: e.Token, Join: new(string)})
			}
		}
		return nil
	})
	if err := done(err); err != nil {
		return nil, err
	}
	resolved, err := (&event.Reader{Model: m}).Resolve(ctx, events)
	if err != nil {
		return nil, err
	}
	info := m.Info()
	place := map[string]int{}
	for _, r := range resolved {
		if len(r.Steps) != 1 {
			return nil, fmt.Errorf("%q after %q has %d tokens, and the row was measured as if it had one", r.Event.Target, r.Event.Prefix, len(r.Steps))
		}
		step := r.Steps[0]
		at, ok := place[step.PrefixText]
		if !ok {
			at = len(s.Prefixes)
			place[step.PrefixText] = at
			s.Prefixes = append(s.Prefixes, Prefix{Text: step.PrefixText, Tokens: step.Prefix, BOS: info.AddBOS})
			s.Tokens += len(step.Prefix)
		}
		s.Prefixes[at].Targets = append(s.Prefixes[at].Targets, step.Target)
		s.Prefixes[at].Pieces = append(s.Prefixes[at].Pieces, step.Piece)
		s.steps = append(s.steps, step)
	}
	s.Events = len(s.steps)
	return s, s.count()
}

// session starts a session on the model with an empty cache of readings on disk, as the
// command has. The function ends it.
func (s *Suite) session(ctx context.Context) (*lang.Session, func(error) error, error) {
	cache, end, err := emptyCache(ctx)
	if err != nil {
		return nil, nil, err
	}
	name := s.Model.Info().Name
	session := lang.New(lang.Options{
		Model: name, Cache: cache,
		Open: func(context.Context, string) (lm.Model, error) { return lm.Kept(s.Model), nil },
	})
	return session, func(err error) error {
		if closeErr := session.Close(); err == nil {
			err = closeErr
		}
		return end(err)
	}, nil
}

func emptyCache(ctx context.Context) (*readings.Cache, func(error) error, error) {
	dir, err := os.MkdirTemp("", "modellog-bench-")
	if err != nil {
		return nil, nil, err
	}
	cache, err := readings.Open(ctx, dir, readings.Options{})
	if err != nil {
		os.RemoveAll(dir)
		return nil, nil, err
	}
	return cache, func(err error) error {
		if closeErr := cache.Close(); err == nil {
			err = closeErr
		}
		if removeErr := os.RemoveAll(dir); err == nil {
			err = removeErr
		}
		return err
	}, nil
}

// Command is the work of modellog probct run from the rows to the written tables and figures: all
// calibrations, all scores. The model's weights are loaded and the cache of readings
// is empty.
func (s *Suite) Command() Contestant {
	return own{"modellog probct run", "all of the command but loading", s.command}
}

// Readings is the same without formulas, tables and figures: the readings of the
// events, into an empty cache.
func (s *Suite) Readings() Contestant {
	return own{"modellog, the readings", "that part of it", s.read}
}

type own struct {
	name, setting string
	run           func(ctx context.Context) (Pass, error)
}

func (o own) Name() string                          { return o.name }
func (o own) Setting() string                       { return o.setting }
func (o own) Processes() []int                      { return []int{os.Getpid()} }
func (o own) Run(ctx context.Context) (Pass, error) { return o.run(ctx) }

func (s *Suite) command(ctx context.Context) (Pass, error) {
	session, done, err := s.session(ctx)
	if err != nil {
		return Pass{}, err
	}
	dir, err := os.MkdirTemp("", "modellog-bench-")
	if err != nil {
		return Pass{}, done(err)
	}
	defer os.RemoveAll(dir)
	begin := time.Now()
	name := s.Model.Info().Name
	_, err = probct.Run(ctx, session, s.suite, []string{name}, filepath.Join(dir, "run"), probct.RunOptions{Options: probct.Options{Limit: s.rows}, Version: "bench"})
	p := Pass{Seconds: time.Since(begin).Seconds()}
	if err := done(err); err != nil {
		return Pass{}, err
	}
	return p, nil
}

func (s *Suite) read(ctx context.Context) (Pass, error) {
	cache, done, err := emptyCache(ctx)
	if err != nil {
		return Pass{}, err
	}
	begin := time.Now()
	under, err := (&event.Reader{Model: s.Model, Cache: cache}).ReadUnder(ctx, s.steps, probct.Calibrations())
	p := Pass{Seconds: time.Since(begin).Seconds()}
	if err := done(err); err != nil {
		return Pass{}, err
	}
	place := map[string]int{}
	for i, prefix := range s.Prefixes {
		place[prefix.Text] = i
	}
	p.LogP = make([][]*float64, len(s.Prefixes))
	for i, step := range s.steps {
		at := place[step.PrefixText]
		p.LogP[at] = append(p.LogP[at], &under[0][i].LogP.Lo)
	}
	return p, nil
}

// Difference is how far two passes are from each other.
type Difference struct {
	Events, Compared int     // of so many events so many were told by both
	Most, Mean       float64 // absolute difference in log P
}

// Compare compares what two passes read.
func Compare(a, b Pass) (Difference, error) {
	var d Difference
	if len(a.LogP) != len(b.LogP) {
		return d, fmt.Errorf("one pass read %d prefixes and the other %d", len(a.LogP), len(b.LogP))
	}
	for i := range a.LogP {
		if len(a.LogP[i]) != len(b.LogP[i]) {
			return d, fmt.Errorf("after prefix %d one pass read %d targets and the other %d", i+1, len(a.LogP[i]), len(b.LogP[i]))
		}
		for k, x := range a.LogP[i] {
			d.Events++
			if y := b.LogP[i][k]; x != nil && y != nil {
				d.Compared++
				delta := math.Abs(*x - *y)
				if math.IsNaN(delta) {
					return d, fmt.Errorf("after prefix %d a log-probability is no number", i+1)
				}
				d.Most = max(d.Most, delta)
				d.Mean += (delta - d.Mean) / float64(d.Compared)
			}
		}
	}
	return d, nil
}

// Measured is what became of a contestant.
type Measured struct {
	Contestant
	Seconds []float64 // of its passes; empty where none ended
	CPU     []float64 // the same in seconds on processors; empty where the system does not tell
	Peak    float64   // bytes of memory at most, its processes together; 0 where the system does not tell
	Last    Pass
	Err     error // that ended its part before the others'
}

// Best is the shortest pass, in seconds, of a contestant that has one.
func (m *Measured) Best() float64 { return slices.Min(m.Seconds) }

// BestCPU is the pass with the least time on processors.
func (m *Measured) BestCPU() (seconds float64, ok bool) {
	if len(m.CPU) == 0 {
		return 0, false
	}
	return slices.Min(m.CPU), true
}

// Rest is how long the machine is left alone before a pass of contestants whose threads spin on for a while when
// they have nothing to do.
const Rest = time.Second

// Interleave runs all contestants in turn, so many times, with a rest before each pass, and
// tells of each. One that fails is left out from then on, and has its error. The error is of a
// context that ended; what is returned with it has the passes that had ended before.
func Interleave(ctx context.Context, contestants []Contestant, times int, rest time.Duration, tell func(name string, seconds float64)) ([]*Measured, error) {
	var out []*Measured
	for _, c := range contestants {
		out = append(out, &Measured{Contestant: c})
	}
	for range times {
		for _, m := range out {
			if m.Err != nil {
				continue
			}
			select {
			case <-ctx.Done():
				return out, ctx.Err()
			case <-time.After(rest):
			}
			if ctx.Err() != nil { // both were ready
				return out, ctx.Err()
			}
			before, told := processorTime(ctx, m.Processes()...)
			p, err := m.Run(ctx)
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
			if err != nil {
				m.Err = err
				continue
			}
			m.Seconds = append(m.Seconds, p.Seconds)
			if after, ok := processorTime(ctx, m.Processes()...); ok && told {
				m.CPU = append(m.CPU, after-before)
			}
			if peak, ok := peakMemory(ctx, m.Processes()...); ok {
				m.Peak = max(m.Peak, peak)
			}
			m.Last = p
			tell(m.Name(), p.Seconds)
		}
	}
	return out, nil
}

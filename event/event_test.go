package event_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/internal/modeltest/engine"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/logic"
)

// memory is a cache in memory.
type memory struct {
	mu   sync.Mutex
	rows map[string][]byte
}

func (m *memory) GetMany(_ context.Context, keys []string) (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[string][]byte)
	for _, k := range keys {
		if v, ok := m.rows[k]; ok {
			out[k] = v
		}
	}
	return out, nil
}

func (m *memory) PutMany(_ context.Context, values map[string][]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rows == nil {
		m.rows = make(map[string][]byte)
	}
	maps.Copy(m.rows, values)
	return nil
}

// counted counts the prefixes that a model reads.
type counted struct {
	lm.Model
	prefixes int
}

func (c *counted) Read(ctx context.Context, prefixes [][]lm.Token, yield func(int, lm.Distribution) error) error {
	c.prefixes += len(prefixes)
	return c.Model.Read(ctx, prefixes, yield)
}

func resolve(t testing.TB, r *event.Reader, events ...event.Event) []event.Step {
	t.Helper()
	resolved, err := r.Resolve(context.Background(), events)
	if err != nil {
		t.Fatal(err)
	}
	var steps []event.Step
	for _, e := range resolved {
		steps = append(steps, e.Steps...)
	}
	return steps
}

// The readings are the oracle's, reached by the texts alone.
func TestReadAgainstOracle(t *testing.T) {
	for _, ref := range modeltest.All {
		t.Run(ref.Name, func(t *testing.T) {
			r := &event.Reader{Model: engine.Open(t, ref), Cache: &memory{}}
			var steps []event.Step
			var want []float64
			var of []modeltest.Reading
			for _, reading := range ref.Readings(t) {
				for _, target := range reading.Targets {
					got := resolve(t, r, event.Event{Prefix: reading.Prefix, Target: strings.TrimSpace(target.Text)})
					if len(got) != 1 || got[0].Target != target.ID || !slices.Equal(got[0].Prefix, reading.PrefixIDs) {
						t.Fatalf("M(%q, %q) asks %v after %v, want %d after %v", reading.Prefix, target.Text, got[0].Target, got[0].Prefix, target.ID, reading.PrefixIDs)
					}
					steps = append(steps, got[0])
					want = append(want, target.LogProb)
					of = append(of, reading)
				}
			}
			readings, err := r.Read(t.Context(), steps, calibrate.Default())
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range readings {
				if !got.LogP.IsExact() || math.Abs(got.LogP.Lo-want[i]) > 0.01 {
					t.Errorf("%q after %q: log P %v, want %v", steps[i].Piece, steps[i].PrefixText, got.LogP, want[i])
				}
				if h := of[i].Nucleus["0.95"].Entropy; math.Abs(got.C.Lo-h) > 0.01 {
					t.Errorf("C after %q: %v, want %v", steps[i].PrefixText, got.C, h)
				}
				p := math.Exp(want[i])
				l := math.Log(p/(1-p)) + of[i].Nucleus["0.95"].Entropy
				if e := 1 / (1 + math.Exp(-l)); math.Abs(got.EventP.Lo-e) > 0.01 {
					t.Errorf("event probability of %q after %q: %v, want %v", steps[i].Piece, steps[i].PrefixText, got.EventP, e)
				}
			}
		})
	}
}

// A second look does not run the model, whatever the calibration; a new target
// or a new threshold does.
func TestCache(t *testing.T) {
	model := &counted{Model: engine.Open(t, modeltest.SmolLM)}
	r := &event.Reader{Model: model, Cache: &memory{}}
	steps := resolve(t, r,
		event.Event{Prefix: "A robin is a type of", Target: "bird"},
		event.Event{Prefix: "A robin is a type of", Target: "animal"},
		event.Event{Prefix: "A computer is not an", Target: "airplane"},
	)
	read := func(cal calibrate.Calibration, want int) []event.Reading {
		t.Helper()
		before := model.prefixes
		out, err := r.Read(t.Context(), steps, cal)
		if err != nil {
			t.Fatal(err)
		}
		if got := model.prefixes - before; got != want {
			t.Errorf("under %v the model read %d prefixes, want %d", cal, got, want)
		}
		return out
	}
	first := read(calibrate.Default(), 2)
	again := read(calibrate.Default(), 0)
	for i := range first {
		if first[i].LogP != again[i].LogP || first[i].C != again[i].C || first[i].Logit != again[i].Logit || first[i].Size != again[i].Size {
			t.Errorf("step %d: %+v from the model and %+v from the cache", i, first[i], again[i])
		}
	}
	for _, m := range []calibrate.Method{calibrate.Raw, calibrate.Entropy, calibrate.NucleusSize} {
		read(calibrate.Calibration{Method: m, P: 0.80}, 0)
	}
	read(calibrate.Calibration{Method: calibrate.NucleusEntropy, P: 0.5}, 2)
	read(calibrate.Calibration{Method: calibrate.NucleusEntropy, P: 0.5}, 0)
	steps = append(steps, resolve(t, r, event.Event{Prefix: "A robin is a type of", Target: "fish"})...)
	read(calibrate.Default(), 1)
}

// What was read before an interruption is kept.
func TestInterruptedReadingIsKept(t *testing.T) {
	cache := &memory{}
	model := &counted{Model: engine.Open(t, modeltest.SmolLM)}
	r := &event.Reader{Model: model, Cache: cache}
	var events []event.Event
	for i := range 200 { // more than one batch of the engine
		events = append(events, event.Event{Prefix: fmt.Sprintf("The number %d is", i), Target: "even"})
	}
	steps := resolve(t, r, events...)
	ctx, cancel := context.WithCancel(t.Context())
	read := 0
	r.Progress = func(done, total int) {
		if read = done; done == 70 {
			cancel()
		}
	}
	if _, err := r.Read(ctx, steps, calibrate.Default()); !errors.Is(err, context.Canceled) {
		t.Fatalf("an interrupted reading: %v", err)
	}
	model.prefixes, r.Progress = 0, nil
	if _, err := r.Read(t.Context(), steps, calibrate.Default()); err != nil {
		t.Fatal(err)
	}
	if want := len(steps) - read; model.prefixes > want || read < 70 {
		t.Errorf("%d prefixes were read before the interruption and %d after it, want %d", read, model.prefixes, want)
	}
}

// Rows that are damaged, or of another shape, are read anew.
func TestDamagedRows(t *testing.T) {
	cache := &memory{}
	model := &counted{Model: engine.Open(t, modeltest.SmolLM)}
	r := &event.Reader{Model: model, Cache: cache}
	steps := resolve(t, r, event.Event{Prefix: "Water boils at 100 degrees", Target: "Celsius"})
	want, err := r.Read(t.Context(), steps, calibrate.Default())
	if err != nil {
		t.Fatal(err)
	}
	whole := maps.Clone(cache.rows)
	for _, damage := range []func([]byte) []byte{
		func(b []byte) []byte { return b[:len(b)-3] },
		func(b []byte) []byte { return append(slices.Clone(b), b...) },
		func([]byte) []byte { return nil },
		func(b []byte) []byte { return slices.Repeat([]byte{0xff}, len(b)) },
	} {
		for key := range whole {
			cache.rows = maps.Clone(whole)
			cache.rows[key] = damage(whole[key])
			got, err := r.Read(t.Context(), steps, calibrate.Default())
			if err != nil {
				t.Fatal(err)
			}
			if got[0].EventP != want[0].EventP {
				t.Errorf("damaged %q: event probability %v, want %v", key, got[0].EventP, want[0].EventP)
			}
		}
	}
}

// What is asked is shown piece by piece, also a target at the start of a text,
// which is another token than after a space. On a model without a
// beginning-of-sequence token the first token has no probability, and that is an
// error.
func TestResolve(t *testing.T) {
	smol := &event.Reader{Model: engine.Open(t, modeltest.SmolLM)}
	none := ""
	for _, test := range []struct {
		event  event.Event
		pieces []string
	}{
		{event.Event{Prefix: "A robin is a type of", Target: "bird"}, []string{" bird"}},
		{event.Event{Prefix: "A robin is a type of", Target: " bird"}, []string{" bird"}},
		{event.Event{Prefix: "A robin is a bird", Target: "."}, []string{"."}},
		{event.Event{Prefix: "The answer is (", Target: "b", Join: &none}, []string{"b"}},
		{event.Event{Prefix: "A Satsuma is a", Target: "mandarin orange"}, nil},
	} {
		steps := resolve(t, smol, test.event)
		var pieces []string
		for _, s := range steps {
			pieces = append(pieces, s.Piece)
		}
		if test.pieces != nil && !slices.Equal(pieces, test.pieces) {
			t.Errorf("%+v: pieces %q, want %q", test.event, pieces, test.pieces)
		}
		// Each step continues the one before it.
		text, _ := lm.Join(test.event.Prefix, test.event.Target)
		if test.event.Join != nil {
			text = test.event.Prefix + *test.event.Join + test.event.Target
		}
		if last := steps[len(steps)-1]; last.PrefixText+last.Piece != text {
			t.Errorf("%+v asks %q, want %q", test.event, last.PrefixText+last.Piece, text)
		}
		for i, s := range steps[1:] {
			if !slices.Equal(s.Prefix, append(slices.Clone(steps[i].Prefix), steps[i].Target)) {
				t.Errorf("%+v: step %d does not follow step %d", test.event, i+1, i)
			}
		}
	}

	var boundary *lm.BoundaryError
	if _, err := smol.Resolve(t.Context(), []event.Event{{Prefix: "Ans", Target: "wer", Join: &none}}); !errors.As(err, &boundary) {
		t.Errorf("tokens that merge across the boundary: %v", err)
	} else if len(boundary.Alone) == 0 || len(boundary.Together) == 0 {
		t.Errorf("both tokenisations should be shown: %v", err)
	}
	if _, err := smol.Resolve(t.Context(), []event.Event{{Prefix: "", Target: "Paris"}}); !errors.Is(err, lm.ErrEmptyPrefix) {
		t.Errorf("an empty prefix on a model without BOS: %v", err)
	}
	if _, err := smol.Resolve(t.Context(), []event.Event{{Prefix: "Paris", Target: ""}}); err == nil {
		t.Error("an empty target was accepted")
	}
}

// On a model whose metadata asks for it, BOS comes once and first, also in front
// of an empty prefix, and text that spells it is text.
func TestBOS(t *testing.T) {
	model := engine.Open(t, modeltest.Gemma)
	r := &event.Reader{Model: model}
	bos := model.Info().BOS
	for _, prefix := range []string{"", "Paris is in", "<bos>Paris is in"} {
		steps := resolve(t, r, event.Event{Prefix: prefix, Target: "France"})
		n := 0
		for _, token := range steps[0].Prefix {
			if token == bos {
				n++
			}
		}
		if n != 1 || steps[0].Prefix[0] != bos {
			t.Errorf("prefix %q is read as %v with BOS %d", prefix, steps[0].Prefix, bos)
		}
	}
}

// Long targets are not preferred: by the chain rule over tokens, whichever way the
// text is cut, a long target is the product of its tokens' probabilities, each after those before it.
func TestChainRule(t *testing.T) {
	r := &event.Reader{Model: engine.Open(t, modeltest.SmolLM)}
	raw := calibrate.Calibration{Method: calibrate.Raw}
	sum := func(steps []event.Step) float64 {
		readings, err := r.Read(t.Context(), steps, raw)
		if err != nil {
			t.Fatal(err)
		}
		total := 0.0
		for _, reading := range readings {
			total += reading.LogP.Lo
		}
		return total
	}
	whole, err := r.Likelihood(t.Context(), "The quick", "brown fox jumps over the lazy dog.")
	if err != nil {
		t.Fatal(err)
	}
	first := resolve(t, r, event.Event{Prefix: "The quick", Target: "brown fox jumps"})
	rest := resolve(t, r, event.Event{Prefix: "The quick brown fox jumps", Target: "over the lazy dog."})
	if a, b := sum(whole), sum(first)+sum(rest); math.Abs(a-b) > 1e-3 {
		t.Errorf("log likelihood %g as one target and %g as two", a, b)
	}
	if _, err := r.Likelihood(t.Context(), "", "The quick brown fox"); !errors.Is(err, lm.ErrEmptyPrefix) {
		t.Errorf("the first token of a text on a model without BOS: %v", err)
	}
}

func TestTop(t *testing.T) {
	model := &counted{Model: engine.Open(t, modeltest.SmolLM)}
	r := &event.Reader{Model: model, Cache: &memory{}}
	for _, reading := range modeltest.SmolLM.Readings(t)[:5] {
		for range 2 { // from the model, and from the cache
			top, err := r.Top(t.Context(), reading.Prefix, 10)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range reading.Top {
				if top[i].Token != lm.Token(want[0]) || math.Abs(top[i].LogP.Lo-want[1]) > 0.01 || top[i].Piece == "" {
					t.Errorf("after %q number %d is %+v, want %v", reading.Prefix, i, top[i], want)
				}
			}
		}
	}
	if model.prefixes != 5 {
		t.Errorf("the model read %d prefixes, want 5", model.prefixes)
	}
	if _, err := r.Top(t.Context(), "A robin", 0); err == nil {
		t.Error("the top 0 tokens were returned")
	}
}

// truncated is a backend that tells of the k most probable tokens only, as a
// server does.
type truncated struct {
	lm.Model
	k int
}

func (m *truncated) Info() lm.Info {
	info := m.Model.Info()
	info.Whole = false
	return info
}

func (m *truncated) Read(ctx context.Context, prefixes [][]lm.Token, yield func(int, lm.Distribution) error) error {
	return m.Model.Read(ctx, prefixes, func(i int, d lm.Distribution) error {
		s, err := calibrate.Summarize(d.Logits, nil)
		if err != nil {
			return err
		}
		all := make([]lm.TokenLogProb, len(d.Logits))
		for t, l := range d.Logits {
			all[t] = lm.TokenLogProb{Token: lm.Token(t), LogProb: s.LogP(float64(l)).Lo}
		}
		slices.SortFunc(all, func(a, b lm.TokenLogProb) int {
			if a.LogProb != b.LogProb {
				if a.LogProb > b.LogProb {
					return -1
				}
				return 1
			}
			return int(a.Token - b.Token)
		})
		return yield(i, lm.Distribution{Top: all[:m.k], Vocabulary: d.Vocabulary})
	})
}

// remembering is a model that reads each prefix once.
type remembering struct {
	lm.Model
	logits map[string][]float32
}

func (m *remembering) Read(ctx context.Context, prefixes [][]lm.Token, yield func(int, lm.Distribution) error) error {
	var unread [][]lm.Token
	for _, p := range prefixes {
		if m.logits[fmt.Sprint(p)] == nil {
			unread = append(unread, p)
		}
	}
	err := m.Model.Read(ctx, unread, func(i int, d lm.Distribution) error {
		m.logits[fmt.Sprint(unread[i])] = slices.Clone(d.Logits)
		return nil
	})
	if err != nil {
		return err
	}
	for i, p := range prefixes {
		logits := m.logits[fmt.Sprint(p)]
		if err := yield(i, lm.Distribution{Logits: logits, Vocabulary: len(logits)}); err != nil {
			return err
		}
	}
	return nil
}

// For a truncated copy of whole distributions the truth lies in the interval: for
// P, C, the event probability, WMC and ρ, under every calibration.
func TestIntervalsHoldTheTruth(t *testing.T) {
	for _, ref := range modeltest.All {
		t.Run(ref.Name, func(t *testing.T) {
			model := &remembering{engine.Open(t, ref), make(map[string][]float32)}
			if err := model.Read(t.Context(), modeltest.Prefixes(t, model), func(int, lm.Distribution) error { return nil }); err != nil {
				t.Fatal(err)
			}
			whole := &event.Reader{Model: model, Cache: &memory{}}
			cut := &event.Reader{Model: &truncated{whole.Model, 20}, Cache: &memory{}}
			var events []event.Event
			none := ""
			for _, q := range modeltest.Questions(t, whole.Model) {
				for _, target := range q.Targets {
					events = append(events, event.Event{Prefix: q.Prefix, Target: target.Text, Join: &none})
				}
				top, err := whole.Top(t.Context(), q.Prefix, 3) // among the 20 as well
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range top {
					if len(x.Piece) > 1 && x.Piece[0] == ' ' {
						events = append(events, event.Event{Prefix: q.Prefix, Target: x.Piece, Join: &none})
					}
				}
			}
			steps := resolve(t, whole, events...)
			var cals []calibrate.Calibration
			for _, p := range []float64{0.80, 0.85, 0.90, 0.95} {
				cals = append(cals, calibrate.Calibration{Method: calibrate.NucleusEntropy, P: p}, calibrate.Calibration{Method: calibrate.NucleusSize, P: p})
			}
			cals = append(cals, calibrate.Calibration{Method: calibrate.Raw}, calibrate.Calibration{Method: calibrate.Entropy})
			truth := make([][]event.Reading, len(cals))
			bounds := make([][]event.Reading, len(cals))
			for c, cal := range cals {
				var err error
				if truth[c], err = whole.Read(t.Context(), steps, cal); err != nil {
					t.Fatal(err)
				}
				if bounds[c], err = cut.Read(t.Context(), steps, cal); err != nil {
					t.Fatal(err)
				}
				for i := range steps {
					for _, q := range []struct {
						name   string
						in     calibrate.Interval
						number float64
					}{
						{"log P", bounds[c][i].LogP, truth[c][i].LogP.Lo},
						{"C", bounds[c][i].C, truth[c][i].C.Lo},
						{"event probability", bounds[c][i].EventP, truth[c][i].EventP.Lo},
						{"live region", bounds[c][i].Size, truth[c][i].Size.Lo},
					} {
						if slack := 1e-9 * math.Max(1, math.Abs(q.number)); q.number < q.in.Lo-slack || q.number > q.in.Hi+slack {
							t.Errorf("%v, %q after %q: %s %v is not in %v", cals[c], steps[i].Piece, steps[i].PrefixText, q.name, q.number, q.in)
						}
					}
				}
			}
			rapid.Check(t, func(rt *rapid.T) {
				c := rapid.IntRange(0, len(cals)-1).Draw(rt, "calibration")
				n := rapid.IntRange(1, 6).Draw(rt, "variables")
				f := formula(rt, n, 4)
				w := make([]logic.Weight, n)
				lo, hi := make([]float64, n), make([]float64, n)
				for v := range n {
					i := rapid.IntRange(0, len(steps)-1).Draw(rt, "event")
					w[v] = logic.WeightFromLogit(truth[c][i].Logit.Lo)
					lo[v], hi[v] = bounds[c][i].EventP.Lo, bounds[c][i].EventP.Hi
				}
				d, err := logic.Compile(context.Background(), f)
				if err != nil {
					rt.Fatal(err)
				}
				wmc := d.WMC(w)
				b, err := d.Bounds(context.Background(), lo, hi)
				if err != nil {
					rt.Fatal(err)
				}
				low, high := b.Lo, b.Hi
				if wmc < low-1e-9 || wmc > high+1e-9 {
					rt.Fatalf("WMC %g is not in [%g, %g]", wmc, low, high)
				}
				wmc0 := d.WMC0()
				if wmc0 == 1 {
					return // ρ of a tautology is undefined
				}
				rho := func(x float64) float64 { return (x - wmc0) / (1 - wmc0) }
				if rho(wmc) < rho(low)-1e-9 || rho(wmc) > rho(high)+1e-9 {
					rt.Fatalf("ρ %g is not in [%g, %g]", rho(wmc), rho(low), rho(high))
				}
			})
		})
	}
}

// formula draws a formula over n variables.
func formula(t *rapid.T, n, depth int) *logic.Formula {
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		return logic.Literal(logic.Var(rapid.IntRange(0, n-1).Draw(t, "variable")))
	}
	sub := func() *logic.Formula { return formula(t, n, depth-1) }
	switch rapid.IntRange(0, 6).Draw(t, "connective") {
	case 0:
		return logic.Not(sub())
	case 1:
		return logic.And(sub(), sub())
	case 2:
		return logic.Or(sub(), sub())
	case 3:
		return logic.Implies(sub(), sub())
	case 4:
		return logic.Iff(sub(), sub())
	case 5:
		return logic.Xor(sub(), sub())
	default:
		return logic.AtLeast(2, sub(), sub(), sub())
	}
}

// Many calibrations cost one reading of each prefix, and each gives what it gives alone.
func TestReadUnder(t *testing.T) {
	m := &counted{Model: engine.Open(t, modeltest.SmolLM)}
	r := &event.Reader{Model: m, Cache: &memory{}}
	steps := resolve(t, r,
		event.Event{Prefix: "A robin is a type of", Target: "bird"},
		event.Event{Prefix: "A robin is a type of", Target: "animal"},
		event.Event{Prefix: "Paris is in", Target: "France"})
	var cals []calibrate.Calibration
	for _, p := range []float64{0.8, 0.95, 0.5} {
		cals = append(cals, calibrate.Calibration{Method: calibrate.NucleusEntropy, P: p}, calibrate.Calibration{Method: calibrate.NucleusSize, P: p})
	}
	cals = append(cals, calibrate.Calibration{Method: calibrate.Entropy}, calibrate.Calibration{Method: calibrate.Raw})
	under, err := r.ReadUnder(t.Context(), steps, cals)
	if err != nil {
		t.Fatal(err)
	}
	if m.prefixes != 2 {
		t.Errorf("%d calibrations of 3 events after 2 prefixes read %d prefixes", len(cals), m.prefixes)
	}
	alone := &event.Reader{Model: m}
	for k, cal := range cals {
		want, err := alone.Read(t.Context(), steps, cal)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if got := under[k][i]; got.EventP != want[i].EventP || got.C != want[i].C || got.LogP != want[i].LogP {
				t.Errorf("%v, event %d: %v with C %v together, %v with C %v alone", cal, i, got.EventP, got.C, want[i].EventP, want[i].C)
			}
		}
	}
}

// A reading that goes on after an interruption says to the last digit what one says
// that was never interrupted.
func TestInterruptedIsIdentical(t *testing.T) {
	m := engine.Open(t, modeltest.SmolLM)
	r := &event.Reader{Model: m, Cache: &memory{}}
	var steps []event.Step
	for i := range 80 {
		prefix := fmt.Sprintf("The %s number %d is a type of", []string{"robin", "old and nearly forgotten castle on the hill", "car"}[i%3], i)
		steps = append(steps, resolve(t, r, event.Event{Prefix: prefix, Target: "animal"})...)
	}
	want, err := r.Read(t.Context(), steps, calibrate.Default())
	if err != nil {
		t.Fatal(err)
	}
	for _, stop := range []int{1, 33, 50} {
		resumed := &event.Reader{Model: m, Cache: &memory{}}
		ctx, cancel := context.WithCancel(t.Context())
		resumed.Progress = func(done, _ int) {
			if done == stop {
				cancel()
			}
		}
		if _, err := resumed.Read(ctx, steps, calibrate.Default()); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped after %d: %v", stop, err)
		}
		var again int
		resumed.Progress = func(_, total int) { again = total }
		got, err := resumed.Read(t.Context(), steps, calibrate.Default())
		if err != nil {
			t.Fatal(err)
		}
		if again == 0 || again == len(steps) {
			t.Errorf("stopped after %d, it read %d of %d again", stop, again, len(steps))
		}
		for i := range want {
			if got[i].LogP != want[i].LogP || got[i].EventP != want[i].EventP {
				t.Fatalf("stopped after %d, event %d: log P %v, and %v without a stop", stop, i, got[i].LogP, want[i].LogP)
			}
		}
	}
}

// lending counts what is lent of a model's distributions.
type lending struct {
	*counted
	lent int
}

func (l *lending) Batch(prefixes [][]lm.Token) int { return l.Model.(lm.Batcher).Batch(prefixes) }

func (l *lending) Lend(ctx context.Context, prefixes [][]lm.Token, yield func([]int, []lm.Distribution) error) error {
	return l.Model.(lm.Lender).Lend(ctx, prefixes, func(at []int, d []lm.Distribution) error {
		l.lent += len(d)
		err := yield(at, d)
		for _, d := range d {
			clear(d.Logits) // the model's own again
		}
		return err
	})
}

// A reader takes what a model lends, each prefix once, and keeps none of it.
func TestLent(t *testing.T) {
	m := engine.Open(t, modeltest.SmolLM)
	copied := &event.Reader{Model: &onlyRead{m}}
	l := &lending{counted: &counted{Model: m}}
	lent := &event.Reader{Model: l}
	var events []event.Event
	for i := range 70 {
		for _, target := range []string{"animal", "bird"} {
			events = append(events, event.Event{Prefix: fmt.Sprintf("The robin number %d is a type of", i), Target: target})
		}
	}
	steps := resolve(t, copied, events...)
	calibrations := []calibrate.Calibration{calibrate.Default(), {Method: calibrate.Entropy}}
	want, err := copied.ReadUnder(t.Context(), steps, calibrations)
	if err != nil {
		t.Fatal(err)
	}
	got, err := lent.ReadUnder(t.Context(), steps, calibrations)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Error("readings of what is lent differ from those of copies")
	}
	if _, ok := lm.Kept(m).(lm.Lender); !ok {
		t.Error("a model that lends does not when it is kept open")
	}
	if _, ok := lm.Kept(&onlyRead{m}).(lm.Lender); ok {
		t.Error("a model that lends nothing does when it is kept open")
	}
	if l.lent != 70 || l.prefixes != 0 {
		t.Errorf("of 70 prefixes %d are lent and %d are copied", l.lent, l.prefixes)
	}
}

// onlyRead is a model that lends nothing.
type onlyRead struct{ lm.Model }

func (o *onlyRead) Batch(prefixes [][]lm.Token) int { return o.Model.(lm.Batcher).Batch(prefixes) }

// What has once been said of a prefix stays the same when more is asked of it in other
// company.
func TestMoreIsAsked(t *testing.T) {
	m := engine.Open(t, modeltest.SmolLM)
	r := &event.Reader{Model: m, Cache: &memory{}}
	first := resolve(t, r, event.Event{Prefix: "A robin is a type of", Target: "bird"}, event.Event{Prefix: "The number 7 is a type of", Target: "number"})
	before, err := r.Read(t.Context(), first, calibrate.Default())
	if err != nil {
		t.Fatal(err)
	}
	var more []event.Step
	for i := range 20 {
		more = append(more, resolve(t, r, event.Event{Prefix: fmt.Sprintf("The old castle number %d is a type of", i), Target: "castle"})...)
	}
	more = append(more, resolve(t, r, event.Event{Prefix: "A robin is a type of", Target: "fish"}, event.Event{Prefix: "A robin is a type of", Target: "bird"})...)
	with, err := r.Read(t.Context(), more, calibrate.Default())
	if err != nil {
		t.Fatal(err)
	}
	after, err := r.Read(t.Context(), first, calibrate.Default())
	if err != nil {
		t.Fatal(err)
	}
	for i := range before {
		if after[i].EventP != before[i].EventP || after[i].C != before[i].C {
			t.Errorf("event %d: %v before more was asked of its prefix, and %v after", i, before[i].EventP, after[i].EventP)
		}
	}
	if fish, bird := with[20], with[21]; bird.EventP != before[0].EventP || fish.C != bird.C {
		t.Errorf("bird %v (C %v) and fish (C %v) beside it; bird alone %v", bird.EventP, bird.C, fish.C, before[0].EventP)
	}
}

// Prefetching reads once what is asked for afterwards, and nothing where nothing could be kept.
func TestPrefetch(t *testing.T) {
	m := &counted{Model: engine.Open(t, modeltest.SmolLM)}
	r := &event.Reader{Model: m, Cache: &memory{}}
	steps := resolve(t, r, event.Event{Prefix: "A robin is a type of", Target: "bird"})
	cals := []calibrate.Calibration{calibrate.Default()}
	for _, step := range []func() error{
		func() error { return r.Prefetch(t.Context(), steps, cals) },
		func() error { _, err := r.ReadUnder(t.Context(), steps, cals); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		if m.prefixes != 1 {
			t.Fatalf("the model read %d prefixes, want 1", m.prefixes)
		}
	}
	r.Cache = nil
	if err := r.Prefetch(t.Context(), steps, cals); err != nil || m.prefixes != 1 {
		t.Errorf("without a cache the model read %d prefixes more: %v", m.prefixes-1, err)
	}
}

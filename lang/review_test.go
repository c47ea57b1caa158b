package lang_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
)

// many writes prob(p) n times with a connective between.
func many(n int, p float64, connective string) string {
	return strings.TrimSuffix(strings.Repeat(fmt.Sprintf("prob(%v) %s ", p, connective), n), " "+connective+" ")
}

// TestVerdictOfManyEvents: a formula is never or always true only where it is, however
// near to 0 or 1 WMC₀ comes.
func TestVerdictOfManyEvents(t *testing.T) {
	s := lang.New(lang.Options{})
	for _, test := range []struct{ formula, want string }{
		{many(1200, 0.9, "&"), "consistent"},
		{many(2000, 0.4, "&"), "inconsistent"},
		{many(60, 0.9, "|"), "consistent"},
		{many(1200, 0.9, "|"), "consistent"},
		{many(1200, 0.4, "|"), "inconsistent"},
		{many(2000, 0.6, "|"), "consistent"},
		{"p = prob(0.3)\np & !p", "never true"},
		{"p = prob(0.3)\np | !p", "always true"},
		{"false", "never true"},
		{"true", "always true"},
	} {
		r := last[*lang.Report](t, eval(t, s, test.formula))
		first, _, _ := strings.Cut(r.Text(lang.Style{}), "\n")
		if !strings.HasSuffix(first, "  "+test.want) {
			t.Errorf("%.40s… (%d bytes): %s, want %s", test.formula, len(test.formula), first, test.want)
		}
		if always := test.want == "always true"; math.IsNaN(r.Rho.Lo) != always || r.Valid != always || r.Satisfiable == (test.want == "never true") {
			t.Errorf("%.40s…: ρ %v, satisfiable %v, valid %v", test.formula, r.Rho, r.Satisfiable, r.Valid)
		}
	}
}

// TestLadderRho: each rung's ρ is that of its formula, in ladders so long that the
// first rungs are certain by chance up to rounding.
func TestLadderRho(t *testing.T) {
	s := lang.New(lang.Options{})
	const n = 60
	var events []string
	var src strings.Builder
	for i := range n {
		fmt.Fprintf(&src, "e%d = prob(%v)\n", i, 0.3+0.4*float64(i)/n)
		events = append(events, fmt.Sprintf("e%d", i))
	}
	list := strings.Join(events, ", ")
	l := last[*lang.Ladder](t, eval(t, s, src.String()+"ladder("+list+")"))
	for _, k := range []int{1, 2, 3, 30, 59, 60} {
		r := last[*lang.Report](t, eval(t, s, fmt.Sprintf("atleast(%d, %s)", k, list)))
		got, want := l.Rungs[k-1].Rho, r.Rho
		if !got.IsExact() || math.Abs(got.Lo-want.Lo) > 1e-9*math.Max(1, math.Abs(want.Lo)) {
			t.Errorf("ρ of at least %d is %v, want %v", k, got, want)
		}
	}
	if text := l.Text(lang.Style{}); strings.Contains(text, "undefined") || strings.Contains(text, "NaN") {
		t.Error(text)
	}
	sure := last[*lang.Ladder](t, eval(t, s, "ladder(true, e0)"))
	if !math.IsNaN(sure.Rungs[0].Rho.Lo) || math.IsNaN(sure.Rungs[1].Rho.Lo) {
		t.Errorf("ρ of what is certain: %v, %v", sure.Rungs[0].Rho, sure.Rungs[1].Rho)
	}
}

// TestModelsByUpperEnds: of intervals the interpretations with the greatest upper ends
// are listed.
func TestModelsByUpperEnds(t *testing.T) {
	// Of the two most probable tokens only: the intervals are wide.
	one := modeltest.NewBigram(modeltest.Corpus, 2)
	one.Model.Name, one.Model.Digest = "two", "2"
	s := session(t, one)
	const events = `%model two
a = M("A dog is a", "mammal")
b = M("A dog is a", "bird")
c = M("A robin is a", "fish")
d = M("A trout is", "an")
`
	upper := func(k int) []float64 {
		table := last[*lang.Table](t, eval(t, s, fmt.Sprintf("%smodels((a | b) -> (c xor d) | a, %d)", events, k)))
		if !strings.Contains(table.Note, "by their upper ends") && k < 4 {
			t.Errorf("the note is %q", table.Note)
		}
		var ends []float64
		for _, row := range table.Rows {
			b, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			var x struct{ P any }
			if err := json.Unmarshal(b, &x); err != nil {
				t.Fatal(err)
			}
			switch p := x.P.(type) {
			case float64:
				ends = append(ends, p)
			case []any:
				ends = append(ends, p[1].(float64))
			}
		}
		return ends
	}
	all := upper(16)
	if len(all) < 8 {
		t.Fatalf("%d interpretations", len(all))
	}
	best := slices.Clone(all)
	slices.Sort(best)
	slices.Reverse(best)
	for k := 1; k <= len(all); k++ {
		for i, got := range upper(k) {
			if math.Abs(got-best[i]) > 1e-12 {
				t.Fatalf("number %d of %d has the upper end %v, want %v", i+1, k, got, best[i])
			}
		}
	}
}

// dying is a model that stops answering.
type dying struct {
	*modeltest.Bigram
	left int // batches
}

var errDied = errors.New("the server has died")

func (m *dying) Read(ctx context.Context, prefixes [][]lm.Token, yield func(int, lm.Distribution) error) error {
	if m.left--; m.left < 0 {
		return errDied
	}
	return m.Bigram.Read(ctx, prefixes, yield)
}

// TestRunFails: a model that fails in the third batch costs no row of the first two.
func TestRunFails(t *testing.T) {
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("x,a\n")
	for i := range 2000 {
		fmt.Fprintf(&rows, "A dog is a %d,dog\n", i)
	}
	path := file(t, dir, "rows.csv", rows.String())
	s := lang.New(lang.Options{Model: "dying", Open: func(context.Context, string) (lm.Model, error) {
		return &dying{modeltest.NewBigram(modeltest.Corpus, 0), 2}, nil
	}})
	results, err := try(s, "f(x, a) = M(x, a) | prob(0.5)\n%run f "+path)
	var mistake *lang.Error
	if !errors.Is(err, errDied) || !errors.As(err, &mistake) || mistake.Start.String() != "2:8" {
		t.Errorf("got %v", err)
	}
	r := last[*lang.Run](t, results)
	if !r.Stopped || r.Scored != 1024 || len(r.Rhos) != 1024 || math.IsNaN(r.Rho.Lo) || !strings.Contains(r.Text(lang.Style{}), "stopped") {
		t.Errorf("%s", r.Text(lang.Style{}))
	}
	if _, err := try(s, "%plot histogram"); err != nil {
		t.Errorf("the run's rows cannot be drawn: %v", err)
	}
}

// TestCompleteMeanwhile: completion while a program is evaluated (for the race detector).
func TestCompleteMeanwhile(t *testing.T) {
	s := session(t)
	eval(t, s, "a = prob(0.5)")
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for {
			select {
			case <-done:
				return
			default:
				s.Complete("wmc(", 4)
			}
		}
	}()
	for i := range 100 {
		eval(t, s, fmt.Sprintf("b = a\nc = b & prob(0.2)\na = prob(0.%d1)\nwmc(c)\nb\n%%who\n", i))
		// After a redefinition that is refused, names are written out anew as they are used.
		if _, err := try(s, "a = nobody"); err == nil {
			t.Fatal("an unknown name was accepted")
		}
		eval(t, s, "wmc(c)")
		if i%10 == 9 {
			eval(t, s, "%reset\na = prob(0.5)")
		}
	}
	close(done)
	wg.Wait()
}

// TestJSONAtLeast: an event of which k tokens need to hold says so, and its
// probability is that of its formula.
func TestJSONAtLeast(t *testing.T) {
	for _, model := range []string{"ngram", "top"} {
		s := session(t)
		for _, k := range []int{1, 2, 3} {
			r := last[*lang.Report](t, eval(t, s, fmt.Sprintf("%%model %s\nladder(\"A dog is\", \"a mammal.\", %d)", model, k)))
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				WMC    any
				Events []struct {
					P       any
					EventP  any `json:"event_p"`
					AtLeast int `json:"at_least"`
				}
			}
			if err := json.Unmarshal(b, &got); err != nil {
				t.Fatal(err)
			}
			e := got.Events[0]
			if k < 3 && (e.P != nil || e.AtLeast != k) || k == 3 && (e.P == nil || e.AtLeast != 0) {
				t.Errorf("at least %d: %+v", k, e)
			}
			wmc, event := fmt.Sprint(got.WMC), fmt.Sprint(e.EventP)
			if model == "ngram" && math.Abs(got.WMC.(float64)-e.EventP.(float64)) > 1e-12 || model == "top" && (event[0] != '[' || event[:8] != wmc[:8]) {
				t.Errorf("%s, at least %d: event_p is %s, and its formula's wmc %s", model, k, event, wmc)
			}
		}
	}
}

// TestInterruptQueries: what takes long after the model has answered stops soon after Ctrl-C.
func TestInterruptQueries(t *testing.T) {
	var chain strings.Builder
	chain.WriteString("%model top\ne(i) = M(i, \"mammal\")\n")
	chain.WriteString(`f = M("A dog 0 is a", "mammal")`)
	for i := range 300 {
		fmt.Fprintf(&chain, " xor M(\"A dog %d is a\", \"mammal\")", i+1)
	}
	for _, query := range []string{"grad(f)", "marginals(f)", "f", "models(f, 10000)"} {
		s := session(t)
		eval(t, s, chain.String()+"\nwmc(f);")
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- s.Eval(ctx, "", query, func(lang.Result) error { return nil }) }()
		time.Sleep(20 * time.Millisecond)
		start := time.Now()
		cancel()
		err := <-ended
		if d := time.Since(start); d > 500*time.Millisecond {
			t.Errorf("%s: %v after it was cancelled", query, d)
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// TestResetCalibration: the raw calibration, the zero one, is a choice like others.
func TestResetCalibration(t *testing.T) {
	s := lang.New(lang.Options{})
	if err := s.SetCalibration(calibrate.Calibration{}); err != nil {
		t.Fatal(err)
	}
	eval(t, s, "%reset")
	if got := s.Calibration(); got != (calibrate.Calibration{}) {
		t.Errorf("got %v", got)
	}
}

// TestHints: what other shells understand leads to what is meant here.
func TestHints(t *testing.T) {
	s := session(t)
	for src, want := range map[string]string{
		"help":      "1:1: no event or formula is called \"help\"; try %help",
		"?":         `1:1: "?" is not used here; try %help`,
		"dog?":      `1:4: "?" is not used here; try %help dog`,
		"1 & wmc ?": `1:9: "?" is not used here; try %help wmc`,
		"exit":      `1:1: no event or formula is called "exit"; at a prompt, Ctrl-D or %quit leaves`,
	} {
		if _, err := try(s, src); err == nil || err.Error() != want {
			t.Errorf("%s: got %v", src, err)
		}
	}
	if text := eval(t, s, "dog = M(\"A dog is a\", \"dog\")\n%help dog")[0].Text(lang.Style{}); text != `dog = M("A dog is a", "dog")   (event)` {
		t.Errorf("got %s", text)
	}
	if text := eval(t, s, "%help")[0].Text(lang.Style{}); !strings.Contains(text, "Ctrl-D or %quit") {
		t.Error("the overview does not say how to leave")
	}
}

// TestNarrow: a report and a ladder fit a terminal of 60 columns, and a message can be set so.
func TestNarrow(t *testing.T) {
	s := session(t)
	for _, src := range []string{
		`M("A dog is a", "dog") -> M("A dog is a", "mammal")`,
		"%model top\n" + `M("A dog is a", "dog") -> M("A dog is a", "mammal")`,
		many(1200, 0.99, "|"), "prob(0.001234) | prob(0.0023)",
	} {
		r := last[*lang.Report](t, eval(t, s, src))
		for i, line := range strings.Split(r.Text(lang.Style{Width: 60}), "\n") {
			if w := runewidth.StringWidth(line); w > 60 && (i < 3 || len(r.Events) < 3) {
				t.Errorf("%d columns: %s", w, line)
			}
		}
	}
	_, err := try(s, "implicaton(3, 4)")
	var mistake *lang.Error
	if !errors.As(err, &mistake) {
		t.Fatal(err)
	}
	wrapped := mistake.Message(40)
	for _, line := range strings.Split(wrapped, "\n") {
		if runewidth.StringWidth(line) > 40 {
			t.Errorf("%q is wider than 40 columns", line)
		}
	}
	if !strings.Contains(wrapped, "\n") || strings.ReplaceAll(wrapped, "\n", " ") != mistake.Error() || mistake.Message(0) != mistake.Error() {
		t.Errorf("got %q", wrapped)
	}
}

// TestStyleOf: what is no terminal gets neither colours nor a width.
func TestStyleOf(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for _, x := range []any{w, new(strings.Builder)} {
		if got := lang.StyleOf(x.(interface{ Write([]byte) (int, error) })); got != (lang.Style{}) {
			t.Errorf("%T: got %+v", x, got)
		}
	}
}

// TestLongDefinition: a name is not shown as its own definition where that is too long.
func TestLongDefinition(t *testing.T) {
	s := session(t)
	r := last[*lang.Report](t, eval(t, s, `text = likelihood("A dog is a mammal. A dog is an animal. A robin is a bird. A robin is an animal.")
text`))
	first, _, _ := strings.Cut(r.Text(lang.Style{}), "\n")
	if !strings.HasPrefix(first, `text: likelihood("A dog is a mammal.`) || runewidth.StringWidth(first) > 80 {
		t.Errorf("got %q", first)
	}
}

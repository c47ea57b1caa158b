package answers

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/internal/modeltest/engine"
	"github.com/modellog/modellog/lm"
)

// cases are the spellings with a space and without, as they are and in small letters.
func cases(names [2]string) (out [][2]string) {
	for _, space := range []string{" ", ""} {
		out = append(out, [2]string{space + names[0], space + names[1]}, [2]string{space + strings.ToLower(names[0]), space + strings.ToLower(names[1])})
	}
	return out
}

// Each answer has as many tokens as the other, all whole spellings, none of both.
func TestFind(t *testing.T) {
	for _, r := range modeltest.All {
		m := engine.Open(t, r)
		for _, names := range [][2]string{{"A", "B"}, {"YES", "NO"}, {"True", "False"}} {
			p, err := Find(t.Context(), m, names, cases(names))
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Variants[0]) != len(p.Variants[1]) || len(p.Variants[0]) == 0 {
				t.Errorf("%s: %s", r.Name, p)
			}
			seen := map[lm.Token]bool{}
			for k, vs := range p.Variants {
				for i, v := range vs {
					if string(m.Piece(v.Token)) != v.Text || !strings.EqualFold(strings.TrimSpace(v.Text), names[k]) || seen[v.Token] {
						t.Errorf("%s: token %d, %q, stands for %s", r.Name, v.Token, m.Piece(v.Token), names[k])
					}
					seen[v.Token] = true
					other := p.Variants[1-k][i].Text
					if strings.HasPrefix(v.Text, " ") != strings.HasPrefix(other, " ") || (v.Text == strings.ToLower(v.Text)) != (other == strings.ToLower(other)) {
						t.Errorf("%s: %q stands beside %q", r.Name, v.Text, other)
					}
				}
			}
		}
	}
}

// SmolLM2 has "YES" only in parts, and "NO" in one: both are left out.
func TestFindPairs(t *testing.T) {
	m := engine.Open(t, modeltest.SmolLM)
	names := [2]string{"YES", "NO"}
	p, err := Find(t.Context(), m, names, [][2]string{{"YES", "NO"}, {"Yes", "No"}, {"Yes", "No"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.String(); got != `YES = "Yes", NO = "No"; left out of both, "YES" / "NO" ("YES" is "Y" + "ES")` {
		t.Error(got)
	}
	for _, x := range []struct {
		spellings [][2]string
		want      string
	}{
		{[][2]string{{"YES", "NO"}}, `both YES and NO in one token each ("YES" is "Y" + "ES")`},
		{[][2]string{{"A", "A"}}, "a token is of both answers"},
		{[][2]string{{"A", "B"}, {"B", "A"}}, "a token is of both answers"},
		{nil, "both YES and NO in one token each"},
	} {
		_, err := Find(t.Context(), m, names, x.spellings)
		var lacking *LackingError
		if !errors.As(err, &lacking) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q: %v, want %q", x.spellings, err, x.want)
		}
	}
	p, err = Find(t.Context(), m, names, [][2]string{{"A", "B"}, {"A", "C"}})
	if err != nil || len(p.Variants[0]) != 1 || p.LeftOut[0].Why != "one of the two is the token of another spelling" {
		t.Errorf("%v, %v", p, err)
	}
}

// What is read is the softmax of the whole distribution, summed over the tokens.
func TestRead(t *testing.T) {
	for _, r := range modeltest.All {
		m := engine.Open(t, r)
		a, err := NewAsker(t.Context(), m, Auto, false)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]Style{modeltest.Gemma.Name: Plain, modeltest.SmolLM.Name: Chat}[r.Name]; a.Style != want {
			t.Errorf("%s: asked in the style %s", r.Name, a.Style)
		}
		in, err := a.Input(t.Context(), "Which letter comes first in the alphabet, A or B?\nAnswer:")
		if err != nil {
			t.Fatal(err)
		}
		p, err := Find(t.Context(), m, [2]string{"A", "B"}, Spaced([2]string{"A", "B"}, a.Style))
		if err != nil {
			t.Fatal(err)
		}
		readings, err := (&event.Reader{Model: m}).Read(t.Context(), p.Steps(in), calibrate.Calibration{Method: calibrate.Raw})
		if err != nil {
			t.Fatal(err)
		}
		got := p.Read(readings)
		var want [2]float64
		if err := m.Read(t.Context(), [][]lm.Token{in.Tokens}, func(_ int, d lm.Distribution) error {
			z := 0.0
			for _, l := range d.Logits {
				z += math.Exp(float64(l))
			}
			for k, vs := range p.Variants {
				for _, v := range vs {
					want[k] += math.Exp(float64(d.Logits[v.Token])) / z
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct{ got, want float64 }{
			{got.First.Middle(), want[0]}, {got.Second.Middle(), want[1]},
			{got.Share.Middle(), want[0] / (want[0] + want[1])}, {got.Neither(), 1 - want[0] - want[1]},
		} {
			if math.Abs(x.got-x.want) > 1e-6 {
				t.Errorf("%s: %g, want %g", r.Name, x.got, x.want)
			}
		}
		if got.Share.Lo != got.Share.Hi {
			t.Errorf("%s: the whole vocabulary is read, and the share is %+v", r.Name, got.Share)
		}
	}
}

// Of log-probabilities within intervals follow the bounds that brute force over the ends gives.
func TestReadBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "variants")
		p := &Pair{Variants: [2][]Variant{make([]Variant, n), make([]Variant, n)}}
		readings := make([]event.Reading, 2*n)
		for i := range readings {
			lo := rapid.Float64Range(-30, -2).Draw(t, "lo")
			readings[i].LogP = calibrate.Interval{Lo: lo, Hi: lo + rapid.Float64Range(0, 1).Draw(t, "width")}
		}
		got := p.Read(readings)
		var a, b [2]float64
		for i, r := range readings {
			to := &a
			if i >= n {
				to = &b
			}
			to[0] += math.Exp(r.LogP.Lo)
			to[1] += math.Exp(r.LogP.Hi)
		}
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, x := range a {
			for _, y := range b {
				lo, hi = min(lo, x/(x+y)), max(hi, x/(x+y))
			}
		}
		if math.Abs(got.Share.Lo-lo) > 1e-9 || math.Abs(got.Share.Hi-hi) > 1e-9 {
			t.Fatalf("%+v, want from %g to %g", got.Share, lo, hi)
		}
		text, err := json.Marshal(got.Share)
		var back Bounds
		if err != nil || json.Unmarshal(text, &back) != nil || back != got.Share {
			t.Fatalf("%s becomes %+v", text, back)
		}
	})
	var b Bounds
	for _, text := range []string{`"x"`, `[1]`, `[1,2,3]`} {
		if err := json.Unmarshal([]byte(text), &b); err == nil || !strings.Contains(err.Error(), "two ends") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(-700, 0).Draw(t, "a"), rapid.Float64Range(-700, 0).Draw(t, "b")
		if got, want := share(a, b), math.Exp(a)/(math.Exp(a)+math.Exp(b)); math.Abs(got-want) > 1e-12 || math.Abs(share(a, b)+share(b, a)-1) > 1e-12 {
			t.Fatalf("%g, want %g", got, want)
		}
		if got, want := logAdd(a, b), math.Log(math.Exp(a)+math.Exp(b)); math.Abs(got-want) > 1e-9 {
			t.Fatalf("%g, want %g", got, want)
		}
	})
	inf := math.Inf(-1)
	if share(inf, 0) != 0 || share(0, inf) != 1 || share(-2000, -2000) != 0.5 || logAdd(inf, inf) != inf || logAdd(inf, -3) != -3 {
		t.Error("shares of nothing")
	}
}

// A base model is asked in no conversation.
func TestAsker(t *testing.T) {
	gemma := engine.Open(t, modeltest.Gemma)
	if _, err := NewAsker(t.Context(), gemma, Chat, false); err == nil || !strings.Contains(err.Error(), "no chat template") {
		t.Error(err)
	}
	a, err := NewAsker(t.Context(), engine.Open(t, modeltest.SmolLM), Chat, false)
	if err != nil {
		t.Fatal(err)
	}
	in, err := a.Input(t.Context(), "Well?")
	if err != nil || !strings.Contains(in.Text, "Well?") || !strings.HasSuffix(in.Text, "<|im_start|>assistant\n") {
		t.Errorf("%q, %v", in.Text, err)
	}
	a.Style = Plain
	if in, err = a.Input(t.Context(), "Well?"); err != nil || in.Text != "Well?" {
		t.Errorf("%q, %v", in.Text, err)
	}
}

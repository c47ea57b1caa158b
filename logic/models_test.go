package logic

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func bitsOf(m Interpretation) uint {
	b := uint(0)
	for v, x := range m {
		if x {
			b |= 1 << v
		}
	}
	return b
}

func TestModelsAgainstEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := draw(t, 9)
		var got []uint
		for m, p := range x.d.Models(x.w) {
			b := bitsOf(m)
			got = append(got, b)
			if want := x.weightOf(b); !near(p, want, 1e-14) {
				t.Fatalf("probability %v of %v, want %v", p, m, want)
			}
		}
		// The order of a truth table: true before false, lower variables first.
		want := slices.Clone(x.models)
		slices.SortFunc(want, func(a, b uint) int {
			for v := range x.n {
				if p, q := a>>v&1, b>>v&1; p != q {
					return int(q) - int(p)
				}
			}
			return 0
		})
		if !slices.Equal(got, want) {
			t.Fatalf("%v: models %b, want %b", x.f.Format(nil, ASCII), got, want)
		}
		for range x.d.Models(x.w) {
			break // an early end is no error
		}
	})
}

func TestTopModelsAgainstEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := draw(t, 9)
		k := rapid.IntRange(1, 600).Draw(t, "k")
		ms, err := x.d.TopModels(context.Background(), x.w, k)
		if err != nil {
			t.Fatal(err)
		}
		if len(ms) != min(k, len(x.models)) {
			t.Fatalf("%d models of %d, asked for %d", len(ms), len(x.models), k)
		}
		probs := make([]float64, len(x.models))
		for i, b := range x.models {
			probs[i] = x.weightOf(b)
		}
		slices.Sort(probs)
		slices.Reverse(probs)
		seen := map[uint]bool{}
		for i, m := range ms {
			b := bitsOf(m.Interpretation)
			if seen[b] || !holds(x.f, b) {
				t.Fatalf("model %b comes twice, or is none", b)
			}
			seen[b] = true
			if !near(math.Exp(m.LogProb), x.weightOf(b), 1e-11) || !near(math.Exp(m.LogProb), probs[i], 1e-11) {
				t.Fatalf("model %d has probability %v, its own is %v, the %d-th best %v", i, math.Exp(m.LogProb), x.weightOf(b), i, probs[i])
			}
		}
		best, ok := x.d.MPE(x.w)
		if ok != (len(x.models) > 0) || ok && !near(math.Exp(best.LogProb), probs[0], 1e-11) {
			t.Fatalf("MPE %v, %v", best, ok)
		}
	})
}

func TestTopModelsOfThousands(t *testing.T) {
	const n = 300
	f, _ := chooseChain(n, 3)
	d := compile(t, f)
	w := make([]Weight, n)
	for i := range w {
		w[i] = WeightFromLog(-1 - float64(i)/100)
	}
	ms, err := d.TopModels(context.Background(), w, 50)
	if err != nil || len(ms) != 50 || !ms[0].Interpretation[0] || !ms[0].Interpretation[2] || !ms[0].Interpretation[4] {
		t.Fatalf("%d models", len(ms))
	}
	if !slices.IsSortedFunc(ms, func(a, b Model) int {
		if a.LogProb > b.LogProb-1e-9 {
			return -1
		}
		return 1
	}) {
		t.Error("not sorted by probability")
	}
}

func TestEntailmentAgainstEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		f, g := genAny(t, n), genAny(t, n)
		if rapid.Bool().Draw(t, "weaker") {
			g = Or(f, g)
		}
		entails, equal := true, true
		for b := uint(0); b < 1<<n; b++ {
			x, y := holds(f, b), holds(g, b)
			entails = entails && (!x || y)
			equal = equal && x == y
		}
		got, err := Entails(context.Background(), f, g)
		if err != nil || got != entails {
			t.Fatalf("%v ⊨ %v: %v, %v, want %v", f.Format(nil, ASCII), g.Format(nil, ASCII), got, err, entails)
		}
		got, err = Equivalent(context.Background(), f, g)
		if err != nil || got != equal {
			t.Fatalf("%v ≡ %v: %v, %v, want %v", f.Format(nil, ASCII), g.Format(nil, ASCII), got, err, equal)
		}
	})
}

package gguf

import (
	"errors"
	"slices"
	"testing"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
)

// What is lent is what is read, in whichever precision.
func TestLend(t *testing.T) {
	for _, p := range []Precision{Exact, Native} {
		m := open(t, modeltest.SmolLM, p)
		prefixes := modeltest.Prefixes(t, m)
		prefixes = append(prefixes, prefixes[1]) // an index of its own, the same logits
		want := readAll(t, m, prefixes)
		got := make([][]float32, len(prefixes))
		err := m.Lend(t.Context(), prefixes, func(at []int, d []lm.Distribution) error {
			if len(at) != len(d) {
				t.Fatalf("%d distributions after %d prefixes", len(d), len(at))
			}
			for k, i := range at {
				if got[i] != nil {
					t.Errorf("%s: prefix %d is handed over twice", p, i)
				}
				got[i] = slices.Clone(d[k].Logits)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("%s: after prefix %d other logits are lent than read", p, i)
			}
		}
	}
}

// A caller that fails or panics gives back what was lent to it.
func TestLendEnds(t *testing.T) {
	m := open(t, modeltest.SmolLM, Exact)
	prefixes := modeltest.Prefixes(t, m)
	enough := errors.New("enough")
	if err := m.Lend(t.Context(), prefixes, func([]int, []lm.Distribution) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("the caller's error is not returned, but %v", err)
	}
	func() {
		defer func() {
			if r := recover(); r != enough {
				t.Errorf("the caller's panic became %v", r)
			}
		}()
		_ = m.Lend(t.Context(), prefixes, func([]int, []lm.Distribution) error { panic(enough) })
	}()
	readAll(t, m, prefixes[:1])
}

package gguf

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
)

// The segments of a batch's tree make up its prefixes: whoever follows the engine's cache through the waves
// finds in each sequence, at its leaf, exactly the prefix.
func TestTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stems := rapid.SliceOfN(rapid.SliceOfN(rapid.Int32Range(0, 2), 0, 30), 1, 4).Draw(t, "stems")
		var prefixes [][]lm.Token
		seen := map[string]bool{}
		for range rapid.IntRange(1, 9).Draw(t, "n") {
			var p []lm.Token
			for range rapid.IntRange(1, 3).Draw(t, "parts") {
				p = append(p, rapid.SampledFrom(stems).Draw(t, "stem")...)
			}
			p = append(p, rapid.SliceOfN(rapid.Int32Range(0, 2), 1, 3).Draw(t, "end")...)
			if rapid.Bool().Draw(t, "within") && len(prefixes) > 0 { // another begins with it
				p = rapid.SampledFrom(prefixes).Draw(t, "whole")
				p = p[:rapid.IntRange(1, len(p)).Draw(t, "length")]
			}
			if key := fmt.Sprint(p); !seen[key] {
				seen[key] = true
				prefixes = append(prefixes, p)
			}
		}
		waves := tree(prefixes)
		cache := map[int][]lm.Token{}
		leaves := 0
		for w, wave := range waves {
			begun := map[int]bool{}
			for _, s := range wave {
				if len(cache[s.sequence]) != s.begin || s.end <= s.begin || begun[s.sequence] {
					t.Fatalf("wave %d: %d tokens of sequence %d are known, and the segment is of %d to %d", w, len(cache[s.sequence]), s.sequence, s.begin, s.end)
				}
				begun[s.sequence] = true
				cache[s.sequence] = append(slices.Clone(cache[s.sequence]), s.tokens[s.begin:s.end]...)
				for i, l := range s.leaves {
					if leaves++; w != len(waves)-1 {
						t.Fatal("a leaf is not in the last wave")
					}
					if l.tokens <= s.begin || l.tokens > s.end || i > 0 && l.tokens <= s.leaves[i-1].tokens {
						t.Fatalf("a prefix ends with token %d of a segment of %d to %d", l.tokens, s.begin, s.end)
					}
					if !slices.Equal(cache[s.sequence][:l.tokens], prefixes[l.prefix]) {
						t.Fatalf("prefix %d is %v, want %v", l.prefix, cache[s.sequence][:l.tokens], prefixes[l.prefix])
					}
				}
				if len(s.branches) == 0 && (len(s.leaves) == 0 || s.leaves[len(s.leaves)-1].tokens != s.end) {
					t.Fatal("nothing goes on from a segment, and no prefix ends with it")
				}
			}
			for _, s := range wave {
				for _, b := range s.branches {
					cache[b.sequence] = slices.Clone(cache[s.sequence][:b.tokens])
				}
			}
		}
		if leaves != len(prefixes) {
			t.Fatalf("%d of %d prefixes are read", leaves, len(prefixes))
		}
		if n, least := treeTokens(waves)+passTokens*(len(waves)-1), leastCost(prefixes); n != least {
			t.Fatalf("a tree of %d tokens in %d waves, where the cheapest costs %d", treeTokens(waves), len(waves), least)
		}
	})
	if n := len(tree(nil)); n != 0 {
		t.Errorf("of nothing there are %d waves", n)
	}
}

// leastCost tries every choice of what is read once, and returns what the cheapest costs.
func leastCost(prefixes [][]lm.Token) int {
	stems := map[string][]lm.Token{} // what two or more begin with, and go on differently or end
	for i, p := range prefixes {
		for _, q := range prefixes[:i] {
			if n := alike(p, q); n > 0 {
				stems[fmt.Sprint(p[:n])] = p[:n]
			}
		}
	}
	all := slices.Collect(maps.Values(stems))
	least := math.MaxInt
	for choice := range 1 << len(all) {
		type part struct {
			end   string // the tokens up to its end
			begin int
			leaf  bool
		}
		type end struct {
			prefix []lm.Token
			begin  int
		}
		var ends []end
		read := map[part]bool{}
		waves := 0
		for _, p := range prefixes {
			var cuts []int
			for i, s := range all {
				if choice>>i&1 == 1 && alike(s, p) == len(s) {
					cuts = append(cuts, len(s))
				}
			}
			slices.Sort(cuts)
			waves = max(waves, len(cuts))
			from := 0
			for _, c := range cuts {
				read[part{fmt.Sprint(p[:c]), from, false}] = true
				from = c
			}
			ends = append(ends, end{p, min(from, len(p)-1)})
		}
		if waves >= mostWaves {
			continue
		}
		// A prefix ends in a longer one's segment where that has its last token.
		for _, e := range ends {
			if !slices.ContainsFunc(ends, func(longer end) bool {
				return len(longer.prefix) > len(e.prefix) && alike(longer.prefix, e.prefix) == len(e.prefix) && longer.begin < len(e.prefix)
			}) {
				read[part{fmt.Sprint(e.prefix), e.begin, true}] = true
			}
		}
		cost := waves * passTokens
		for r := range read {
			cost += strings.Count(r.end, " ") + 1 - r.begin
		}
		least = min(least, cost)
	}
	return least
}

// questions are prefixes of a long text with different ends, and others: made of the model's own tokens.
func questions(t testing.TB, m *Model, tokens int) [][]lm.Token {
	t.Helper()
	var text []lm.Token
	for _, p := range modeltest.Prefixes(t, m) {
		text = append(text, p[1:]...)
	}
	for len(text) < tokens {
		text = append(text, text...)
	}
	text = append([]lm.Token{modeltest.Prefixes(t, m)[0][0]}, text[:tokens]...)
	ends := modeltest.Prefixes(t, m)
	long := func(n int, end []lm.Token) []lm.Token { return slices.Concat(text[:n], end[1:]) }
	return [][]lm.Token{
		long(tokens, ends[0]), long(tokens, ends[1]), long(tokens/2, ends[2]), ends[3], long(tokens, ends[4]),
		text[:tokens], // ends within what the others share
	}
}

// Readings that share a prefix agree with those made one by one, also where the shared part is longer than a
// chunk and than Gemma's sliding window of 512 tokens; and the same batch gives the same bits. (The tolerance is
// that of the reference readings: see TestLongPrefix for why Gemma's move by thousandths.)
func TestSharedPrefixes(t *testing.T) {
	for _, r := range modeltest.All {
		t.Run(r.Name, func(t *testing.T) {
			m := open(t, r, Exact)
			for _, tokens := range []int{80, 700} {
				prefixes := questions(t, m, tokens)
				if tokens > 512 {
					if r != modeltest.Gemma {
						continue // has no window
					}
					prefixes = [][]lm.Token{prefixes[0], prefixes[1], prefixes[5]}
				}
				if n := m.Batch(prefixes); n != len(prefixes) {
					t.Errorf("%d of %d prefixes are read together", n, len(prefixes))
				}
				if waves := tree(prefixes); len(waves) < 2 {
					t.Fatalf("%d waves", len(waves))
				}
				together, again, alone := make([][]float32, len(prefixes)), make([][]float32, len(prefixes)), make([][]float32, len(prefixes))
				read := func(prefixes [][]lm.Token, to [][]float32) {
					t.Helper()
					if err := m.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
						to[i] = slices.Clone(d.Logits)
						return nil
					}); err != nil {
						t.Fatal(err)
					}
				}
				read(prefixes, together)
				read(prefixes, again)
				for i := range prefixes {
					read(prefixes[i:i+1], alone[i:i+1])
				}
				for i := range prefixes {
					worst := 0.0
					a, b := logSoftmax(together[i]), logSoftmax(alone[i])
					for k := range a {
						if b[k] > -12 {
							worst = max(worst, math.Abs(a[k]-b[k]))
						}
					}
					if worst > 0.01 {
						t.Errorf("%d tokens, prefix %d: a log-probability differs by %.2g", tokens, i, worst)
					}
					if !slices.Equal(together[i], again[i]) {
						t.Errorf("%d tokens, prefix %d: read again, the same batch gives another distribution", tokens, i)
					}
				}
			}
		})
	}
}

// All prefixes of a text go through the model as one segment for each batch, whatever their order, and agree with those
// read one by one.
func TestNestedPrefixes(t *testing.T) {
	for _, r := range modeltest.All {
		t.Run(r.Name, func(t *testing.T) {
			m := open(t, r, Exact)
			text := questions(t, m, 90)[5]
			var prefixes [][]lm.Token
			for n := len(text); n > 0; n-- {
				prefixes = append(prefixes, text[:n])
			}
			if n, err := m.Tokens(prefixes); err != nil || n != len(text)+len(text)-m.batch {
				t.Errorf("%d tokens are read of a text of %d in batches of %d, %v", n, len(text), m.batch, err)
			}
			together := make(map[int][]float64)
			read := 0
			if err := m.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
				if read++; i%9 == 0 {
					together[i] = logSoftmax(d.Logits)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			for i, of := range together {
				if err := m.Read(t.Context(), prefixes[i:i+1], func(_ int, d lm.Distribution) error {
					for k, p := range logSoftmax(d.Logits) {
						if p > -12 && math.Abs(p-of[k]) > 0.01 {
							t.Errorf("after %d tokens, token %d has %v together and %v alone", len(prefixes[i]), k, of[k], p)
							break
						}
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			if read != len(prefixes) {
				t.Errorf("%d of %d prefixes were read", read, len(prefixes))
			}
		})
	}
}

func logSoftmax(logits []float32) []float64 {
	top := float64(slices.Max(logits))
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(float64(l) - top)
	}
	out := make([]float64, len(logits))
	for i, l := range logits {
		out[i] = float64(l) - top - math.Log(sum)
	}
	return out
}

// BenchmarkPair reads two questions that follow one text of 150 tokens, together and one by one, and reports how
// many tokens the engine reads of a pair.
func BenchmarkPair(b *testing.B) {
	for _, r := range modeltest.All {
		b.Run(r.Name, func(b *testing.B) {
			m := open(b, r, Exact)
			pair := questions(b, m, 150)[:2]
			for _, size := range []int{1, 2} {
				b.Run(map[int]string{1: "apart", 2: "shared"}[size], func(b *testing.B) {
					m.batch = size
					if err := m.Read(b.Context(), pair, func(int, lm.Distribution) error { return nil }); err != nil {
						b.Fatal(err) // loads the weights
					}
					tokens := 0
					for part := range slices.Chunk(pair, size) {
						tokens += treeTokens(tree(part))
					}
					for b.Loop() {
						if err := m.Read(b.Context(), pair, func(int, lm.Distribution) error { return nil }); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(tokens), "tokens/op")
				})
			}
		})
	}
}

// BenchmarkPass lets so many tokens go through the layers, without the output head: what remains at few tokens is
// what a pass costs.
func BenchmarkPass(b *testing.B) {
	for _, r := range modeltest.All {
		b.Run(r.Name, func(b *testing.B) {
			m := open(b, r, Exact)
			if err := m.Read(b.Context(), [][]lm.Token{{1}}, func(int, lm.Distribution) error { return nil }); err != nil {
				b.Fatal(err) // loads the weights
			}
			for _, n := range []int{1, 8, 32, 64, 128, 256} {
				b.Run(fmt.Sprintf("tokens=%d", n), func(b *testing.B) {
					stem := segment{tokens: make([]lm.Token, n), end: n}
					for b.Loop() {
						if err := m.engine.forward(nil, [][]segment{{stem}}, nil); err != nil {
							b.Fatal(err)
						}
						if err := m.engine.model.Config().Cache.Remove(0, 0, math.MaxInt32); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		})
	}
}

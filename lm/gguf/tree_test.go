package gguf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
)

// A tree has each beginning of its prefixes once, after what it goes on from, and what all begin with first.
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
		nodes, stem := tree(prefixes)
		beginnings := map[string]bool{}
		for _, p := range prefixes {
			for n := range p {
				beginnings[fmt.Sprint(p[:n+1])] = true
			}
		}
		if len(nodes) != len(beginnings) {
			t.Fatalf("%d nodes for %d beginnings", len(nodes), len(beginnings))
		}
		text := make([][]lm.Token, len(nodes))
		ends := 0
		for i, n := range nodes {
			if n.parent >= i || n.parent < 0 != (n.depth == 0) {
				t.Fatalf("node %d at depth %d is after node %d", i, n.depth, n.parent)
			}
			if n.parent >= 0 {
				text[i] = slices.Clone(text[n.parent])
			}
			if text[i] = append(text[i], n.token); len(text[i]) != n.depth+1 || !beginnings[fmt.Sprint(text[i])] {
				t.Fatalf("node %d at depth %d ends %v", i, n.depth, text[i])
			}
			delete(beginnings, fmt.Sprint(text[i]))
			if n.prefix < 0 {
				continue
			}
			if ends++; !slices.Equal(text[i], prefixes[n.prefix]) {
				t.Fatalf("node %d ends %v and not %v", i, text[i], prefixes[n.prefix])
			}
		}
		if ends != len(prefixes) {
			t.Fatalf("%d of %d prefixes end in the tree", ends, len(prefixes))
		}
		common := len(prefixes[0])
		for _, p := range prefixes {
			common = min(common, alike(p, prefixes[0]))
		}
		if stem != common {
			t.Fatalf("the stem is %d tokens, and %d are common", stem, common)
		}
		for i, n := range nodes[:stem] {
			if n.depth != i {
				t.Fatalf("node %d of the stem is at depth %d", i, n.depth)
			}
		}
	})
	if nodes, stem := tree(nil); len(nodes) != 0 || stem != 0 {
		t.Errorf("of nothing there are %d nodes and a stem of %d", len(nodes), stem)
	}
}

// What a token sees is what it goes on from, as far back as the window and the chunk let it.
func TestSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []node
		for i := range rapid.IntRange(1, 40).Draw(t, "nodes") {
			n := node{parent: rapid.IntRange(-1, i-1).Draw(t, "parent")}
			if n.parent >= 0 {
				n.depth = nodes[n.parent].depth + 1
			}
			nodes = append(nodes, n)
		}
		pass := rapid.IntRange(1, len(nodes)).Draw(t, "pass")
		cells := len(nodes) + rapid.IntRange(0, 3).Draw(t, "padding")
		c := treeCache{held: &held{nodes: nodes, pass: pass}, window: rapid.IntRange(1, 20).Draw(t, "window"), chunk: rapid.IntRange(0, 5).Draw(t, "chunk")}
		mask := c.seen(cells, pass)
		for i := range pass {
			of := len(nodes) - pass + i
			for j := range cells {
				follows := false
				for at := of; at >= 0; at = nodes[at].parent {
					follows = follows || at == j
				}
				want := float32(math.Inf(-1))
				if follows && nodes[of].depth-nodes[j].depth <= c.window && (c.chunk == 0 || nodes[j].depth/c.chunk == nodes[of].depth/c.chunk) {
					want = 0
				}
				if got := mask[i*cells+j]; got != want {
					t.Fatalf("token %d sees token %d as %v, want %v", of, j, got, want)
				}
			}
		}
	})
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
// that of the reference readings.)
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
				if _, stem := tree(prefixes); tokens > 512 && stem <= m.chunk {
					t.Fatalf("the stem of %d tokens goes through at once", stem)
				}
				together, again, alone := readAll(t, m, prefixes), readAll(t, m, prefixes), make([][]float32, len(prefixes))
				for i := range prefixes {
					alone[i] = readAll(t, m, prefixes[i:i+1])[0]
				}
				for i := range prefixes {
					worst := 0.0
					a, b := modeltest.LogSoftmax(together[i]), modeltest.LogSoftmax(alone[i])
					for k := range a {
						if b[k] > -12 {
							worst = max(worst, math.Abs(a[k]-b[k]))
						}
					}
					if worst > moves {
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

// All prefixes of a text go through the model as the text does, once, and the other way round little more often; they
// agree with those read one by one.
func TestNestedPrefixes(t *testing.T) {
	for _, r := range modeltest.All {
		t.Run(r.Name, func(t *testing.T) {
			m := open(t, r, Exact)
			text := questions(t, m, 200)[5]
			var prefixes [][]lm.Token
			for n := range text {
				prefixes = append(prefixes, text[:n+1])
			}
			if n := m.Batch(prefixes); n != len(text) {
				t.Errorf("%d of %d beginnings of a text are read together", n, len(text))
			}
			if n, err := m.Tokens(prefixes); err != nil || n != len(text) {
				t.Errorf("%d tokens are read of a text of %d, %v", n, len(text), err)
			}
			backwards := slices.Clone(prefixes)
			slices.Reverse(backwards)
			if n, err := m.Tokens(backwards); err != nil || n >= len(text)+m.batch {
				t.Errorf("%d tokens are read of a text of %d, %v", n, len(text), err)
			}
			together := make(map[int][]float64)
			read := 0
			if err := m.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
				if read++; i%19 == 0 {
					together[i] = modeltest.LogSoftmax(d.Logits)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			for i, of := range together {
				if err := m.Read(t.Context(), prefixes[i:i+1], func(_ int, d lm.Distribution) error {
					for k, p := range modeltest.LogSoftmax(d.Logits) {
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
						nodes, _ := tree(part)
						tokens += len(nodes)
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
					nodes := make([]node, n)
					for i := range nodes {
						nodes[i] = node{parent: i - 1, depth: i, prefix: -1}
					}
					for b.Loop() {
						if err := m.engine.forward(b.Context(), nodes, n, nil); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		})
	}
}

// A batch that nobody waits for any more ends with the pass that is computed, also where no prefix ends in those to come.
func TestForwardEnds(t *testing.T) {
	m := open(t, modeltest.SmolLM, Exact)
	ctx, cancel := context.WithCancel(t.Context())
	text := make([]lm.Token, 3*m.chunk)
	text[0] = 1
	nodes, stem := tree([][]lm.Token{text[:1], text})
	if err := m.makeRoom(ctx, len(nodes)); err != nil {
		t.Fatal(err)
	}
	err := m.engine.forward(ctx, nodes, stem, func(prefixes []int, _ [][]float32) error {
		if !slices.Equal(prefixes, []int{0}) {
			t.Error("it is read to its end")
		}
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A batch is what the rule for it says, found by comparing each prefix with all before it.
func TestBatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &Model{batch: rapid.IntRange(1, 6).Draw(t, "batch"), chunk: rapid.IntRange(1, 12).Draw(t, "chunk")}
		prefixes := rapid.SliceOfNDistinct(rapid.SliceOfN(rapid.Int32Range(0, 1), 1, 9), 1, 24, func(p []lm.Token) string { return fmt.Sprint(p) }).Draw(t, "prefixes")
		if rapid.Bool().Draw(t, "sorted") {
			slices.SortFunc(prefixes, slices.Compare)
		}
		want := 1
		for ; want < len(prefixes); want++ {
			p, batch := prefixes[want], prefixes[:want+1]
			known, goesOn := 0, false
			for _, before := range prefixes[:want] {
				same := alike(before, p)
				if same > known {
					known, goesOn = same, false
				}
				goesOn = goesOn || same == known && (same == len(before) || same == len(p))
			}
			nodes, stem := tree(batch)
			fits := len(batch) <= m.batch && len(nodes) <= stem+m.chunk
			if m.batch == 1 || known < m.batch || len(nodes) > len(p)+m.chunk {
				goesOn = false
			}
			if !fits && !goesOn {
				break
			}
		}
		if got := m.Batch(prefixes); got != want {
			t.Fatalf("%d of %v are read together, want %d", got, prefixes, want)
		}
	})
}

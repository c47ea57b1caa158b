package lang

import (
	"context"
	"crypto/sha256"
	"math"
	"testing"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/logic"
)

// TestDiagramCache: few large diagrams fill the cache as many small ones do.
func TestDiagramCache(t *testing.T) {
	const n = 1200 // and a threshold of half of them has n²/4 nodes
	fs := make([]*logic.Formula, n)
	for i := range fs {
		fs[i] = logic.Literal(logic.Var(i))
	}
	c := newDiagramCache()
	d, err := c.compile(context.Background(), logic.AtLeast(n/2, fs...))
	if err != nil {
		t.Fatal(err)
	}
	if d.Size() < n*n/5 {
		t.Fatalf("%d nodes", d.Size())
	}
	key := func(i int) [sha256.Size]byte { return sha256.Sum256([]byte{byte(i), byte(i >> 8)}) }
	for i := range 50 {
		c.keep(key(i), d)
		sum := 0
		for _, d := range c.byKey {
			sum += d.Size()
		}
		if sum != c.nodes || sum > maxDiagramNodes || len(c.byKey) != len(c.order) || c.byKey[key(i)] != d {
			t.Fatalf("%d diagrams of %d nodes, counted as %d", len(c.byKey), sum, c.nodes)
		}
	}
	small, err := logic.Compile(context.Background(), fs[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		c.keep(key(i+100), small)
	}
	if len(c.byKey) != maxDiagrams || c.nodes > maxDiagrams {
		t.Errorf("%d diagrams of %d nodes", len(c.byKey), c.nodes)
	}
}

// TestExactByLogit: log odds known within bounds are no exact weights, where their
// probabilities round to the same number.
func TestExactByLogit(t *testing.T) {
	g := &grounded{vars: []variable{{step: &event.Step{}, reading: event.Reading{
		Logit:  calibrate.Interval{Lo: 40, Hi: 60},
		EventP: calibrate.Exact(1),
	}}}}
	if g.exact() {
		t.Error("log odds between 40 and 60 are taken for exact")
	}
	lo, hi := g.weights(-1)[0], g.weights(+1)[0]
	if math.Abs(math.Log(lo.Q)+40) > 1e-9 || math.Abs(math.Log(hi.Q)+60) > 1e-9 {
		t.Errorf("%v, %v", lo, hi)
	}
}

package logic

import (
	"context"
	"fmt"
	"math/big"
	"testing"
	"time"
)

type family struct {
	name  string
	f     *Formula
	count *big.Int
}

func fam(name string, f *Formula, count *big.Int) family { return family{name, f, count} }

func families() []family {
	var fs []family
	add := func(name string, f *Formula, count *big.Int) { fs = append(fs, fam(name, f, count)) }
	for _, n := range []int{50, 200, 1000} {
		f, c := chain(n)
		add(fmt.Sprintf("chain/%d", n), f, c)
		f, c = tree(n)
		add(fmt.Sprintf("tree/%d", n), f, c)
		f, c = treeOr(n)
		add(fmt.Sprintf("tree-of-clauses/%d", n), f, c)
		f, c = choose(n, n/2)
		add(fmt.Sprintf("choose/%d", n), f, c)
		f, c = chooseChain(n, n/4)
		add(fmt.Sprintf("choose-chain/%d", n), f, c)
		f, c = taxonomy(n, 4)
		add(fmt.Sprintf("taxonomy/%d", n), f, c)
	}
	f, c := treeChoose(200, 50)
	add("tree-choose/200", f, c)
	for _, g := range [][2]int{{5, 10}, {5, 200}, {10, 10}, {10, 100}, {14, 14}} {
		f, c := grid(g[0], g[1])
		add(fmt.Sprintf("grid/%dx%d", g[0], g[1]), f, c)
	}
	for k := 4; k <= 10; k++ {
		f, c := order(k)
		add(fmt.Sprintf("order/%d", k), f, c)
	}
	return fs
}

func TestCountsOfFamilies(t *testing.T) {
	for _, f := range families() {
		start := time.Now()
		d, err := Compile(context.Background(), f.f)
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
			continue
		}
		compiled := time.Since(start)
		if got := d.Count(); got.Cmp(f.count) != 0 {
			t.Errorf("%s: %v models, want %v", f.name, got, f.count)
		}
		t.Logf("%-22s %8d nodes, compiled in %v, counted in %v", f.name, d.Size(), compiled.Round(time.Microsecond), (time.Since(start) - compiled).Round(time.Microsecond))
	}
}

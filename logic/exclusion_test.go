package logic

import (
	"context"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// genExclusions draws clauses most of which say that of some literals at most one is true, wide enough
// for residuals that stay whole, with clauses and a threshold across them.
func genExclusions(t *rapid.T) (*Formula, int) {
	n := rapid.IntRange(2, 12).Draw(t, "variables")
	literal := func(label string) *Formula {
		f := lit(rapid.IntRange(0, n-1).Draw(t, label))
		if rapid.IntRange(0, 3).Draw(t, "sign") == 0 {
			return Not(f)
		}
		return f
	}
	var fs []*Formula
	for range rapid.IntRange(1, 3).Draw(t, "sets") {
		var set []*Formula
		for v := range n {
			switch rapid.IntRange(0, 9).Draw(t, "in") {
			case 0:
			case 1:
				set = append(set, Not(lit(v)))
			default:
				set = append(set, lit(v))
			}
		}
		for i, a := range set {
			for _, b := range set[:i] {
				if rapid.IntRange(0, 30).Draw(t, "pair") > 0 {
					fs = append(fs, Not(And(a, b)))
				}
			}
		}
	}
	for range rapid.IntRange(0, 4).Draw(t, "clauses") {
		fs = append(fs, Or(literal("a"), literal("b"), literal("c")))
	}
	if rapid.Bool().Draw(t, "threshold") {
		set := make([]*Formula, n)
		for v := range set {
			set[v] = lit(v)
		}
		fs = append(fs, AtMost(rapid.IntRange(0, n).Draw(t, "k"), set...))
	}
	return And(fs...), n
}

// What is made one factor of many clauses has the models of the clauses, whichever way it is compiled.
func TestExclusions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, n := genExclusions(t)
		vars := f.Vars()
		models := int64(0)
		for bits := range uint(1) << n {
			if bits&^mask(vars) == 0 && holds(f, bits) {
				models++
			}
		}
		for _, way := range []way{inTurns, alongTree, byResiduals, byBranching} {
			d, err := Compile(context.Background(), f, func(c *compiler) { c.way = way })
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Count(); got.Cmp(big.NewInt(models)) != 0 {
				t.Fatalf("way %d: %v models, want %d: %s", way, got, models, f.Format(nil, ASCII))
			}
		}
	})
}

func mask(vars []Var) uint {
	m := uint(0)
	for _, v := range vars {
		m |= 1 << v
	}
	return m
}

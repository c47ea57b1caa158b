package logic

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// asks is a context that ends when it has been asked so many times.
type asks struct {
	context.Context
	left int
}

func (a *asks) Err() error {
	if a.left--; a.left < 0 {
		return context.Canceled
	}
	return nil
}

// Wherever a compilation is stopped, it tells so, and whatever it is given, a diagram that it returns is
// the formula's.
func TestStoppedAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := genFormula(t, 6, 4)
		way := way(rapid.IntRange(0, 3).Draw(t, "way"))
		set := func(c *compiler) { c.way = way }
		want, err := Compile(context.Background(), f, set)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; ; n++ {
			ctx := &asks{context.Background(), n}
			d, err := Compile(ctx, f, set)
			if err == nil {
				if d.Count().Cmp(want.Count()) != 0 {
					t.Fatalf("asked %d times: %v models, want %v", n, d.Count(), want.Count())
				}
				if ctx.left < 0 {
					t.Fatalf("a diagram, though the context had ended when it was asked for the %dth time", n+1)
				}
				break
			}
			if d != nil || !errors.Is(err, context.Canceled) {
				t.Fatalf("asked %d times: %v, %v", n, d, err)
			}
		}
		for limit := 1; ; limit++ {
			d, err := Compile(context.Background(), f, set, WithNodeLimit(limit))
			if err == nil {
				if d.Count().Cmp(want.Count()) != 0 {
					t.Fatalf("limit %d: %v models, want %v", limit, d.Count(), want.Count())
				}
				break
			}
			if d != nil || !errors.Is(err, ErrTooLarge) {
				t.Fatalf("limit %d: %v, %v", limit, d, err)
			}
		}
	})
}

// The same of the store, which looks at its memory and at the context only now and then.
func TestStoreStoppedAnywhere(t *testing.T) {
	wide, _ := grid(7, 7)
	total, _ := order(6)
	chosen, _ := chooseChain(24, 8)
	fs := map[string]*Formula{"random 3-CNF": random3CNF(50), "multiplication": product(5), "grid": wide, "order": total, "choose": And(chosen, Not(And(lit(0), lit(5))))}
	early := 0
	for name, f := range fs {
		for _, way := range []way{inTurns, byResiduals, byBranching} {
			var c *compiler
			set := func(of *compiler) { c, of.way = of, way }
			want, err := Compile(context.Background(), f, set)
			if err != nil {
				t.Fatal(err)
			}
			most := c.mod.s.bytes()
			for i := range 80 {
				d, err := Compile(context.Background(), f, set, func(c *compiler) { c.quota = 1 + most*i/80 })
				switch {
				case err == nil:
					if d.Count().Cmp(want.Count()) != 0 {
						t.Fatalf("%s, way %d, %d bytes: %v models, want %v", name, way, c.quota, d.Count(), want.Count())
					}
				case d != nil || !errors.Is(err, ErrTooLarge):
					t.Fatalf("%s, way %d, %d bytes: %v, %v", name, way, c.quota, d, err)
				default:
					early++
				}
			}
		}
	}
	if early == 0 {
		t.Error("none was stopped")
	}
	t.Log(early)
}

// A tree of half a million variables in a row is as deep; compiling along it takes no stack for that. Of
// each three variables in a row the first implies one of the others, said by a formula inside a factor. But
// for none at all, a model is a row of false and one that begins with true and has no two false in a row:
// Fibonacci's number n+3, less 1.
func TestDeepTree(t *testing.T) {
	const n = 500_000
	var fs []*Formula
	for i := range n - 2 {
		fs = append(fs, Implies(lit(i), Or(lit(i+1), And(lit(i+2), Not(lit(i+1))))))
	}
	d := compile(t, And(fs...), func(c *compiler) { c.way = byResiduals })
	want := n*math.Ln2 - ((n+3)*math.Log(math.Phi) - math.Log(5)/2)
	if got := d.Loss(slices.Repeat([]Weight{{0.5, 0.5}}, n)); !near(got, want, 1e-9) {
		t.Errorf("loss %v, want %v", got, want)
	}
}

package logic

import (
	"context"
	"errors"
	"math"
	"math/big"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawn is a formula with weights, its diagram, and its satisfying interpretations by enumeration.
type drawn struct {
	n      int
	f      *Formula
	w      []Weight
	d      *Diagram
	models []uint
}

func draw(t *rapid.T, most int) drawn {
	x := drawn{n: rapid.IntRange(1, most).Draw(t, "n")}
	x.f = genAny(t, x.n)
	x.w = genWeights(t, x.n)
	x.d = compile(t, x.f, func(c *compiler) { c.way = way(rapid.IntRange(0, 2).Draw(t, "way")) })
	// Enumerate over vars(F) only: the others stay false.
	vars := x.f.Vars()
	for i := uint(0); i < 1<<len(vars); i++ {
		bits := uint(0)
		for j, v := range vars {
			bits |= i >> j & 1 << v
		}
		if holds(x.f, bits) {
			x.models = append(x.models, bits)
		}
	}
	return x
}

// weightOf is S(I; θ) over vars(F).
func (x drawn) weightOf(bits uint) float64 {
	p := 1.0
	for _, v := range x.f.Vars() {
		if bits>>uint(v)&1 == 1 {
			p *= x.w[v].P
		} else {
			p *= x.w[v].Q
		}
	}
	return p
}

func (x drawn) wmc() float64 {
	sum := 0.0
	for _, m := range x.models {
		sum += x.weightOf(m)
	}
	return sum
}

func near(a, b, tolerance float64) bool {
	return a == b || math.Abs(a-b) <= tolerance*max(1, math.Abs(a), math.Abs(b))
}

func TestCountAgainstEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := draw(t, 16)
		n := len(x.f.Vars())
		if got := x.d.Count(); got.Cmp(big.NewInt(int64(len(x.models)))) != 0 {
			t.Fatalf("%v: %v models, want %d", x.f.Format(nil, ASCII), got, len(x.models))
		}
		want := float64(len(x.models)) / math.Exp2(float64(n))
		if x.d.WMC0() != want {
			t.Fatalf("WMC0 = %v, want %v", x.d.WMC0(), want)
		}
		if got := x.d.Informativeness(); !near(got, -math.Log2(want), 1e-14) || math.IsNaN(got) {
			t.Fatalf("I = %v, want %v", got, -math.Log2(want))
		}
		if x.d.Satisfiable() != (len(x.models) > 0) || x.d.Valid() != (len(x.models) == 1<<n) {
			t.Fatalf("satisfiable %v, valid %v of %d models", x.d.Satisfiable(), x.d.Valid(), len(x.models))
		}
	})
}

// big counting is held against the float64 path, which is exact for few variables.
func TestBigCountAgainstFloat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := draw(t, 12)
		// 60 more variables, each certain to be mentioned and to double the count.
		f := And(x.f)
		for i := range 60 {
			f = And(f, Or(lit(100+i), Not(lit(100+i))))
		}
		got := compile(t, f).Count()
		want := new(big.Int).Lsh(big.NewInt(int64(len(x.models))), 60)
		if got.Cmp(want) != 0 {
			t.Fatalf("%v models, want %v", got, want)
		}
	})
}

func TestGradientAgainstDefinitionAndDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := draw(t, 9)
		dst := make([]float64, x.n)
		logs := make([]float64, x.n)
		p := x.d.Gradient(x.w, dst)
		if !near(p, x.wmc(), 1e-12) {
			t.Fatalf("Gradient returns WMC %v, want %v", p, x.wmc())
		}
		if got := x.d.LogGradient(x.w, logs); p > 1e-290 && !near(got, math.Log(p), 1e-12) {
			t.Fatalf("LogGradient returns %v, want %v", got, math.Log(p))
		}
		vars := x.f.Vars()
		for v := range x.n {
			if !slices.Contains(vars, Var(v)) {
				if dst[v] != 0 || logs[v] != 0 {
					t.Fatalf("derivatives %v, %v for a variable that does not occur", dst[v], logs[v])
				}
				continue
			}
			at := func(p float64) float64 {
				w := slices.Clone(x.w)
				w[v] = WeightFromProbability(p)
				return drawn{x.n, x.f, w, x.d, x.models}.wmc()
			}
			want := at(1) - at(0) // WMC(F|v) − WMC(F|¬v)
			if !near(dst[v], want, 1e-12) {
				t.Fatalf("∂WMC/∂p%d = %v, want %v", v, dst[v], want)
			}
			// WMC is linear in each probability, so differences of any step agree.
			q := min(max(x.w[v].P, 0.25), 0.75)
			if d := (at(q+0.125) - at(q-0.125)) / 0.25; !near(dst[v], d, 1e-11) {
				t.Fatalf("∂WMC/∂p%d = %v, by differences %v", v, dst[v], d)
			}
			if p > 1e-6 && !near(logs[v], want/p, 1e-8) {
				t.Fatalf("∂log WMC/∂p%d = %v, want %v", v, logs[v], want/p)
			}
		}
	})
}

// The scaled numbers give what float64 gives where float64 suffices.
func TestScaledAgainstFloat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := draw(t, 9)
		val := x.d.forwardScaled(x.w)
		if got := val[x.d.root].over(scaled{1, 0}); !near(got, x.wmc(), 1e-12) {
			t.Fatalf("%v, want %v", got, x.wmc())
		}
		dst := make([]float64, x.n)
		x.d.Gradient(x.w, dst)
		adj := x.d.backwardScaled(val)
		for i, v := range x.d.leaf {
			if got := adj[1+i].over(scaled{1, 0}); !near(got, dst[v], 1e-12) {
				t.Fatalf("∂p%d = %v, want %v", v, got, dst[v])
			}
		}
	})
}

func TestMarginalsAgainstEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := draw(t, 10)
		dst := make([]float64, x.n)
		total := x.wmc()
		if total < 1e-290 && total > 0 || total == 0 && slices.ContainsFunc(x.w, func(w Weight) bool { return w.P > 0 && w.P < 1e-30 }) {
			return // float64 sums have lost digits here, the marginals have not
		}
		if ok := x.d.Marginals(x.w, dst); ok != (total > 0) {
			t.Fatalf("Marginals says %v for WMC %v", ok, total)
		}
		if total < 1e-9 {
			return
		}
		for _, v := range x.f.Vars() {
			sum := 0.0
			for _, m := range x.models {
				if m>>uint(v)&1 == 1 {
					sum += x.weightOf(m)
				}
			}
			if !near(dst[v], sum/total, 1e-9) {
				t.Fatalf("P(x%d | %v) = %v, want %v", v, x.f.Format(nil, ASCII), dst[v], sum/total)
			}
		}
	})
}

func TestLossNextToOneAndTwoThousandVariables(t *testing.T) {
	// Next to 1: F = ¬(x0 ∧ x1) with tiny probabilities; the loss is their product.
	d := compile(t, Not(And(lit(0), lit(1))))
	w := []Weight{WeightFromProbability(1e-12), WeightFromProbability(1e-13)}
	if got := d.Loss(w); !near(got/1e-25, 1, 1e-12) {
		t.Errorf("loss %v, want 1e-25", got)
	}
	// Far from 1: a conjunction of 2,000 unlikely events.
	const n = 2000
	var fs []*Formula
	w = nil
	want := 0.0
	for i := range n {
		fs = append(fs, lit(i))
		l := -5 - float64(i%40)
		w = append(w, WeightFromLog(l))
		want -= l
	}
	d = compile(t, And(fs...))
	s, err := Score(d, w)
	if err != nil {
		t.Fatal(err)
	}
	if !near(s.Loss, want, 1e-12) || s.Info != n || s.WMC0 != 0 || s.CAcc != Inconsistent {
		t.Errorf("loss %v, I %v, WMC0 %v, %v; want %v, 2000, 0, inconsistent", s.Loss, s.Info, s.WMC0, s.CAcc, want)
	}
	dst := make([]float64, n)
	if got := d.LogGradient(w, dst); !near(got, -want, 1e-12) {
		t.Errorf("LogGradient returns %v", got)
	}
	for i := range dst { // ∂Σ log p = 1/p
		if !near(dst[i]*w[i].P, 1, 1e-12) {
			t.Fatalf("∂log WMC/∂p%d = %v, want %v", i, dst[i], 1/w[i].P)
		}
	}
	marginals := make([]float64, n)
	if !d.Marginals(w, marginals) || slices.Min(marginals) < 1-1e-12 {
		t.Errorf("marginals of a conjunction are not 1")
	}
	// Every event a little likelier than ½: better than chance, though both are 0 in float64.
	for i := range w {
		w[i] = WeightFromProbability(0.5000001)
	}
	if s, _ = Score(d, w); s.CAcc != Consistent || s.WMC > 1e-300 {
		t.Errorf("WMC %v, %v; want 0 and consistent", s.WMC, s.CAcc)
	}
}

func TestCertainties(t *testing.T) {
	d := compile(t, And(lit(0), lit(1)))
	dst := make([]float64, 2)
	w := []Weight{{0, 1}, {1, 0}}
	if p := d.Gradient(w, dst); p != 0 || dst[0] != 1 || dst[1] != 0 {
		t.Errorf("WMC %v, gradient %v; want 0, [1 0]", p, dst)
	}
	if l := d.LogGradient(w, dst); !math.IsInf(l, -1) || !math.IsInf(dst[0], 1) || dst[1] != 0 {
		t.Errorf("log WMC %v, gradient %v; want -Inf, [+Inf 0]", l, dst)
	}
	s, err := Score(d, w)
	if err != nil || !math.IsInf(s.Loss, 1) || s.CAcc != Inconsistent {
		t.Errorf("%+v, %v", s, err)
	}
	for _, w := range [][]Weight{{{0.5, 0.5}}, {{0.5, 0.5}, {math.NaN(), 0}}, {{0.5, 0.5}, {1.5, -0.5}}, {{0.5, 0.5}, {0.5, 0.4}}} {
		if _, err := Score(d, w); err == nil {
			t.Errorf("weights %v are accepted", w)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	f, _ := grid(5, 10)
	d := compile(t, f)
	w := make([]Weight, 50)
	for i := range w {
		w[i] = WeightFromProbability(float64(i+1) / 52)
	}
	want := d.WMC(w)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			dst := make([]float64, 50)
			for range 100 {
				if p := d.WMC(w); p != want {
					t.Errorf("WMC %v, want %v", p, want)
				}
				if p := d.Gradient(w, dst); p != want {
					t.Errorf("WMC %v, want %v", p, want)
				}
				d.LogGradient(w, dst)
				d.Count()
			}
		})
	}
	wg.Wait()
}

func TestTooLargeAndCancelled(t *testing.T) {
	f, _ := grid(31, 31)
	_, err := Compile(context.Background(), f, WithNodeLimit(20_000))
	if !errors.Is(err, ErrTooLarge) {
		t.Fatalf("error %v, want ErrTooLarge", err)
	}
	t.Log(err)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err = Compile(ctx, f)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v, want the context's", err)
	}
	if took := time.Since(start) - 100*time.Millisecond; took > 200*time.Millisecond {
		t.Errorf("cancelled %v late", took)
	} else {
		t.Logf("stopped %v after the context's end", took)
	}
}

// Formulas nested a hundred thousand deep are built, read, written and compiled.
func TestDeepNesting(t *testing.T) {
	const depth = 100_000
	build := map[string]func(*Formula, int) *Formula{
		"and":           func(f *Formula, i int) *Formula { return And(f, lit(i)) },
		"or left":       func(f *Formula, i int) *Formula { return Or(lit(i), f) },
		"implies right": func(f *Formula, i int) *Formula { return Implies(lit(i), f) },
		"implies left":  func(f *Formula, i int) *Formula { return Implies(f, lit(i)) },
		"not":           func(f *Formula, i int) *Formula { return Not(f) },
		"iff":           func(f *Formula, i int) *Formula { return Iff(f, lit(i)) },
		"xor shared":    func(f *Formula, i int) *Formula { return Xor(f, lit(i%7)) },
		"alternating": func(f *Formula, i int) *Formula {
			if i%2 == 0 {
				return And(lit(i), f)
			}
			return Or(lit(i), f)
		},
		"alternating shared": func(f *Formula, i int) *Formula {
			if i%2 == 0 {
				return And(lit(i%20), f)
			}
			return Or(lit(i%20+1), f)
		},
		"threshold": func(f *Formula, i int) *Formula { return AtLeast(2, f, lit(i), lit(i+1)) },
		"doubled":   func(f *Formula, i int) *Formula { return Iff(f, f) },
		"shared":    func(f *Formula, i int) *Formula { return Or(And(f, lit(i%5)), And(Not(f), lit((i+1)%5))) },
	}
	for name, step := range build {
		t.Run(name, func(t *testing.T) {
			depth := depth
			switch name {
			case "threshold", "doubled", "shared", "alternating shared", "or left", "implies left": // slower, or like another
				depth /= 5
			}
			f := lit(0)
			for i := 1; i < depth; i++ {
				f = step(f, i)
			}
			f.Vars()
			f.Eval(func(v Var) bool { return v%3 == 0 })
			_ = f.Format(nil, Unicode)
			d, err := Compile(context.Background(), f, WithNodeLimit(300_000))
			switch {
			case errors.Is(err, ErrTooLarge):
				t.Logf("%v", err)
			case err != nil:
				t.Fatal(err)
			default:
				if i := d.Informativeness(); math.IsNaN(i) {
					t.Error("informativeness is no number")
				}
			}
		})
	}
}

package gguf

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
)

// moves is how far readings may be from each other that add up in another order.
const moves = 0.0005

// gelu has the engine compute GELU(x)·y, in float32 or in its own way.
func gelu(t *testing.T, m *Model, exact bool, x, y []float32) []float32 {
	t.Helper()
	ctx := m.engine.model.Backend().NewContext()
	defer ctx.Close()
	if exact {
		defer exactGELU()()
	}
	a, b := ctx.Input().FromFloats(x, len(x)/2, 2), ctx.Input().FromFloats(y, len(y)/2, 2)
	z := a.GELU(ctx, b)
	ctx.Forward(z).Compute(z)
	return z.Floats()
}

// Gemma's activations are those of their definition to float32's last digits, on any number of threads, and where they
// are not asked for the engine's stay what they are.
func TestGELU(t *testing.T) {
	for _, threads := range []int{1, 2, 3} {
		m := open(t, modeltest.SmolLM, Exact)
		m.options.Threads = threads
		if err := m.Read(t.Context(), [][]lm.Token{{1}}, func(int, lm.Distribution) error { return nil }); err != nil {
			t.Fatal(err) // starts the engine
		}
		x := []float32{0, 1e-30, -1e-30, 1e-6, 0.5, -0.5, 1, -1, -3, -5.5, -9.99, -10.01, 10.01, 12, -12, 87, -87, 1e10, -1e10, 3e38}
		y := make([]float32, len(x))
		for i := range y {
			y[i] = 1
		}
		random := rand.New(rand.NewPCG(1, uint64(threads)))
		for range 2000 {
			x, y = append(x, float32(random.NormFloat64()*4)), append(y, float32(random.NormFloat64()))
		}
		got, table := gelu(t, m, true, x, y), gelu(t, m, false, x, y)
		worst := 0.0
		for i := range x {
			v := float64(x[i])
			want := v / (1 + math.Exp(-2*math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v))) * float64(y[i])
			// Relative to what goes in: of −5 there are some millionths left, which nothing depends on.
			size := math.Abs(float64(x[i]) * float64(y[i]))
			if e := math.Abs(float64(got[i]) - want); e > 4e-7*size {
				t.Errorf("%d threads: GELU(%g)·%g = %g, not %g", threads, x[i], y[i], got[i], want)
			}
			worst = max(worst, math.Abs(float64(table[i])-want))
		}
		if worst < 1e-4 {
			t.Errorf("the engine's own is within %g: exactGELU is needed no more", worst)
		}
		nan := float32(math.NaN())
		if z := gelu(t, m, true, []float32{nan, 1}, []float32{1, nan}); z[0] == z[0] || z[1] == z[1] {
			t.Errorf("what is no number becomes %v", z)
		}
	}
}

package gguf

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/ollama/ollama/ml"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
)

// product has the engine multiply matrices, and returns its way to do it again: rows of m and of n, each of k numbers.
func product(t testing.TB, threads int) func(a, b []float32, m, n, k int) (again func() []float32, end func()) {
	t.Helper()
	model := open(t, modeltest.SmolLM, Exact)
	model.options.Threads = threads
	if err := model.Read(t.Context(), [][]lm.Token{{1}}, func(int, lm.Distribution) error { return nil }); err != nil {
		t.Fatal(err) // starts the engine
	}
	return func(a, b []float32, m, n, k int) (func() []float32, func()) {
		ctx := model.engine.model.Backend().NewContext()
		x := ctx.Input().FromFloats(a, k, m)
		y := ctx.Input().FromFloats(b, k, n)
		var z ml.Tensor = x.Mulmat(ctx, y)
		ctx.Forward(z)
		return func() []float32 {
			ctx.Compute(z)
			return z.Floats()
		}, ctx.Close
	}
}

func numbers(random *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(random.NormFloat64())
	}
	return out
}

// The engine's products are those of their definition, for shapes on and off the borders of tiles, panels and what
// is given to other kernels.
func TestProduct(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, threads := range []int{1, 2, 3} {
		multiply := product(t, threads)
		for _, shape := range [][3]int{
			{1, 1, 8}, {16, 4, 8}, {15, 4, 8}, {17, 5, 16}, {16, 3, 8}, {33, 6, 24}, {48, 7, 320}, {31, 13, 328}, {64, 11, 328 + 312},
			{100, 12, 12}, {40, 251, 64}, {40, 252, 64}, {40, 259, 64}, {20, 505, 40}, {257, 9, 1000}, {576, 33, 1536}, {530, 300, 648},
			{512, 12, 8}, {513, 13, 640}, {600, 23, 1000}, {777, 258, 328}, {528, 505, 48},
		} {
			m, n, k := shape[0], shape[1], shape[2]
			a, b := numbers(random, m*k), numbers(random, n*k)
			again, end := multiply(a, b, m, n, k)
			got := again()
			if len(got) != m*n {
				t.Fatalf("%v: %d numbers", shape, len(got))
			}
			for j := range n {
				for i := range m {
					want, size := 0.0, 0.0
					for l := range k {
						x := float64(a[i*k+l]) * float64(b[j*k+l])
						want += x
						size += math.Abs(x)
					}
					if math.Abs(float64(got[j*m+i])-want) > 1e-6*size {
						t.Fatalf("%v on %d threads: row %d, column %d is %g, want %g", shape, threads, i, j, got[j*m+i], want)
					}
				}
			}
			end()
		}
	}
}

// BenchmarkProduct multiplies matrices of the shapes of both models' layers and output heads with as many tokens.
func BenchmarkProduct(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	multiply := product(b, runtime.NumCPU())
	for _, shape := range [][3]int{{576, 100, 576}, {1536, 100, 576}, {576, 100, 1536}, {2048, 100, 640}, {640, 100, 2048}, {49152, 64, 576}, {262144, 64, 640}} {
		m, n, k := shape[0], shape[1], shape[2]
		b.Run(fmt.Sprintf("%dx%dx%d", m, n, k), func(b *testing.B) {
			again, end := multiply(numbers(random, m*k), numbers(random, n*k), m, n, k)
			defer end()
			for b.Loop() {
				again()
			}
			b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

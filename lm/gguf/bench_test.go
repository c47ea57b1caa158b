package gguf

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
)

// BenchmarkRead reads prefixes of six tokens, all different, and reports
// readings per second by the number of prefixes in a batch.
func BenchmarkRead(b *testing.B) {
	for _, r := range modeltest.All {
		for _, p := range []Precision{Exact, Native} {
			b.Run(fmt.Sprintf("%s/%s", r.Name, p), func(b *testing.B) {
				m := open(b, r, p)
				m.options.Threads = runtime.NumCPU()
				if err := m.Read(b.Context(), [][]lm.Token{{1}}, func(int, lm.Distribution) error { return nil }); err != nil {
					b.Fatal(err) // loads the weights
				}
				for _, size := range []int{1, 8, 32, 64} {
					b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
						m.batch = size
						prefix := modeltest.Prefixes(b, m)[0][:6]
						batch := make([][]lm.Token, size)
						for i := range batch {
							batch[i] = append([]lm.Token{}, prefix...)
							batch[i][len(prefix)/2] = lm.Token(1000 + i)
						}
						b.ReportMetric(0, "ns/op")
						for b.Loop() {
							if err := m.Read(b.Context(), batch, func(int, lm.Distribution) error { return nil }); err != nil {
								b.Fatal(err)
							}
						}
						b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "readings/s")
					})
				}
			})
		}
	}
}

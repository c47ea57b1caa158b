package logic

import (
	"context"
	"testing"
)

func benchWeights(n int) []Weight {
	w := make([]Weight, n)
	for i := range w {
		w[i] = WeightFromProbability(float64(i%97+1) / 98)
	}
	return w
}

// BenchmarkProbCT evaluates the five constraints of Table 1, compiled before.
func BenchmarkProbCT(b *testing.B) {
	w := benchWeights(3)
	dst := make([]float64, 3)
	for _, c := range probCT() {
		d := compile(b, c.f)
		d.Count()
		b.Run(c.name+"/WMC", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.WMC(w)
			}
		})
		b.Run(c.name+"/gradient", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.Gradient(w, dst)
			}
		})
		b.Run(c.name+"/score", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Score(d, w); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/compile", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				compile(b, c.f)
			}
		})
	}
}

// BenchmarkCompileAndCount compiles a formula and counts its models.
func BenchmarkCompileAndCount(b *testing.B) {
	for _, f := range families() {
		b.Run(f.name, func(b *testing.B) {
			size := 0
			for b.Loop() {
				d, err := Compile(context.Background(), f.f)
				if err != nil {
					b.Fatal(err)
				}
				d.Count()
				size = d.Size()
			}
			b.ReportMetric(float64(size), "nodes")
		})
	}
}

// BenchmarkEvaluate evaluates larger diagrams.
func BenchmarkEvaluate(b *testing.B) {
	for _, f := range families() {
		switch f.name {
		case "chain/1000", "taxonomy/1000", "choose/200", "grid/10x10":
		default:
			continue
		}
		d := compile(b, f.f)
		w := benchWeights(1000)
		dst := make([]float64, 1000)
		b.Run(f.name+"/WMC", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.WMC(w)
			}
		})
		b.Run(f.name+"/gradient", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.Gradient(w, dst)
			}
		})
		b.Run(f.name+"/log-gradient", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.LogGradient(w, dst)
			}
		})
	}
}

func BenchmarkLadder(b *testing.B) {
	w := benchWeights(1000)
	for b.Loop() {
		if _, err := Ladder(context.Background(), w); err != nil {
			b.Fatal(err)
		}
	}
}

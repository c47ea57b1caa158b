package correlation

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSpearman(t *testing.T) {
	// Without ties it is 1 − 6Σd²/(n(n²−1)); and of four ranks only a few values are possible, of which
	// 0.97 is none.
	for _, p := range permutations(4) {
		var x, y []float64
		d := 0.0
		for i, k := range p {
			x, y = append(x, float64(i)*10), append(y, math.Exp(float64(k)))
			d += float64((i - k) * (i - k))
		}
		if got, want := Spearman(x, y), 1-6*d/60; math.Abs(got-want) > 1e-12 || math.Abs(got-0.97) < 0.02 {
			t.Errorf("%v: %g, want %g", p, got, want)
		}
	}
	// With ties, by SciPy's example: spearmanr([1,2,3,4,5], [5,6,7,8,7]) is 0.82078268166812329.
	if got := Spearman([]float64{1, 2, 3, 4, 5}, []float64{5, 6, 7, 8, 7}); math.Abs(got-0.8207826816681233) > 1e-15 {
		t.Errorf("%.17g", got)
	}
	for _, bad := range [][2][]float64{{nil, nil}, {{1}, {1}}, {{1, 1}, {1, 2}}, {{1, math.NaN()}, {1, 2}}, {{1, 2}, {1}}} {
		if got := Spearman(bad[0], bad[1]); !math.IsNaN(got) {
			t.Errorf("%v: %g", bad, got)
		}
	}
}

func permutations(n int) (out [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, p := range permutations(n - 1) {
		for i := 0; i <= len(p); i++ {
			out = append(out, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return out
}

func TestPearson(t *testing.T) {
	// By SciPy: pearsonr([1, 2, 3, 4, 5, 6, 7], [10, 9, 2.5, 6, 4, 3, 2]) is −0.8285038835884279, an example of
	// its documentation.
	if got := Pearson([]float64{1, 2, 3, 4, 5, 6, 7}, []float64{10, 9, 2.5, 6, 4, 3, 2}); math.Abs(got+0.8285038835884279) > 1e-15 {
		t.Errorf("%.17g", got)
	}
	for _, bad := range [][2][]float64{{nil, nil}, {{1}, {1}}, {{1, 1}, {1, 2}}, {{1, math.NaN()}, {1, 2}}, {{1, 2}, {1, math.Inf(1)}}, {{1, 2}, {1}}, {{0.1, 0.1, 0.1}, {1, 2, 3}}} {
		if got := Pearson(bad[0], bad[1]); !math.IsNaN(got) {
			t.Errorf("%v: %g", bad, got)
		}
	}
}

// TestProperties compares with the coefficient by its definition in terms of all pairs of pairs, Σᵢⱼ
// (xᵢ − xⱼ)(yᵢ − yⱼ) over the root of the same for x and for y, which needs no mean.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "n")
		number := rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(-40, 40).Draw(t, "v")) / 4 })
		x := rapid.SliceOfN(number, n, n).Draw(t, "x")
		y := rapid.SliceOfN(number, n, n).Draw(t, "y")
		var ab, aa, bb float64
		for i := range x {
			for j := range x {
				dx, dy := x[i]-x[j], y[i]-y[j]
				ab, aa, bb = ab+dx*dy, aa+dx*dx, bb+dy*dy
			}
		}
		want := ab / math.Sqrt(aa*bb)
		got := Pearson(x, y)
		if math.IsNaN(want) != math.IsNaN(got) || math.Abs(got-want) > 1e-12 {
			t.Fatalf("%g, want %g", got, want)
		}
		huge := slices.Clone(x)
		for i := range huge {
			huge[i] *= 1e300
		}
		if h := Pearson(huge, y); !math.IsNaN(got) && math.Abs(h-got) > 1e-12 {
			t.Fatalf("scaled by 10³⁰⁰: %g, want %g", h, got)
		}
		// A rising map does not change ranks.
		cubes := slices.Clone(x)
		for i, v := range x {
			cubes[i] = v * v * v
		}
		if a, b := Spearman(x, y), Spearman(cubes, y); !math.IsNaN(a) && math.Abs(a-b) > 1e-12 {
			t.Fatalf("of cubes %g, want %g", b, a)
		}
	})
}

package plots

import (
	"bytes"
	"flag"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden images in testdata")

// golden has the figures that are compared with the images in testdata.
var golden = map[string]func() (*Figure, error){
	"interpretations": func() (*Figure, error) {
		return NewInterpretations(Interpretations{
			Formula: "dog → mammal",
			Events:  []string{"dog", "mammal"},
			Rows: []Interpretation{
				{[]bool{true, true}, 0.013, true},
				{[]bool{true, false}, 0.846, false},
				{[]bool{false, true}, 0.002, true},
				{[]bool{false, false}, 0.139, true},
			},
		})
	},
	"interpretations-vectors": func() (*Figure, error) {
		t := Interpretations{
			Formula: "atleast(2, “A Golden Retriever is a type of▸ dog”, “Every dog is a▸ mammal”, “A Golden Retriever is a▸ mammal”)",
			Events:  []string{"A Golden Retriever is a type of▸ dog", "Every dog is a▸ mammal", "A Golden Retriever is a▸ mammal"},
		}
		p := []float64{0.00003, 0.06, 0.1, 0.29997, 0.4, 0.12, 0.02, 0}
		for i := range 8 {
			truth := []bool{i&4 == 0, i&2 == 0, i&1 == 0}
			n := 0
			for _, v := range truth {
				if v {
					n++
				}
			}
			t.Rows = append(t.Rows, Interpretation{truth, p[i], n >= 2})
		}
		return NewInterpretations(t)
	},
	"ladder": func() (*Figure, error) {
		return NewLadder("“The capital of France is Paris.”", ladderOf(0.02, 0.3, 0.11, 0.6, 0.93, 0.4, 0.85))
	},
	"ladder-plain": func() (*Figure, error) {
		return NewLadder("A text the model knows by heart", ladderOf(0.9, 0.8, 0.95, 0.99))
	},
	"ladder-one": func() (*Figure, error) { return NewLadder("One event", ladderOf(1e-7)) },
	"ladder-zero": func() (*Figure, error) {
		return NewLadder("Two impossible events among forty", append(ladderLogs(38, 0.3), math.Inf(-1), math.Inf(-1)))
	},
	"ladder-long": func() (*Figure, error) {
		return NewLadder("A text of 2,000 tokens", ladderLogs(2000, 0.2))
	},
	"calibration": func() (*Figure, error) {
		return NewCalibration(Calibration{
			Title: "A Golden Retriever is a▸ …", C: 4.599593, Nucleus: 461,
			Tokens: []CalibratedToken{
				{"dog", 0.0576}, {"mammal", 0.000153}, {"cat", 0.00315}, {"reptile", 2.5e-6}, {"breed", 0.0965}, {"large", 0.0625},
			},
		})
	},
	"calibration-peaked": func() (*Figure, error) {
		return NewCalibration(Calibration{
			Title: "The capital of France is▸ …", C: 0.02,
			Tokens: []CalibratedToken{{"Paris", 0.998}, {"never seen", 0}, {"London", 1e-9}},
		})
	},
	"histogram": func() (*Figure, error) {
		rng := rand.New(rand.NewPCG(1, 2))
		var rho []float64
		for range 400 {
			rho = append(rho, math.Min(1, 0.35+0.7*rng.NormFloat64()))
		}
		return NewHistogram("Gemma-3-270M, forward implication", rho)
	},
	"histogram-wide": func() (*Figure, error) {
		return NewHistogram("A long tail", []float64{-37.5, -3, -2.5, 0, 0, 0.2, 0.4, 0.9, 1, 1, 1})
	},
	"histogram-one": func() (*Figure, error) { return NewHistogram("One score", []float64{0.75}) },
	"events": func() (*Figure, error) {
		return NewEvents("dog → mammal", []Event{
			{"dog", Exactly(0.0576), Exactly(0.859), Exactly(-0.985)},
			{"mammal", Exactly(0.000153), Exactly(0.015), Exactly(0.859)},
		})
	},
	"events-bounds": func() (*Figure, error) {
		return NewEvents("(“A Golden Retriever is a type of▸ dog” ∧ “Every dog is a▸ mammal”) → “A Golden Retriever is a type of▸ mammal”, from the 20 most probable tokens of a server", []Event{
			{"A Golden Retriever is a type of▸ dog", Range{0.4211, 0.42112}, Range{0.91, 0.97}, Range{-0.6, -0.2}},
			{"Every dog is a▸ mammal", Range{0, 0.0031}, Range{0, 0.14}, Range{-0.95, 0}},
			{"A Golden Retriever is a type of▸ mammal", Exactly(0), Range{0, 1}, Range{-0.1, 0.3}},
			{"金毛寻回犬是一种▸ 狗", Exactly(1), Exactly(1), Exactly(0)},
		})
	},
}

// ladderOf returns ln P(F≥k) of independent events by the textbook recurrence.
func ladderOf(p ...float64) []float64 {
	exactly := []float64{1}
	for _, q := range p {
		next := make([]float64, len(exactly)+1)
		for j, e := range exactly {
			next[j] += e * (1 - q)
			next[j+1] += e * q
		}
		exactly = next
	}
	ladder := make([]float64, len(p))
	sum := 0.0
	for k := len(p); k >= 1; k-- {
		sum += exactly[k]
		ladder[k-1] = math.Log(sum)
	}
	return ladder
}

// ladderLogs is a smooth ladder down to ln q·n.
func ladderLogs(n int, q float64) []float64 {
	l := make([]float64, n)
	for i := range l {
		f := float64(i+1) / float64(n)
		l[i] = float64(n) * math.Log(q) * f * f * f
	}
	return l
}

func TestGolden(t *testing.T) {
	for name, figure := range golden {
		t.Run(name, func(t *testing.T) {
			f, err := figure()
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.PNG()
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".png")
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v (run go test ./plots -update to write it, and look at it)", err)
			}
			if n := different(t, got, want); n > 0.0005 {
				now := filepath.Join(t.TempDir(), name+".png")
				if dir := os.Getenv("MODELLOG_PLOTS"); dir != "" {
					now = filepath.Join(dir, name+".png")
				}
				os.WriteFile(now, got, 0o644)
				t.Errorf("%.2f %% of the pixels differ from %s; set MODELLOG_PLOTS to a folder to have the new one written there", 100*n, path)
			}
			again, err := f.PNG()
			if err != nil || !bytes.Equal(got, again) {
				t.Errorf("drawn a second time, the figure is another (%v)", err)
			}
		})
	}
}

// different returns the share of pixels that differ by more than rounding in the
// rasteriser explains; 1 if the sizes differ.
func different(t *testing.T, a, b []byte) float64 {
	var images [2]image.Image
	for i, data := range [][]byte{a, b} {
		m, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		images[i] = m
	}
	r := images[0].Bounds()
	if r != images[1].Bounds() {
		return 1
	}
	n := 0
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			r1, g1, b1, _ := images[0].At(x, y).RGBA()
			r2, g2, b2, _ := images[1].At(x, y).RGBA()
			for _, d := range []int{int(r1) - int(r2), int(g1) - int(g2), int(b1) - int(b2)} {
				if d > 0x1000 || d < -0x1000 {
					n++
					break
				}
			}
		}
	}
	return float64(n) / float64(r.Dx()*r.Dy())
}

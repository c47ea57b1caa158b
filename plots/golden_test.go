package plots

import (
	"bytes"
	"flag"
	"fmt"
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
			Title: "A Golden Retriever is a▸ …", C: 4.599593, Nucleus: 461, Least: 0.000113,
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
	"frontier": func() (*Figure, error) {
		return NewFrontier("Commitment and contradiction, FOLIO", []FrontierPoint{
			{"gemma3:270m-pt", 1.31, 0.33, 0.02, true}, {"smollm2:135m-instruct", 0.4, 0, 0, true},
			{"Phi-2", 1.164, 0.195, 0.417, false}, {"Qwen2.5-1.5B", 0.674, 0.166, 0.309, false}, {"Qwen2.5-3B", 0.115, 0.025, 0.074, false}, {"TinyLlama-1.1B", 1.698, 0.698, 0.794, false},
		})
	},
	"reliability": func() (*Figure, error) {
		bins := make([]ReliabilityBin, 10)
		bins[6], bins[7], bins[9] = ReliabilityBin{30, 0.64, 0.7}, ReliabilityBin{12, 0.77, 0.5}, ReliabilityBin{4, 0.96, 0}
		return NewReliability("Reliability of the answers, FOLIO", []ReliabilityPanel{{"gemma3:270m-pt", bins}, {"a model that answers nothing", make([]ReliabilityBin, 10)}})
	},
	"coverage": func() (*Figure, error) {
		var falling, one []CoveragePoint
		for i := 50; i <= 95; i++ {
			x := float64(95-i) / 45
			falling = append(falling, CoveragePoint{float64(i) / 100, 0.02 + 0.7*x, 0.8 - 0.4*x*x})
		}
		one = append(one, CoveragePoint{0.6, 0.3, 0.4})
		return NewCoverage("Accuracy of what is answered, FOLIO", []CoverageCurve{{"gemma3:270m-pt", falling, 0.6}, {"smollm2:135m-instruct", one, 0.6}})
	},
	"preferences": func() (*Figure, error) {
		x := math.NaN()
		return NewPreferences(Preferences{
			Title: "Coherence of four summaries", Items: []string{"1", "2", "3", "4"},
			Relation: [][]float64{{x, 0.95, 0.8, 0.4}, {0.2, x, 0.55, 0.7}, {0.6, 0.5, x, 0.1}, {0.7, 0.3, 0.9, x}},
			Negated:  [][]float64{{x, 0.1, 0.2, 0.6}, {0.3, x, 0.49, x}, {0.2, 0.5, x, 0.9}, {0.1, 0.8, 0.5, x}},
		})
	},
	// A judge that names the item shown first, whatever is asked, but once.
	"preferences-place": func() (*Figure, error) {
		d := Preferences{Title: "Coherence of six summaries", Items: []string{"p", "q", "r", "s", "t", "u"}}
		for i := range 6 {
			var a, b []float64
			for j := range 6 {
				p := 0.6 + 0.06*float64((i+2*j)%5)
				if i == j {
					p = math.NaN()
				}
				a, b = append(a, p), append(b, p-0.05)
			}
			d.Relation, d.Negated = append(d.Relation, a), append(d.Negated, b)
		}
		d.Negated[2][1] = 0.45
		return NewPreferences(d)
	},
	"preferences-many": func() (*Figure, error) {
		rng := rand.New(rand.NewPCG(5, 6))
		d := Preferences{Title: "Relevance of twenty passages"}
		for i := range 20 {
			d.Items = append(d.Items, fmt.Sprintf("20-%d", i))
			var a, b []float64
			for j := range 20 {
				p := 1 / (1 + math.Exp(0.3*float64(i-j)-0.8+0.5*rng.NormFloat64()))
				if i == j {
					p = math.NaN()
				}
				a, b = append(a, p), append(b, (1-p)*(1-0.3*rng.Float64()))
			}
			d.Relation, d.Negated = append(d.Relation, a), append(d.Negated, b)
		}
		return NewPreferences(d)
	},
	"scatter": func() (*Figure, error) {
		// Of Table 1, NovelEval, direct judgements.
		var points []ScatterPoint
		for _, m := range []struct {
			name        string
			h, commutes float64
		}{{"Llama-2-7B", 57.5, 57.5}, {"Llama-2-13B", 58.3, 62.9}, {"Llama-3-8B", 60.6, 73.3}, {"Mistral-7B", 60.1, 68.0}, {"Zephyr-7B-beta", 60.5, 63.8}, {"Phi-3-mini", 59.7, 55.5}, {"Phi-3-medium", 62.7, 76.3}, {"Gemma-2-9B", 63.6, 85.3}, {"GPT-3.5-0125", 61.2, 71.6}, {"Deepseek-chat", 65.7, 86.7}} {
			points = append(points, ScatterPoint{Name: m.name, X: m.commutes, Y: m.h})
		}
		return NewScatter("Commutativity and human agreement, published", "s_comm (%)", "H (%)", []ScatterPanel{{"NovelEval", "r = 0.91, n = 10", points}})
	},
	"scatter-published": func() (*Figure, error) {
		// The same with one's own, of which one is far from them, and groups.
		points := []ScatterPoint{{Name: "gemma3:270m-pt", Group: "base models", X: 31.2, Y: 51.9}, {Name: "smollm2:135m-instruct", Group: "instruct models", X: 70, Y: 61}}
		for _, m := range []struct {
			name        string
			h, commutes float64
		}{{"Llama-2-7B", 57.5, 57.5}, {"Llama-2-13B", 58.3, 62.9}, {"Llama-3-8B", 60.6, 73.3}, {"Mistral-7B", 60.1, 68.0}, {"Zephyr-7B-beta", 60.5, 63.8}, {"Phi-3-mini", 59.7, 55.5}, {"Phi-3-medium", 62.7, 76.3}, {"Gemma-2-9B", 63.6, 85.3}, {"GPT-3.5-0125", 61.2, 71.6}, {"Deepseek-chat", 65.7, 86.7}} {
			points = append(points, ScatterPoint{Name: m.name, X: m.commutes, Y: m.h, Published: true})
		}
		return NewScatter("Commutativity and human agreement over models", "s_comm (%)", "H (%)", []ScatterPanel{{"NovelEval", "published: r = 0.91, n = 10", points}})
	},
	"scatter-panels": func() (*Figure, error) {
		rng := rand.New(rand.NewPCG(7, 8))
		var panels []ScatterPanel
		for _, name := range []string{"SummEval", "NovelEval", "CaTeRS", "one point"} {
			panel := ScatterPanel{Title: name, Note: "r = …"}
			for i := range 24 {
				x := rng.Float64()
				panel.Points = append(panel.Points, ScatterPoint{Group: []string{"gemma3:270m-pt", "smollm2:135m-instruct"}[i%2], X: 0.3 + 0.6*x, Y: 0.5 + 0.3*x + 0.05*rng.NormFloat64()})
			}
			panels = append(panels, panel)
		}
		panels[3].Points = panels[3].Points[:1]
		return NewScatter("Commutativity and human agreement over ten wordings", "s_comm", "H", panels)
	},
	"transitivity": func() (*Figure, error) {
		var good, poor []TransitivityPoint
		for k := 3; k <= 10; k++ {
			v := math.Exp(-0.02 * float64(k-2) * float64(k-2))
			good = append(good, TransitivityPoint{k, v, Range{0.93 * v, math.Min(1, 1.03*v)}})
			if k < 8 {
				poor = append(poor, TransitivityPoint{K: k, Value: math.Exp(-0.1 * float64(k-2) * float64(k-2))})
			}
		}
		return NewTransitivity("s_tran(K) over K, NovelEval", []TransitivityCurve{{"smollm2:135m-instruct", good}, {"gemma3:270m-pt", poor}})
	},
	"transitivity-one": func() (*Figure, error) {
		return NewTransitivity("Three items", []TransitivityCurve{{"a model", []TransitivityPoint{{K: 3, Value: 1}}}})
	},
	"scaling": func() (*Figure, error) {
		points := published(79.7, 65.1, 50.8, 45.2, 68.7, 60.8)
		for i, std := range []float64{0.5, 1.5, 1.7, 2.0, 1.8, 2.1} {
			points[i].Bar = Range{points[i].Value - std, points[i].Value + std}
		}
		points = append(points,
			ScalingPoint{"gemma3:270m-pt", "Gemma-3", 268e6, 76.2, Range{74, 78}, true},
			ScalingPoint{"smollm2:135m-instruct", "smollm2", 135e6, 73.9, Range{}, true})
		return NewScaling("Forward implication · ModelLog Table 2", []ScalingPanel{{"", "CAcc (%)", points}})
	},
	"scaling-panels": func() (*Figure, error) {
		return NewScaling("ModelLog Table 2", []ScalingPanel{
			{"Transitivity", "CAcc (%)", published(81.0, 69.0, 46.9, 40.4, 52.7, 45.5)},
			{"Forward Implication", "CAcc (%)", published(79.7, 65.1, 50.8, 45.2, 68.7, 60.8)},
			{"Negation Consistency", "CAcc (%)", published(18.5, 15.9, 18.2, 19.2, 23.1, 21.6)},
			{"Mutual Exclusivity", "CAcc (%)", published(48.7, 57.3, 56.8, 54.7, 64.0, 61.6)},
			{"Spatial Exclusivity", "CAcc (%)", append(published(18.5, 12.4, 19.9, 23.8, 31.5, 25.3), ScalingPoint{"gemma3:270m-pt", "Gemma-3", 268e6, 21, Range{11, 31}, true})},
		})
	},
	// One model, and an error bar that reaches 0 (gonum/plot#681).
	"scaling-one": func() (*Figure, error) {
		return NewScaling("One model", []ScalingPanel{{"", "P₂ − P₁", []ScalingPoint{{"smollm2:135m-instruct", "smollm2", 135e6, 0.05, Range{0, 0.1}, true}}}})
	},
	"scaling-many": func() (*Figure, error) {
		var points []ScalingPoint
		for i, family := range []string{"Llama-2", "Llama-3", "Mistral", "Zephyr", "Phi-3", "Gemma-2", "Qwen2.5", "TinyLlama"} {
			for j := range 3 {
				size := 1e8 * math.Pow(7.3, float64(j)) * float64(i+2)
				points = append(points, ScalingPoint{family, family, size, 40 + 7*float64(i) - 3*float64(j), Range{}, j == 1})
			}
		}
		return NewScaling("Eight families", []ScalingPanel{{"", "agreement (%)", points}})
	},
	"informativeness": func() (*Figure, error) {
		return NewInformativeness("Table 1's constraints for one example", []InformativePoint{
			{Name: "dog → mammal", Info: 0.415, Rho: Exactly(-2.38)},
			{Name: "transitivity", Info: 0.193, Rho: Exactly(0.97)},
			{Name: "dog ⊕ ¬dog", Info: 1, Rho: Exactly(-0.91)},
			{Name: "mammal ⊕ reptile", Info: 1, Rho: Exactly(0.12)},
			{Name: "mammal ∧ dog", Info: 2, Rho: Range{-0.4, 0.3}},
			{Name: "exactly(1, …)", Info: 1, Rho: Exactly(0.13)},
		})
	},
	"informativeness-runs": func() (*Figure, error) {
		return NewInformativeness("gemma3:270m-pt · four data sets", []InformativePoint{
			{Name: "transitivity", Info: 0.193, Rho: Exactly(0.6), Middle: Range{0.2, 0.99}},
			{Name: "implication", Info: 0.415, Rho: Exactly(0.4), Middle: Range{-0.3, 0.97}},
			{Name: "negation", Info: 1, Rho: Exactly(-0.5), Middle: Range{-0.9, -0.1}},
			{Name: "exclusivity", Info: 1, Rho: Exactly(0.02), Middle: Range{-0.4, 0.4}},
		})
	},
	"informativeness-ladder": func() (*Figure, error) {
		var points []InformativePoint
		for k := range 12 {
			x := float64(k+1) / 12
			points = append(points, InformativePoint{Name: fmt.Sprintf("k = %d", k+1), Info: 12 * x * x * x, Rho: Exactly(1 - 1.1*x*x), Series: "ladder"})
		}
		return NewInformativeness("ladder(“The capital of France is Paris.”)", points)
	},
	"histograms": func() (*Figure, error) {
		rng := rand.New(rand.NewPCG(3, 4))
		d := Histograms{
			Title:   "ρ of three models on five data sets",
			Rows:    []string{"gemma3:270m-pt", "smollm2:135m-instruct", "a model with a long name of its own"},
			Columns: []string{"Transitivity", "Forward Implication", "Negation Consistency", "Mutual Exclusivity", "Spatial"},
		}
		for r := range 3 {
			var row [][]float64
			for k, low := range []float64{-6, -3, -1, -1, -0.2} {
				var rho []float64
				for range 300 {
					rho = append(rho, math.Max(low, math.Min(1, 0.5-0.2*float64(k)+0.2*float64(r)+0.6*rng.NormFloat64())))
				}
				if r == 1 && k == 3 {
					rho = nil // not measured
				}
				row = append(row, rho)
			}
			d.Rho = append(d.Rho, row)
		}
		return NewHistograms(d)
	},
	"histograms-one": func() (*Figure, error) {
		return NewHistograms(Histograms{Title: "One", Rows: []string{"m"}, Columns: []string{"implication"}, Rho: [][][]float64{{{0.5, -0.2, 1}}}})
	},
}

// published are the values of six models of the paper's tables.
func published(values ...float64) []ScalingPoint {
	var points []ScalingPoint
	for i, m := range []ScalingPoint{
		{Model: "Gemma-3-270M", Family: "Gemma-3", Size: 270e6}, {Model: "Gemma-3-1B-pt", Family: "Gemma-3", Size: 1e9},
		{Model: "Gemma-3-4B-pt", Family: "Gemma-3", Size: 4e9}, {Model: "Gemma-3-12B-pt", Family: "Gemma-3", Size: 12e9},
		{Model: "Llama-3.2-1B", Family: "Llama-3", Size: 1e9}, {Model: "Llama-3.2-3B", Family: "Llama-3", Size: 3e9},
	} {
		m.Value = values[i]
		points = append(points, m)
	}
	return points
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

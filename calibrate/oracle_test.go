package calibrate_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/modellog/modellog/calibrate"
)

// Real distributions, read by another implementation: the ten most probable tokens
// of each give intervals that hold the entropies, nucleus sizes and target
// probabilities it computed from all 262,144 (49,152) of them.
func TestTopAgainstOracle(t *testing.T) {
	ps := []float64{0.8, 0.85, 0.9, 0.95}
	for name, vocabulary := range map[string]int{
		"gemma3-270m-pt.jsonl":        262144,
		"smollm2-135m-instruct.jsonl": 49152,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("..", "..", "shared", "oracle", name)
			if dir := os.Getenv("MODELLOG_SHARED"); dir != "" {
				path = filepath.Join(dir, "oracle", name)
			}
			f, err := os.Open(path)
			if err != nil {
				t.Skipf("the oracle's readings are missing: %v", err)
			}
			defer f.Close()
			lines, unseen := 0, 0
			for sc := bufio.NewScanner(f); sc.Scan(); lines++ {
				var r struct {
					Prefix  string
					Targets []struct {
						Text    string
						ID      int
						LogProb float64
					}
					Entropy float64
					Nucleus map[string]struct{ Size, Entropy float64 }
					Top     [][2]float64
				}
				if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
					t.Fatalf("line %d: %v", lines+1, err)
				}
				listed := map[int]bool{}
				var top []float64
				for _, e := range r.Top {
					listed[int(e[0])] = true
					top = append(top, e[1])
				}
				s, err := calibrate.SummarizeTop(top, vocabulary, ps)
				if err != nil {
					t.Fatalf("%q: %v", r.Prefix, err)
				}
				if !s.Entropy.Contains(r.Entropy) {
					t.Errorf("%q: entropy %v not in %v", r.Prefix, r.Entropy, s.Entropy)
				}
				for _, n := range s.Nuclei {
					want, ok := r.Nucleus[strconv.FormatFloat(n.P, 'g', -1, 64)]
					if !ok {
						t.Fatalf("%q: no nucleus of p = %v", r.Prefix, n.P)
					}
					if !n.Size.Contains(want.Size) || !n.Entropy.Contains(want.Entropy) {
						t.Errorf("%q: nucleus %v not in %+v", r.Prefix, want, n)
					}
				}
				for _, target := range r.Targets {
					p := s.LogP(target.LogProb)
					if !listed[target.ID] {
						unseen++
						p = s.Unseen
					}
					if !p.Contains(target.LogProb) {
						t.Errorf("%q: log P of %q is %v, not in %v", r.Prefix, target.Text, target.LogProb, p)
					}
				}
			}
			if lines == 0 || unseen == 0 {
				t.Errorf("%d lines and %d targets outside the top: nothing was tested", lines, unseen)
			}
		})
	}
}

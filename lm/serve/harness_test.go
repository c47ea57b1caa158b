//go:build cgo && !race

package serve

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/internal/modeltest/engine"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/store"
)

// sample is what the harness has of one document.
type sample struct {
	Doc struct {
		Prefix  string
		Choices []string
		Label   int
	}
	Target    string
	Responses []json.RawMessage `json:"filtered_resps"`
}

// TestHarness runs the commands of examples/lm-eval/README.md, and the first one asking for several at once, and compares each
// log-likelihood, and the results, with the model's own readings.
func TestHarness(t *testing.T) {
	if os.Getenv("MODELLOG_TEST_HARNESS") == "" {
		t.Skip("MODELLOG_TEST_HARNESS is not set; make test-harness installs lm-evaluation-harness and runs this")
	}
	cache, err := store.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(cache, "lm-eval", "bin", "lm_eval")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v; make test-harness installs it", err)
	}
	readme, err := os.ReadFile("../../examples/lm-eval/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for line := range strings.Lines(string(readme)) {
		if command, ok := strings.CutPrefix(line, "    lm_eval "); ok {
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	if len(commands) != 2 {
		t.Fatalf("the README has the commands %q", commands)
	}
	commands = append(commands, commands[0]+",num_concurrent=8")
	for _, command := range commands {
		var reference modeltest.Reference
		for _, r := range modeltest.All {
			if strings.Contains(command, "model="+r.Name+",") {
				reference = r
			}
		}
		t.Run(reference.Name, func(t *testing.T) {
			m := engine.Open(t, reference)
			_, address := start(t, Options{}, m)
			const documented = "http://127.0.0.1:8011"
			if !strings.Contains(command, documented) {
				t.Fatalf("the command does not ask %s: %s", documented, command)
			}
			out := t.TempDir()
			run := exec.CommandContext(t.Context(), program, append(strings.Fields(strings.Replace(command, documented, address, 1)), "--output_path", out, "--log_samples")...)
			run.Dir = "../../examples/lm-eval"
			run.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "HF_HOME="+filepath.Join(out, "hf"))
			log, err := run.CombinedOutput()
			if err != nil {
				t.Fatalf("lm_eval %s: %v\n%s", command, err, log)
			}
			accuracy := compareChoices(t, m, files(t, out, "samples_kinds_2*.jsonl"))
			bits := math.NaN()
			if strings.Contains(command, "kinds_text") {
				bits = compareTexts(t, m, files(t, out, "samples_kinds_text_*.jsonl"))
			}
			var results struct {
				Results map[string]map[string]any
			}
			data, err := os.ReadFile(files(t, out, "results_*.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &results); err != nil {
				t.Fatal(err)
			}
			if got := results.Results["kinds"]["acc,none"]; got != accuracy {
				t.Errorf("the harness has the accuracy %v, and the readings %v", got, accuracy)
			}
			t.Logf("lm_eval %s: accuracy %.4f", command, accuracy)
			if got, ok := results.Results["kinds_text"]["bits_per_byte,none"].(float64); ok {
				if math.Abs(got-bits) > 1e-3 {
					t.Errorf("the harness has %v bits per byte, and the readings %v", got, bits)
				}
				t.Logf("%.4f bits per byte", got)
			} else if !math.IsNaN(bits) {
				t.Error("the harness has no bits per byte")
			}
		})
	}
}

// files finds the one file of that pattern, at any depth.
func files(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

func samples(t *testing.T, path string) (out []sample) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var s sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := lines.Err(); err != nil || len(out) < 40 {
		t.Fatalf("%s has %d samples, %v", path, len(out), err)
	}
	return out
}

// likelihood is the logarithm of the probability of tokens behind others, and whether each is the most probable there.
func likelihood(t *testing.T, m lm.Model, before, after []lm.Token) (sum float64, greedy bool) {
	t.Helper()
	whole := slices.Concat(before, after)
	var prefixes [][]lm.Token
	for i := range after {
		prefixes = append(prefixes, whole[:len(before)+i])
	}
	greedy = true
	if err := m.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
		most, total := float64(slices.Max(d.Logits)), 0.0
		for _, l := range d.Logits {
			total += math.Exp(float64(l) - most)
		}
		sum += float64(d.Logits[after[i]]) - most - math.Log(total)
		greedy = greedy && float64(d.Logits[after[i]]) == most
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return sum, greedy
}

// tolerance is of the last digits that depend on what is read together.
const tolerance = 0.01

// compareChoices returns the accuracy that the model's own readings have.
func compareChoices(t *testing.T, m lm.Model, path string) float64 {
	right := 0
	all := samples(t, path)
	for _, s := range all {
		if len(s.Responses) != len(s.Doc.Choices) {
			t.Fatalf("%+v", s)
		}
		most, best := math.Inf(-1), -1
		for i, choice := range s.Doc.Choices {
			before, after, err := lm.Continue(t.Context(), m, s.Doc.Prefix, " "+choice)
			if err != nil {
				t.Fatal(err)
			}
			if before, err = lm.Prompt(m, before); err != nil {
				t.Fatal(err)
			}
			want, greedy := likelihood(t, m, before, after)
			if want > most {
				most, best = want, i
			}
			var got [2]string // the harness writes numbers as texts
			if err := json.Unmarshal(s.Responses[i], &got); err != nil {
				t.Fatal(err)
			}
			if x, err := strconv.ParseFloat(got[0], 64); err != nil || math.Abs(x-want) > tolerance || (got[1] == "True") != greedy {
				t.Errorf("%q %q: the harness has %v, and the readings %v, %v", s.Doc.Prefix, choice, got, want, greedy)
			}
		}
		if best == s.Doc.Label {
			right++
		}
	}
	return float64(right) / float64(len(all))
}

// compareTexts returns the bits per byte that the model's own readings have. The harness puts the end-of-sequence
// token in front of a text where there is none for the beginning.
func compareTexts(t *testing.T, m lm.Model, path string) float64 {
	sum, bytes := 0.0, 0
	for _, s := range samples(t, path) {
		tokens, err := m.Tokenize(t.Context(), s.Target)
		if err != nil {
			t.Fatal(err)
		}
		front := m.Info().EOS[0]
		if m.Info().AddBOS {
			front = m.Info().BOS
		}
		want, _ := likelihood(t, m, []lm.Token{front}, tokens)
		var got string
		if err := json.Unmarshal(s.Responses[0], &got); err != nil {
			t.Fatal(err)
		}
		if x, err := strconv.ParseFloat(got, 64); err != nil || math.Abs(x-want) > tolerance {
			t.Errorf("%q: the harness has %v, and the readings %v", s.Target, got, want)
		}
		sum += want
		bytes += len(s.Target)
	}
	return -sum / math.Ln2 / float64(bytes)
}

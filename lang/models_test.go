package lang_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/modellog/modellog/lang"
)

// pairs is the conjunction of n disjunctions of two events each.
func pairs(n int) string {
	return strings.TrimSuffix(strings.Repeat("(prob(.5)|prob(.4))&", n), "&")
}

// TestModelsOfManyVariables: interpretations of many variables have probabilities below the least
// float64, and only so many of them are listed.
func TestModelsOfManyVariables(t *testing.T) {
	s := lang.New(lang.Options{})
	const n = 2000
	type answer struct {
		P    *float64
		LogP *float64 `json:"log_p"`
		Rows []struct {
			Interpretation map[string]bool
			P, Chance      *float64
			LogP           float64 `json:"log_p"`
			LogChance      float64 `json:"log_chance"`
		}
	}
	read := func(src string) (*lang.Table, answer) {
		table := last[*lang.Table](t, eval(t, s, src))
		b, err := json.Marshal(table)
		if err != nil {
			t.Fatal(err)
		}
		var a answer
		if err := json.Unmarshal(b, &a); err != nil {
			t.Fatal(err)
		}
		return table, a
	}
	table, a := read("models(" + pairs(n) + ", 3)")
	for i, row := range a.Rows {
		// Of each pair, the first alone has 0.3; both, or the second alone, 0.2.
		want := n * math.Log(0.3)
		if i > 0 {
			want += math.Log(0.2 / 0.3)
		}
		if row.P != nil || math.Abs(row.LogP-want) > 1e-8 || row.Chance != nil || math.Abs(row.LogChance+2*n*math.Ln2) > 1e-8 || len(row.Interpretation) != 2*n {
			t.Errorf("%d: p %v, log %v, want %v; chance %v, log %v; %d variables", i, row.P, row.LogP, want, row.Chance, row.LogChance, len(row.Interpretation))
		}
	}
	if text := table.Text(lang.Style{}); len(a.Rows) != 3 || !strings.Contains(text, "1.75e-1046") || !strings.Contains(text, "7.59e-1205") {
		t.Errorf("%d rows; %s", len(a.Rows), text)
	}
	table, a = read("mpe(" + pairs(n) + ")")
	if a.P != nil || a.LogP == nil || math.Abs(*a.LogP-n*math.Log(0.3)) > 1e-8 || !strings.Contains(table.Note, "1.75e-1046") {
		t.Errorf("mpe: %v, %v, %s", a.P, a.LogP, table.Note)
	}
	if _, a = read("mpe(" + pairs(2) + ")"); a.P == nil || math.Abs(*a.P-0.09) > 1e-12 {
		t.Errorf("mpe: %v", a.P)
	}
	// What is impossible has probability 0 and says so.
	table, a = read("models(prob(0) | prob(0.5), 3)")
	if p := a.Rows[2].P; p == nil || *p != 0 || table.Cells[2][2] != "0" {
		t.Errorf("%v, %v", p, table.Cells)
	}

	_, err := try(s, "models("+pairs(n)+", 251)")
	if err == nil || !strings.Contains(err.Error(), "the formula has 4,000 variables, so that k is at most 250 here") {
		t.Errorf("got %v", err)
	}
	// A formula of few interpretations has them all listed, whatever k is.
	if _, a = read("models(" + many(2000, 0.5, "&") + ", 10000)"); len(a.Rows) != 1 {
		t.Errorf("%d rows", len(a.Rows))
	}
}

// TestInterruptModels: a long list of interpretations stops soon after Ctrl-C.
func TestInterruptModels(t *testing.T) {
	define := "f = " + pairs(10000)
	for _, after := range []time.Duration{20, 80, 150, 300, 500} {
		s := lang.New(lang.Options{})
		eval(t, s, define)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- s.Eval(ctx, "", "models(f, 50)", func(lang.Result) error { return nil }) }()
		time.Sleep(after * time.Millisecond)
		start := time.Now()
		cancel()
		err := <-ended
		d := time.Since(start)
		if d > 500*time.Millisecond {
			t.Errorf("cancelled after %v, it went on for %v", after*time.Millisecond, d)
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

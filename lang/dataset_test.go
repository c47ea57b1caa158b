package lang_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/logic"
)

// measured gathers a dataset's rows.
func measured(t testing.TB, s *lang.Session, data lang.Dataset) []lang.Row {
	t.Helper()
	var rows []lang.Row
	if err := s.Measure(context.Background(), data, func(r *lang.Row) error {
		rows = append(rows, *r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return rows
}

// Several schemas under several calibrations are on each row what reports are.
func TestMeasure(t *testing.T) {
	s := session(t)
	eval(t, s, "implication(x, a, b) = M(x, a) -> M(x, b)\nfacts(x, a, b) = M(x, a) & M(x, b)")
	path := file(t, t.TempDir(), "rows.csv", "x,a,b\nA dog is a,dog,mammal\nA robin is a,golden retriever,bird\nA robin is a,,bird\nA trout is a,trout,fish\n")
	cals := []calibrate.Calibration{{Method: calibrate.NucleusEntropy, P: 0.8}, {Method: calibrate.Entropy}, {Method: calibrate.Raw}, {Method: calibrate.NucleusSize, P: 0.7}}
	rows := measured(t, s, lang.Dataset{File: path, Schemas: []string{"implication", "facts"}, Calibrations: cals, Gradient: true})
	if len(rows) != 4 || !rows[1].Multi || rows[2].Bad != `"a" is empty` || rows[2].Line != 4 {
		t.Fatalf("%+v", rows)
	}
	for _, r := range []lang.Row{rows[0], rows[3]} {
		for k, cal := range cals {
			if err := s.SetCalibration(cal); err != nil {
				t.Fatal(err)
			}
			call := fmt.Sprintf("(%q, %q, %q)", r.Values[0], r.Values[1], r.Values[2])
			for i, schema := range []string{"implication", "facts"} {
				want := last[*lang.Report](t, eval(t, s, schema+call))
				got := r.Scores[i][k]
				near(t, "WMC", got.WMC.Lo, want.WMC.Lo)
				near(t, "ρ", got.Rho.Lo, want.Rho.Lo)
				near(t, "WMC₀", got.WMC0, want.WMC0)
				if got.CAcc != want.CAcc {
					t.Errorf("%s%s under %v: CAcc %v, and %v in a report", schema, call, cal, got.CAcc, want.CAcc)
				}
			}
			// Of an implication ∂/∂p is -(1-q), ∂/∂q is p.
			p, q := r.Events[0].EventP[k].Lo, r.Events[1].EventP[k].Lo
			near(t, "WMC", r.Scores[0][k].WMC.Lo, 1-p+p*q)
			near(t, "∂p", r.Scores[0][k].Gradient[0].Lo, q-1)
			near(t, "∂q", r.Scores[0][k].Gradient[1].Lo, p)
			if r.Scores[1][k].Gradient != nil {
				t.Error("a gradient was not asked for")
			}
			near(t, "Eq. 4", p, 1/(1+math.Exp(-(r.Events[0].LogP.Lo-math.Log1p(-math.Exp(r.Events[0].LogP.Lo))+r.Events[0].C[k].Lo))))
		}
	}
	for _, bad := range []lang.Dataset{{File: path}, {File: path, Schemas: []string{"implcation"}}, {File: path + "x", Schemas: []string{"facts"}}, {File: path, Schemas: []string{"facts"}, Calibrations: []calibrate.Calibration{{P: 2, Method: calibrate.NucleusSize}}}} {
		if err := s.Measure(t.Context(), bad, func(*lang.Row) error { return nil }); err == nil {
			t.Errorf("%+v is measured", bad)
		}
	}
}

// A file that another program wrote (PyArrow; with null values, a list of structs and two row groups).
func TestParquet(t *testing.T) {
	s := session(t)
	eval(t, s, "f(x, a, b) = M(x, a) -> M(x, b)\ng(p) = prob(p)\nh(n, x) = M(x, n)\nfact(facts) = M(facts, \"dog\")\nnone(zebra) = M(zebra, \"dog\")")
	path, err := filepath.Abs("testdata/rows.parquet")
	if err != nil {
		t.Fatal(err)
	}
	rows := measured(t, s, lang.Dataset{File: path, Schemas: []string{"f"}})
	if len(rows) != 4 || rows[0].Bad != "" || rows[1].Bad != "" || rows[2].Bad != `"x" is empty` || rows[3].Bad != `"a" is empty` {
		t.Fatalf("%+v", rows)
	}
	want := last[*lang.Report](t, eval(t, s, `f("A robin is a", "robin", "bird")`))
	near(t, "WMC", rows[1].Scores[0][0].WMC.Lo, want.WMC.Lo)
	coins := measured(t, s, lang.Dataset{File: path, Schemas: []string{"g"}})
	near(t, "prob(0.75)", coins[2].Scores[0][0].WMC.Lo, 0.75)
	if !strings.Contains(coins[3].Bad, "between 0 and 1") || coins[1].Scores[0][0].CAcc != logic.Inconsistent {
		t.Errorf("%+v", coins)
	}
	if r := last[*lang.Run](t, eval(t, s, "%run f "+path)); r.Rows != 4 || r.Scored != 2 || r.BadRows != 2 {
		t.Error(r.Text(lang.Style{}))
	}
	for _, schema := range []string{"fact", "none"} {
		if _, err := try(s, "%run "+schema+" "+path); err == nil || !strings.Contains(err.Error(), "needs one of texts or numbers") {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// What is no Parquet file, or a damaged one, is called so.
func TestParquetDamaged(t *testing.T) {
	whole, err := os.ReadFile("testdata/rows.parquet")
	if err != nil {
		t.Fatal(err)
	}
	s := lang.New(lang.Options{})
	eval(t, s, "g(p) = prob(p)")
	for _, c := range []struct{ text, want string }{
		{"p\n0.25\n0.75\n", "it is not a Parquet file"},
		{string(whole[:len(whole)/2]), "it is damaged"},
		{string(whole[:len(whole)-40]) + strings.Repeat("x", 36) + "PAR1", "it is damaged"},
	} {
		path := file(t, t.TempDir(), "rows.parquet", c.text)
		if _, err := try(s, "%run g "+path); err == nil || !strings.Contains(err.Error(), "rows.parquet: "+c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// FuzzParquet: whatever a file holds, there are rows or a message.
func FuzzParquet(f *testing.F) {
	whole, err := os.ReadFile("testdata/rows.parquet")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("PAR1PAR1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "rows.parquet")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		s := lang.New(lang.Options{})
		if err := s.Eval(t.Context(), "", "g(p) = prob(p)", func(lang.Result) error { return nil }); err != nil {
			t.Fatal(err)
		}
		n := 0
		_ = s.Measure(t.Context(), lang.Dataset{File: path, Schemas: []string{"g"}, Limit: 1000}, func(*lang.Row) error { n++; return nil })
	})
}

// A run of which no row could be measured fails, after it has said why.
func TestRunAllBad(t *testing.T) {
	s := session(t)
	eval(t, s, "f(x, a) = M(x, a)")
	path := file(t, t.TempDir(), "rows.csv", "x,a\nA dog is a,\nA dog is a,golden retriever\n")
	results, err := try(s, "%run f "+path)
	r := last[*lang.Run](t, results)
	if err == nil || !strings.Contains(err.Error(), "none of its 2 rows could be measured") || r.BadRows != 1 || r.MultiToken != 1 {
		t.Errorf("%v; %s", err, r.Text(lang.Style{}))
	}
}

package published_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/modellog/modellog/notebooks/published"
)

// TestTable compares what the package has with the files as records.
func TestTable(t *testing.T) {
	names, err := published.Tables()
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, s := range sources {
		files = append(files, s.file)
	}
	slices.Sort(files)
	if len(names) != len(files) {
		t.Fatalf("%d tables in %d files", len(names), len(files))
	}
	for i, name := range names {
		figures, err := published.Table(name)
		if err != nil {
			t.Fatal(err)
		}
		var got []map[string]string
		for _, f := range figures {
			size := ""
			if f.Size > 0 {
				size = fmt.Sprintf("%.0f", f.Size)
			}
			m := map[string]string{
				"table": f.Table, "model": f.Model, "family": f.Family, "size": size, "subset": f.Subset,
				"quantity": f.Quantity, "unit": f.Unit, "value": f.Printed, "std": f.PrintedStd,
			}
			maps.Copy(m, f.Other)
			got = append(got, m)
			if f.Value != parse(t, f.Printed) || f.PrintedStd != "" && f.Std != parse(t, f.PrintedStd) || f.Lo != f.Value || f.Hi != f.Value {
				t.Errorf("%s, line %d: %v ± %v in %v … %v, printed %s ± %s", files[i], f.Line, f.Value, f.Std, f.Lo, f.Hi, f.Printed, f.PrintedStd)
			}
		}
		if d := cmp.Diff(read(t, files[i]), got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestTableIsACopy: what a caller does to figures is not seen by the next one.
func TestTableIsACopy(t *testing.T) {
	for range 2 {
		figures, err := published.Table("ModelLog Table 8")
		if err != nil {
			t.Fatal(err)
		}
		if figures[0].Value != 0.07 || figures[0].Other["premise"] != "flea" {
			t.Fatalf("%+v", figures[0])
		}
		figures[0].Value, figures[0].Other["premise"] = 1, "beetle"
	}
}

func TestTableMistake(t *testing.T) {
	if _, err := published.Table("ModelLog Table 13"); err == nil || !strings.Contains(err.Error(), "ModelLog Table 12") {
		t.Error(err)
	}
}

func TestRead(t *testing.T) {
	figures, columns, err := published.Read(strings.NewReader("\ufeffvalue, std,lo,hi,note,size\r\n53.90,1.0,50,60,\"a, b\",135e6\r\n-1,,,,,\r\n"), "own.csv")
	if err != nil {
		t.Fatal(err)
	}
	want := []published.Figure{
		{About: published.About{Size: 135e6, Other: map[string]string{"note": "a, b"}}, Value: 53.9, Lo: 50, Hi: 60, Std: 1, Printed: "53.90", PrintedStd: "1.0", PrintedLo: "50", PrintedHi: "60", Line: 2},
		{Value: -1, Lo: -1, Hi: -1, Printed: "-1", Line: 3},
	}
	if d := cmp.Diff(want, figures); d != "" {
		t.Error(d)
	}
	if !slices.Equal(columns, []string{"value", "std", "lo", "hi", "note", "size"}) {
		t.Error(columns)
	}
	if figures, _, err = published.Read(strings.NewReader("model\tvalue\na \"b\"\t1\n"), "own.TSV"); err == nil {
		t.Errorf("a quote within a field was read: %v", figures)
	}
	if figures, _, err = published.Read(strings.NewReader("model\tvalue\na, b\t1\n"), "own.TSV"); err != nil || figures[0].Model != "a, b" {
		t.Errorf("%v, %v", figures, err)
	}
}

func TestReadMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "own.csv is empty"},
		{"model,size\n", `the columns of own.csv are ["model" "size"]; it needs "value"`},
		{"value,model,value\n", `two columns "value"`},
		{"model,value\na,1\nb\n", "line 3 has 1 fields for 2 columns"},
		{"model,value\na,1\nb,\n", "line 3 has no value"},
		{"value\nmany\n", `line 2 does not have a number in the column "value" but "many"`},
		{"value\nNaN\n", `"NaN"`},
		{"value\n-Inf\n", `"-Inf"`},
		{"value,size\n1,1e999\n", `in the column "size" but "1e999"`},
		{"value,std\n1,-1\n", "line 2 has a standard deviation below 0"},
		{"value,lo\n1,0\n", "line 2 has one end"},
		{"value,lo,hi\n1,2,3\n", "line 2 has the value 1, which does not lie between lo, 2, and hi, 3"},
		{"value,lo,hi,interval\n1,3,2,95 %\n", "line 2 has the value 1"},
		{"value,model\n1,\"a\n", "own.csv: parse error on line 2"},
		{"value\n" + strings.Repeat("1\n", 20_001), "more than 20000 rows"},
		{"value\n" + strings.Repeat(strings.Repeat("1", 4000)+"\n", 1100), "does not have a number"},
		{"model,value\n" + strings.Repeat(strings.Repeat("1", 4000)+",1\n", 1100), "more than 4 MB"},
	} {
		if _, _, err := published.Read(strings.NewReader(c.text), "own.csv"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.text, err, c.want)
		}
	}
}

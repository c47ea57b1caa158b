package lang_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modellog/modellog/lang"
)

// TestRunHeader: a first row that names a hole is a header and names each once; one that
// names none is a row, and the run says that columns were taken by position.
func TestRunHeader(t *testing.T) {
	dir := t.TempDir()
	s := lang.New(lang.Options{})
	eval(t, s, "f(p, q) = prob(p) & !prob(q)")
	for i, test := range []struct {
		text, columns string // "" for a mistake
		rows          int
		want          string // of a mistake
	}{
		{"p,q\n0.9,0.1\n", "name", 1, ""},
		{" q ,note,p\n0.1,a,0.9\n", "name", 1, ""},
		{"\uFEFFq,p\r\n0.1,0.9\r\n", "name", 1, ""},
		{"0.9,0.1\n0.9,0.1", "position", 2, ""},
		{"q,P\n0.1,0.9\n", "", 0, `its header lacks "p" and has "P", which no hole is called; it names each of the holes "p", "q" once`},
		{"p,p\n0.1,0.9\n", "", 0, `its header lacks "q" and has "p" more than once`},
		{"p,q,q\n0.1,0.9,1\n", "", 0, `its header has "q" more than once;`},
		{"p,z\n0.1,0.9\n", "", 0, `its header lacks "q" and has "z", which no hole is called`},
		{"P,Q\n0.1,0.9\n", "", 0, `its header lacks "p", "q" and has "P", "Q", which no hole is called`},
		{"p\n0.1\n", "", 0, `its header lacks "q";`},
		{"r,s,t\n0.1,0.9,1\n", "", 0, `its columns are "r", "s", "t", and the schema needs "p", "q"`},
		{"p,q\"\n0.1,0.9\n", "", 0, `its first row cannot be read: line 1: a quote stands within a field`},
	} {
		path := file(t, dir, fmt.Sprintf("h%d.csv", i), test.text)
		results, err := try(s, "%run f "+path)
		if test.columns == "" {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%q: got %v", test.text, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		r := last[*lang.Run](t, results)
		near(t, test.text, r.Rho.Lo, (0.81-0.25)/0.75)
		var got struct{ Columns string }
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		const note = "no header: columns taken by position"
		said := strings.Contains(r.Text(lang.Style{}), note)
		if r.Scored != test.rows || got.Columns != test.columns || said != (test.columns == "position") || said != strings.Contains(r.HTML(), note) {
			t.Errorf("%q: %s\n%s", test.text, b, r.Text(lang.Style{}))
		}
	}
}

// TestRunRecords: what is no good record is a bad row with its line, and the next ones are measured.
func TestRunRecords(t *testing.T) {
	dir := t.TempDir()
	s := lang.New(lang.Options{})
	eval(t, s, "f(p, q) = prob(p) & !prob(q)")
	long := strings.Repeat("x", 1<<20)
	const good = "0.9,\"0.1\"\n"
	for i, test := range []struct {
		text string
		want []string
		n    int
	}{
		{"p,q\n0.9,0.1,0.2\n" + good + "0.9\n" + good, []string{"2 it has 3 fields, and the first row 2", "4 it has 1 field, and the first row 2"}, 2},
		{good + "0.9,0.1,\n" + good, []string{"2 it has 3 fields, and the first row 2"}, 2},
		{"p,note,q\n0.9,,0.1\n0.9,0.1\n", []string{"3 it has 2 fields, and the first row 3"}, 1},
		{"p,q\n" + good + long + "," + long + "\n" + good, []string{"3 it is longer than 1024 KB"}, 2},
		{"p,q\n\"" + strings.Repeat("line\n", 1<<18) + "\"," + long + "\n" + good, []string{"2 it is longer than 1024 KB"}, 1},
		{"p,q\n" + strings.Repeat(",", 3<<20) + "\n" + good, []string{"2 it is longer than 1024 KB"}, 1},
		{"p,q\n\n\r\n" + good + "\n0.9,\"0.1\n0.9,0.1\n", []string{"6 the quote that opens here is never closed"}, 1},
		{"p,q\n0.9,\"0.1\n" + good + good, []string{"2 the quote that opens at line 2 ends at line 3, where text follows it; it may not have been closed"}, 1},
		{"p,q\n\"0.9\n\n\",\"0.1\n" + strings.Repeat(long, 3), []string{"2 the quote that opens at line 4 is never closed"}, 0},
		{"p,q\n0.9,0\"1\n" + good + "\"0.9\"1,0.1\n" + good, []string{
			"2 a quote stands within a field that does not begin with one; put the field in quotes, and double those in it",
			"4 text follows a closing quote; double the quotes within a field"}, 2},
		{"p,q\n0.9,0\x00\n" + good, []string{"2 it has a NUL byte, which is no text"}, 1},
		{"p,q\n0.9,\xff\n" + good, []string{"2 it is not UTF-8"}, 1},
	} {
		path := file(t, dir, fmt.Sprintf("r%d.csv", i), test.text)
		results, err := try(s, "%run f "+path)
		r := last[*lang.Run](t, results)
		if (err == nil) != (test.n > 0) {
			t.Errorf("number %d: %d rows can be measured, and the error is %v", i, test.n, err)
		}
		var got []string
		for _, b := range r.Bad {
			got = append(got, fmt.Sprintf("%d %s", b.Line, b.Why))
		}
		if diff := cmp.Diff(test.want, got); diff != "" || r.Scored != test.n {
			t.Errorf("number %d: %d measured; %s", i, r.Scored, diff)
		}
	}
}

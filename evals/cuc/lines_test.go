package cuc

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// rowsOf reads a table with the columns premises, phi, not_phi and label, and returns each row as text: the line
// and the conclusion, or why it is bad.
func rowsOf(t testing.TB, text string) []string {
	t.Helper()
	rows, err := readTable(strings.NewReader(text), ',')
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range rows {
		if e.Bad != "" {
			out = append(out, fmt.Sprintf("%d bad: %s", e.Line, e.Bad))
			continue
		}
		out = append(out, fmt.Sprintf("%d %s", e.Line, e.Phi))
	}
	return out
}

// A row that is quoted wrongly is bad, and no other is lost.
func TestTableGoesOn(t *testing.T) {
	const header = "premises,phi,not_phi,label\n"
	const good = "It rains.,Tom purrs.,Tom is silent.,true\n"
	for _, x := range []struct {
		text string
		want []string
	}{
		{good + `It "rains.,Tom purrs.,Tom is silent.,true` + "\n" + good, []string{"2 Tom purrs.", "3 bad: a quote", "4 Tom purrs."}},
		{`"It rains.,Tom purrs.,Tom is silent.,true` + "\n" + good + good, []string{"2 bad: a quote", "3 Tom purrs.", "4 Tom purrs."}},
		{`"It rains.,Tom purrs.,Tom is silent.,true` + "\n" + `"It rains.` + "\n" + `It pours.",Tom sleeps.,Tom is up.,true` + "\n" + good, []string{"2 bad: a quote", "3 Tom sleeps.", "5 Tom purrs."}},
		{`"It rains." ,Tom purrs.,Tom is silent.,true` + "\n" + good, []string{"2 bad: a quote", "3 Tom purrs."}},
		{`"It ""rains"".",Tom purrs.,Tom is silent.,true` + "\r\n\r\n" + good, []string{"2 Tom purrs.", "4 Tom purrs."}},
		{strings.Repeat("x", maxLineBytes) + "\n" + good, []string{"2 bad: the row is longer than 4 MiB", "3 Tom purrs."}},
		{`"` + strings.Repeat("x\n", 3) + good + `"` + strings.Repeat("x", maxLineBytes), []string{"2 bad: a quote", "3 bad: the row has 1 fields", "4 bad", "5 Tom purrs.", "6 bad: the row is longer"}},
		{strings.Repeat("x", maxTextBytes) + ",Tom purrs.,Tom is silent.,true\n" + good, []string{"2 bad: the texts of the row are longer than 1 MiB", "3 Tom purrs."}},
		{"It\x00rains.,Tom purrs.,Tom is silent.,true\n" + good, []string{"2 bad: the premises has at byte 3 the control character U+0000", "3 Tom purrs."}},
		{"It rains.,Tom\xffpurrs.,Tom is silent.,true\n" + good, []string{"2 bad: the conclusion has at byte 4 something that is no character", "3 Tom purrs."}},
		{"It rains.,Tom purrs.,Tom is silent.,true\x1b[2J\n" + good, []string{`2 bad: the label "true\x1b[2J" is not known`, "3 Tom purrs."}},
		{"It rains.,Tom purrs.,Tom is silent.," + strings.Repeat("true", 99) + "\n", []string{`2 bad: the label "truetruetruetruetruetruetruetruetruetrue…"`}},
	} {
		got := rowsOf(t, header+x.text)
		if len(got) != len(x.want) || slices.ContainsFunc(got, func(s string) bool { return len(s) > 300 }) {
			t.Errorf("%.80q: %.200q", x.text, got)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i]+":", x.want[i]) {
				t.Errorf("%.80q: row %d is %.200q, want %q", x.text, i+1, got[i], x.want[i])
			}
		}
	}
	for text, want := range map[string]string{
		"":                                       "is empty",
		"\n\n":                                   "is empty",
		"\xff\xfep\x00h\x00i\x00":                "UTF-16",
		"premises,phi,phi,label\n":               `names the column "phi" twice`,
		`premises,"phi,label` + "\n" + good:      "line 1, the header: a quote",
		strings.Repeat(",", maxLineBytes) + "\n": "line 1, the header: the row is longer",
	} {
		if _, err := readTable(strings.NewReader(text), ','); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// JSON lines go on behind what cannot be read too.
func TestLinesGoOn(t *testing.T) {
	const good = `{"premises":"It rains.","phi":"Tom purrs.","not_phi":"Tom is silent.","label":"true"}`
	text := strings.Join([]string{
		good, strings.Repeat("x", maxLineBytes+1), good,
		`{"premises":"a \ud800 b","phi":"Tom purrs.","not_phi":"Tom is silent.","label":"true"}`,
		`{"premises":"a","phi":"Tom\u0000purrs.","not_phi":"Tom is silent.","label":"true"}`,
		`{"premises":"a","phi":"Tom purrs.","not_phi":"Tom ` + "\xff" + ` is silent.","label":"true"}`,
		`[1,2]`, `null`, good + "}", strings.Repeat("[", 20000),
		`{"premises":"a \ud83d\ude00 \u2028 b","phi":"Tom purrs.","not_phi":"Tom is silent.","label":"true"}`,
	}, "\n")
	rows, err := readLines(strings.NewReader(text), readPlain)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"", "longer than 4 MiB", "", "the premises has at byte 3", "the conclusion has at byte 4 the control character U+0000", "no valid UTF-8", "is a JSON array", `label "" is not known`, "no JSON object", "no JSON object", ""}
	if len(rows) != len(want) {
		t.Fatalf("%d rows", len(rows))
	}
	for i, e := range rows {
		if e.Line != i+1 || (e.Bad == "") != (want[i] == "") || !strings.Contains(e.Bad, want[i]) {
			t.Errorf("row %d is of line %d: %q, want %q", i+1, e.Line, e.Bad, want[i])
		}
	}
}

// repeat is a file without end.
type repeat struct{ part []byte }

func (r repeat) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], r.part)
	}
	return n, nil
}

// A file without end is an error, and takes no memory to speak of.
func TestEndless(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	table := func(r io.Reader) ([]Example, error) { return readTable(r, ',') }
	lines := func(r io.Reader) ([]Example, error) { return readLines(r, readPlain) }
	for name, x := range map[string]struct {
		read  func(io.Reader) ([]Example, error)
		begin string
		part  string
		want  string
	}{
		"zeros as CSV":        {table, "", "\x00", "longer than 256 MiB"},
		"zeros as JSON lines": {lines, "", "\x00", "longer than 256 MiB"},
		"zeros in a row":      {table, "premises,phi,label\n", "\x00", "longer than 256 MiB"},
		"empty lines":         {lines, "", "\n", "more than 16777216 lines"},
		"rows":                {table, "premises,phi,label\n", "a\n", "more than 1048576 examples"},
	} {
		_, err := x.read(io.MultiReader(strings.NewReader(x.begin), repeat{bytes.Repeat([]byte(x.part), 1<<16)}))
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	runtime.ReadMemStats(&after)
	if peak := after.HeapSys - before.HeapSys; peak > 1<<30 {
		t.Errorf("the heap grew by %d MiB", peak>>20)
	}
}

// Tables that encoding/csv has written are read as it reads them, whatever stands in their fields.
func TestTableAsCSV(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"a", "é", " ", ",", "\"", "\n", "\r\n", "\t", "It rains.", "x"})
		field := rapid.Custom(func(t *rapid.T) string {
			return "." + strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "parts"), "") + "."
		})
		var want [][]string
		var text bytes.Buffer
		w := csv.NewWriter(&text)
		w.Write([]string{"premises", "phi", "not_phi", "label"})
		for range rapid.IntRange(0, 6).Draw(t, "rows") {
			row := []string{field.Draw(t, "premises"), field.Draw(t, "phi"), field.Draw(t, "not_phi") + "!", "true"}
			want = append(want, row)
			w.Write(row)
		}
		w.Flush()
		whole := text.String()
		if rapid.Bool().Draw(t, "no end") {
			whole = strings.TrimRight(whole, "\n")
		}
		got, err := readTable(strings.NewReader(whole), ',')
		if err != nil || len(got) != len(want) {
			t.Fatalf("%q: %d rows, %v", whole, len(got), err)
		}
		in := csv.NewReader(strings.NewReader(whole))
		in.Read()
		for i, e := range got {
			row, err := in.Read()
			if err != nil {
				t.Fatal(err)
			}
			if at, _ := in.FieldPos(0); e.Line != at || e.Phi != oneLine(row[1]) || e.NotPhi != oneLine(row[2]) || e.Premises != texts(strings.Split(row[0], "\n")).lines() {
				t.Fatalf("%q: row %d is %+v", whole, i, e)
			}
		}
	})
}

// Lines that are put between good rows make bad rows, and take none of them away.
func TestTableWithBadLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		text.WriteString("premises,phi,not_phi,label\n")
		good := 0
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			switch bad := rapid.SampledFrom([]string{"", "", "", `a"b`, `"a`, `"a"b`, "a,b", `x,"y`, `a,""b`}).Draw(t, "line"); {
			case bad != "":
				text.WriteString(bad + "\n")
			default:
				good++
				fmt.Fprintf(&text, "It rains %d.,Tom purrs.,Tom is silent.,true\n", good)
			}
		}
		seen := 0
		rows, err := readTable(strings.NewReader(text.String()), ',')
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range rows {
			if e.Bad == "" {
				if seen++; e.Premises != fmt.Sprintf("It rains %d.", seen) {
					t.Fatalf("%q: %+v", text.String(), e)
				}
			}
		}
		if seen != good {
			t.Fatalf("%q: %d rows of %d are left", text.String(), seen, good)
		}
	})
}

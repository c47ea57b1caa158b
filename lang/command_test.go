package lang_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
)

// file writes a file into a folder and returns its path.
func file(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file(t, dir, "lib/schemas.logic", "\uFEFFboth(f, g) = f & g\r\n%load more.logic\r\n")
	file(t, dir, "lib/more.logic", "coin = prob(0.5)\n")
	main := file(t, dir, "main.logic", "%load lib/schemas.logic\nwmc(both(coin, prob(0.5)))\n")
	file(t, dir, "self.logic", "%load self.logic")
	file(t, dir, "a.logic", "%load b.logic")
	file(t, dir, "b.logic", "%load ./lib/../a.logic")
	wrong := file(t, dir, "wrong.logic", "ok = prob(0.1)\n\tok & nobody")

	s := session(t)
	v := last[*lang.Value](t, eval(t, s, "%load "+main))
	near(t, "loaded", v.Number.Lo, 0.25)

	// Eval of a file finds what that file loads, wherever it is run.
	b, err := os.ReadFile(main)
	if err != nil {
		t.Fatal(err)
	}
	if err := session(t).Eval(context.Background(), main, string(b), func(lang.Result) error { return nil }); err != nil {
		t.Error(err)
	}

	for name, want := range map[string]string{"self": "self.logic is being loaded already", "a": "a.logic is being loaded already"} {
		if _, err := try(s, "%load "+filepath.Join(dir, name+".logic")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, err = try(s, "%load "+wrong)
	var e *lang.Error
	if !errors.As(err, &e) || e.Path != wrong || e.Start.String() != "2:7" {
		t.Errorf("got %v", err)
	}
	if _, err := try(s, "ok"); err == nil {
		t.Error("a file with a mistake defined a name")
	}
	near(t, "after the mistake", number(t, s, "wmc(coin)"), 0.5)
}

const facts = `{"x": "A dog is a", "a": "dog", "b": "mammal"}
{"x": "A robin is a", "a": "robin", "b": "bird"}
{"x": "A trout is a", "a": "trout", "b": "fish", "note": "more fields do no harm"}
`

// TestRun holds a run's figures against the reports of its rows, for each form of a
// data file.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	rows := [][3]string{{"A dog is a", "dog", "mammal"}, {"A robin is a", "robin", "bird"}, {"A trout is a", "trout", "fish"}}
	define := "implication(x, a, b) = M(x, a) -> M(x, b)\n"
	s := session(t)
	eval(t, s, define)
	var wmc, rho, cacc, info float64
	for _, r := range rows {
		rep := last[*lang.Report](t, eval(t, s, fmt.Sprintf("implication(%q, %q, %q)", r[0], r[1], r[2])))
		wmc += rep.WMC.Lo / 3
		rho += rep.Rho.Lo / 3
		info += rep.Info / 3
		if rep.WMC.Lo > rep.WMC0 {
			cacc += 1.0 / 3
		}
	}
	for name, text := range map[string]string{
		"objects.jsonl":  facts,
		"bom-crlf.jsonl": "\uFEFF" + strings.ReplaceAll(facts, "\n", "\r\n"),
		"no-end.jsonl":   strings.TrimSuffix(facts, "\n") + "\n\n  \n",
		"arrays.jsonl":   "[\"A dog is a\", \"dog\", \"mammal\"]\n[\"A robin is a\", \"robin\", \"bird\"]\n[\"A trout is a\", \"trout\", \"fish\"]",
		"header.csv":     "b,note,x,a\nmammal,1,A dog is a,dog\nbird,2,A robin is a,robin\nfish,,A trout is a,trout\n",
		"crlf.csv":       "\uFEFFx,a,b\r\n\"A dog is a\",dog,mammal\r\nA robin is a,robin,bird\r\nA trout is a,trout,fish\r\n",
		"plain.csv":      "A dog is a,dog,mammal\nA robin is a,robin,bird\nA trout is a,trout,fish",
		"tabs.tsv":       "x\ta\tb\nA dog is a\tdog\tmammal\nA robin is a\trobin\tbird\nA trout is a\ttrout\tfish\n",
	} {
		path := file(t, dir, name, text)
		r := last[*lang.Run](t, eval(t, s, `%run implication "`+path+`"`))
		if r.Rows != 3 || r.Scored != 3 || r.BadRows != 0 || len(r.Rhos) != 3 {
			t.Errorf("%s: %s", name, r.Text(lang.Style{}))
			continue
		}
		near(t, name+": WMC", r.WMC.Lo, wmc)
		near(t, name+": ρ", r.Rho.Lo, rho)
		near(t, name+": CAcc", r.CAcc.Lo, cacc)
		near(t, name+": I", r.Info, info)
	}
}

// TestRunRows: what cannot be measured is counted with its line, and the rest is
// measured.
func TestRunRows(t *testing.T) {
	dir := t.TempDir()
	s := session(t)
	eval(t, s, "f(x, a) = M(x, a) & prob(0.5)")
	path := file(t, dir, "rows.jsonl", `{"x": "A dog is a", "a": "dog"}
{"x": "A dog is a", "a": "golden retriever"}

{"x": "A dog is a"}
{"x": "A dog is a", "a": 
{"x": "A dog is a", "a": ["dog"]}
{"x": "A dog is a", "a": ""}
{"x": "A cat is an animal. Ans", "a": "wer"}
["A dog is a"]
{"x": "`+strings.Repeat("dog ", 300)+`", "a": "dog"}
{"x": "A dog is a", "a": "\ufffd`+"\xff"+`"}
`+`{"x": "`+strings.Repeat("y", 2<<20)+`", "a": "dog"}
{"x": "A robin is a", "a": "bird"}
`)
	r := last[*lang.Run](t, eval(t, s, "%run f "+path))
	if r.Rows != 12 || r.Scored != 2 || r.MultiToken != 2 || r.BadRows != 8 {
		t.Errorf("%s", r.Text(lang.Style{}))
	}
	var got []string
	for _, b := range r.Bad {
		got = append(got, fmt.Sprintf("%d %s", b.Line, b.Why))
	}
	want := []string{
		`4 it has no field "a"`,
		`5 it is not JSON: unexpected end of JSON input`,
		`6 "a" is neither a text nor a number`,
		`7 "a" is empty`,
		`9 it has 1 value, and the schema 2 holes`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	r = last[*lang.Run](t, eval(t, s, "%run f "+path+" multi=keep limit=2"))
	if r.Rows != 2 || r.Scored != 2 || r.MultiToken != 0 {
		t.Errorf("%s", r.Text(lang.Style{}))
	}
	// Numbers fill the holes that need them.
	coins := file(t, dir, "coins.csv", "p\n0.25\n0.75\nx\n1.5\n")
	r = last[*lang.Run](t, eval(t, s, "coin(p) = prob(p)\n%run coin "+coins))
	if r.Scored != 2 || r.BadRows != 2 || r.Bad[1].Why != "a probability lies between 0 and 1" {
		t.Errorf("%s", r.Text(lang.Style{}))
	}
	near(t, "ρ", r.Rho.Lo, 0)
	near(t, "CAcc", r.CAcc.Lo, 0.5)
	if r.Model != nil {
		t.Error("a model is named that was not asked")
	}
	// Rows that are always true have no ρ.
	r = last[*lang.Run](t, eval(t, s, "sure(p) = prob(p) | true\n%run sure "+coins+" limit=2"))
	if r.Undefined != 2 || len(r.Rhos) != 0 || strings.Contains(r.Text(lang.Style{}), "NaN") || !strings.Contains(r.Text(lang.Style{}), "ρ undefined") {
		t.Errorf("%s", r.Text(lang.Style{}))
	}
	for _, test := range []struct{ name, text, want string }{
		{"columns.csv", "x,y\n1,2\n", `its columns are "x", "y", and the schema needs "p"`},
		{"rows.xml", "<a>", "the rows of a run are in a .csv, .tsv, .jsonl or .parquet file"},
		{"utf16.csv", "\xff\xfex\x00", "is in UTF-16"},
	} {
		path := file(t, dir, test.name, test.text)
		if _, err := try(s, "%run coin "+path); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", test.name, err)
		}
	}
	empty := file(t, dir, "empty.csv", "")
	for _, path := range []string{empty, file(t, dir, "header.csv", "p\n"), file(t, dir, "empty.jsonl", "\n\n")} {
		if results, err := try(s, "%run coin "+path); err == nil || !strings.Contains(err.Error(), "the file has no rows") || len(results) > 0 {
			t.Errorf("%s: %v, %v", path, results, err)
		}
	}
	if _, err := try(s, "%run coin "+empty+" lmit=3"); err == nil || !strings.Contains(err.Error(), "limit=N") {
		t.Errorf("got %v", err)
	}
}

// TestRunSurrogates: an escape that is half of a character makes a bad row, and is not measured as another one.
func TestRunSurrogates(t *testing.T) {
	s := session(t)
	eval(t, s, "f(x, a) = M(x, a)")
	var text strings.Builder
	halves := []string{`A \ud800 is a`, `A \udc00 is a`, `A \ude00\ud83d is a`, `A dog is a \uD83D`, `\\\ud800`}
	for _, x := range halves {
		fmt.Fprintf(&text, `{"x": "%s", "a": "dog"}`+"\n", x)
	}
	for _, x := range []string{`A dog\u0020is a`, `A \ud83d\ude00 is a`, `A \ufffd is a`, `A \\ud800 is a`} {
		fmt.Fprintf(&text, `{"x": "%s", "a": "dog", "other": "\ud800"}`+"\n", x)
	}
	path := file(t, t.TempDir(), "rows.jsonl", text.String())
	rows := measured(t, s, lang.Dataset{File: path, Schemas: []string{"f"}})
	if len(rows) != len(halves)+4 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, r := range rows {
		if half := strings.Contains(r.Bad, "half of a surrogate pair"); half != (i < len(halves)) {
			t.Errorf("line %d: %q", r.Line, r.Bad)
		}
	}
	if want := `"x" has \ud800, half of a surrogate pair, which is no character`; rows[0].Bad != want {
		t.Errorf("%q, want %q", rows[0].Bad, want)
	}
}

// TestRunReason: however long a row's text is, the reason why it is bad is seen whole.
func TestRunReason(t *testing.T) {
	s := session(t)
	eval(t, s, "f(x, a) = M(x, a)")
	path := file(t, t.TempDir(), "rows.csv", "x,a\nA dog is a,dog\n"+strings.Repeat("word ", 160_000)+",dog\n"+strings.Repeat("w", 800_000)+",dog\n")
	r := last[*lang.Run](t, eval(t, s, "%run f "+path))
	if r.BadRows != 2 {
		t.Fatal(r.Text(lang.Style{}))
	}
	for _, width := range []int{60, 80, 200} {
		text := r.Text(lang.Style{Width: width})
		if n := strings.Count(strings.Join(strings.Fields(text), " "), "cannot fit the model's context of 64 tokens; shorten it"); n != 2 {
			t.Errorf("the reason is seen %d times in\n%s", n, text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if len([]rune(line)) > width && !strings.Contains(line, path) {
				t.Errorf("%d columns: %s", len([]rune(line)), line)
			}
		}
	}
}

// TestRunStopped: an interrupted run shows what it has.
func TestRunStopped(t *testing.T) {
	path := file(t, t.TempDir(), "rows.csv", "p\n"+strings.Repeat("0.75\n", 5000))
	ctx, cancel := context.WithCancel(context.Background())
	s := lang.New(lang.Options{Progress: func(label string, done, total int) {
		if label == "run coin" && done >= 1000 {
			cancel()
		}
		if total < done || total > 5001 {
			t.Errorf("%d of %d", done, total)
		}
	}})
	var results []lang.Result
	err := s.Eval(ctx, "", "coin(p) = prob(p)\n%run coin "+path, func(r lang.Result) error {
		results = append(results, r)
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	r := last[*lang.Run](t, results)
	if !r.Stopped || r.Scored < 1000 || r.Scored > 3000 || math.Abs(r.Rho.Lo-0.5) > 1e-9 || !strings.Contains(r.Text(lang.Style{}), "stopped") {
		t.Errorf("%s", r.Text(lang.Style{}))
	}
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	s := lang.New(lang.Options{Dir: dir})
	eval(t, s, "a = prob(0.3)\nc = !a\nb = a xor c -> c\nf(x, y) = M(x, \"q\\\"\") & y\na = prob(0.25) & prob(0.5)\n%plot report b\n")
	for _, ext := range []string{"svg", "png", "pdf", "logic"} {
		n := last[*lang.Note](t, eval(t, s, "%save out."+ext))
		want := filepath.Join(dir, "out."+ext)
		if n.Text(lang.Style{}) != want || n.Path != want {
			t.Errorf("%s: got %q, want %q", ext, n.Text(lang.Style{}), want)
		}
		if b, err := os.ReadFile(want); err != nil || len(b) == 0 {
			t.Errorf("%s: %v", ext, err)
		}
	}
	// What was saved can be loaded, and means the same.
	b, err := os.ReadFile(filepath.Join(dir, "out.logic"))
	if err != nil {
		t.Fatal(err)
	}
	want := "# definitions, written by %save\na = prob(0.25) & prob(0.5)\nc = !a\nb = a ^ c -> c\nf(x, y) = M(x, \"q\\\"\") & y\n"
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Error(diff)
	}
	again := lang.New(lang.Options{Dir: dir})
	near(t, "loaded again", number(t, again, "%load out.logic\nwmc(b)"), number(t, s, "wmc(b)"))

	// A file of somebody else's is not overwritten, one of its own is.
	eval(t, s, "%save out.logic")
	file(t, dir, "mine.logic", "# by hand\n")
	for _, ext := range []string{"png", "pdf", "svg"} {
		file(t, dir, "mine."+ext, "notes of months")
		eval(t, s, "%save out."+ext) // an image may be replaced
		file(t, dir, "empty."+ext, "")
		eval(t, s, "%save empty."+ext)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.svg"), 0o755); err != nil {
		t.Fatal(err)
	}
	for src, want := range map[string]string{
		"%save mine.logic": "mine.logic is there already and was not written by %save; choose another name",
		"%save mine.png":   "mine.png is there already and is no PNG image; choose another name",
		"%save mine.pdf":   "is no PDF image",
		"%save mine.svg":   "is no SVG image",
		"%save folder.svg": "folder.svg cannot be written: is a directory",
		"%save " + strings.Repeat("n", 300) + ".logic": "cannot be written: file name too long",
		"%save " + strings.Repeat("n", 300) + ".svg":   "cannot be written: file name too long",
		"%save nowhere/figure.svg":                     "cannot be written: no such file or directory",
		"%save figure":                                 "told by the name's ending",
		"%save":                                        "write %save FILE",
	} {
		if _, err := try(s, src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", src, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".modellog*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestPlots(t *testing.T) {
	dir := t.TempDir()
	rows := file(t, dir, "facts.jsonl", facts)
	s := session(t)
	pathOfPublished := file(t, dir, "published.csv", published)
	eval(t, s, `dog = M("A dog is a", "dog")
mammal = M("A dog is a", "mammal")
implication(x, a, b) = M(x, a) -> M(x, b)
L = ladder("A dog is a mammal.")
%run implication `+rows)
	for _, plot := range []string{
		"report dog -> mammal", `report implication("A dog is a", "dog", "mammal")`, "interpretations dog xor mammal",
		"interpretations atleast(2, prob(0.1), prob(0.2), prob(0.3), prob(0.4), prob(0.5), prob(0.6), prob(0.7))",
		`ladder "A dog is a mammal."`, `ladder "A dog is" "a mammal."`, "ladder L", "ladder ladder(prob(0.5), prob(0.2))",
		"informativeness dog -> mammal, dog xor mammal, L", "informativeness implication, dog & mammal", "informativeness", "histograms", "histograms implication",
		"scaling implication", `scaling published.csv implication subset="Forward Implication"`, "scaling published.csv subset=transitivity implication=Transitivity",
		"calibration dog, mammal", `calibration M("A dog is a", "cat")`, "histogram",
	} {
		f := last[*lang.Figure](t, eval(t, s, "%plot "+strings.Replace(plot, "published.csv", pathOfPublished, 1)))
		var b strings.Builder
		if err := f.Write(&b, "svg"); err != nil || !strings.Contains(b.String(), "<svg") {
			t.Errorf("%s: %v", plot, err)
		}
	}
	if _, err := try(s, "%model top\n%plot interpretations dog"); err == nil || !strings.Contains(err.Error(), "gives intervals") {
		t.Errorf("got %v", err)
	}
	eval(t, s, "%plot report dog -> mammal")
	if got := eval(t, s, "%plot report dog;\n%save a.svg"); len(got) != 1 {
		t.Errorf("a silenced figure is shown, or not kept: %d results", len(got))
	}
}

func TestSilence(t *testing.T) {
	s := session(t)
	got := eval(t, s, "prob(0.3);\nwmc(true);\n%who;\nM(\"A dog is a\", \"dog\");\n%time true;")
	var notes []string
	for _, r := range got {
		n, ok := r.(*lang.Note)
		if !ok {
			t.Fatalf("%s is not silent", r.Kind())
		}
		notes = append(notes, n.What)
	}
	if diff := cmp.Diff([]string{"model", "time"}, notes); diff != "" {
		t.Error(diff)
	}
	if _, err := try(s, "nobody;"); err == nil {
		t.Error("an error was silenced")
	}
}

// TestHelp runs every page's example, and looks for a page for each thing there is.
func TestHelp(t *testing.T) {
	dir := t.TempDir()
	file(t, dir, "schemas.logic", "implication(x, a, b) = M(x, a) -> M(x, b)\n")
	file(t, dir, "facts.jsonl", facts)
	file(t, dir, "published.csv", published)
	topics := eval(t, session(t), "%help")[0].Text(lang.Style{})
	if !strings.Contains(topics, "%help TOPIC") {
		t.Error("the overview does not say how to go on")
	}
	for _, name := range []string{
		"<->", "->", "|", "xor", "^", "&", "!", "~", "iff", "implies", "or", "and", "not", "true", "false", "↔", "→", "∨", "⊕", "∧", "¬", "⊤", "⊥",
		"atleast", "atmost", "exactly", "M", "prob", "likelihood", "ladder",
		"wmc", "wmc0", "rho", "cacc", "info", "loss", "grad", "marginals", "models", "mpe", "entails", "equivalent", "top",
		"model", "%model", "%models", "calibration", "%calibration", "load", "run", "plot", "scaling", "histograms", "informativeness", "save", "who", "reset", "time", "%time", "help", "%help",
		"schema", "statements",
	} {
		text, ok := lang.Help(name)
		if !ok {
			t.Errorf("there is no help on %s", name)
			continue
		}
		_, example, ok := strings.Cut(text, "Try:\n\n")
		if !ok {
			t.Errorf("the help on %s has no example", name)
			continue
		}
		if shown := eval(t, session(t), `%help "`+name+`"`)[0].Text(lang.Style{}); shown != text {
			t.Errorf("%%help %s shows\n%s", name, shown)
		}
		for _, l := range strings.Split(text, "\n") {
			if len([]rune(l)) > 80 && !strings.HasPrefix(l, name) && l != strings.Split(text, "\n")[0] {
				t.Errorf("%s: a line of %d columns: %s", name, len([]rune(l)), l)
			}
		}
		example = strings.ReplaceAll(example, "gemma3:270m-pt", "ngram")
		s := session(t)
		// Files are looked for beside the program.
		path := file(t, dir, "example.logic", example)
		if err := s.Eval(context.Background(), path, example, func(lang.Result) error { return nil }); err != nil {
			t.Errorf("the example of %s: %v\n%s", name, err, example)
		}
	}
}

func TestComplete(t *testing.T) {
	dir := t.TempDir()
	file(t, dir, "facts.jsonl", "")
	file(t, dir, "two words.csv", "")
	file(t, dir, "folder/inner.logic", "")
	file(t, dir, ".hidden", "")
	s := lang.New(lang.Options{Dir: dir, ModelNames: func(context.Context) ([]lm.ModelName, error) {
		return []lm.ModelName{{Name: "gemma3:270m-pt"}, {Name: "smollm2:135m-instruct"}}, nil
	}})
	eval(t, s, `dog = M("A dog is a", "dog")
domestic(x) = M(x, "dog")
dachshund = dog & dog
Straße = dog
犬 = dog
L = ladder("a b")`)
	for _, test := range []struct {
		text  string // with | at the cursor
		start int
		want  []string
	}{
		{"do|", 0, []string{"dog", "domestic("}},
		{"dog & do|", 6, []string{"dog", "domestic("}},
		{"!da|", 1, []string{"dachshund"}},
		// Positions are code points: an emoji is one (jupyterlab#13961).
		{`x = M("🐶", "🐕‍🦺") & do|`, 20, []string{"dog", "domestic("}},
		{`é🐶 "🐶" do|`, 7, []string{"dog", "domestic("}},
		{"Str|", 0, []string{"Straße"}},
		{"!犬|", 1, []string{"犬"}},
		{"wm|", 0, []string{"wmc(", "wmc0("}},
		{"wmc(dog) im|", 9, []string{"implies"}},
		{`M("do|`, 5, nil},
		{`M("a", "do|g")`, 10, nil},
		{"# do|", 4, nil},
		{"12do|", 4, nil},
		{"do| -> mammal", 0, []string{"dog", "domestic("}},
		{"a\ndog & do|", 8, []string{"dog", "domestic("}},
		{"f(xyz, b) = M(xy|", 14, []string{"xyz"}},
		{"%mo|", 0, []string{"%model", "%models"}},
		{"  %wh|", 2, []string{"%who"}},
		{"%|", 0, []string{"%model", "%models", "%calibration", "%load", "%run", "%plot", "%calc", "%table", "%save", "%who", "%reset", "%time", "%help"}},
		{"%model |", 7, []string{"gemma3:270m-pt", "smollm2:135m-instruct"}},
		{"%model gemma3:|", 7, []string{"gemma3:270m-pt"}},
		{"%calibration n|", 13, []string{"nucleus-entropy", "nucleus-size"}},
		{"%help wm|", 6, []string{"wmc", "wmc0"}},
		{"%load f|", 6, []string{"facts.jsonl", "folder/"}},
		{"%load folder/|", 6, []string{"folder/inner.logic"}},
		{"%load |", 6, []string{"facts.jsonl", "folder/", `"two words.csv"`}},
		{`%load "tw|`, 6, []string{`"two words.csv"`}},
		{"%run d|", 5, []string{"domestic"}},
		{"%run domestic fa|", 14, []string{"facts.jsonl"}},
		{"%run domestic facts.jsonl f|", 27, nil},
		{"%save fac|", 6, []string{"facts.jsonl"}},
		{"%plot r|", 6, []string{"report"}},
		{"%plot scaling f|", 14, []string{"facts.jsonl", "folder/"}},
		{"%plot scaling facts.jsonl d|", 26, []string{"domestic"}},
		{`%plot scaling subset="a b" d|`, 27, []string{"domestic"}},
		{"%plot report do|", 13, []string{"dog", "domestic("}},
		{"%calc 1 - wmc(do|", 14, []string{"dog", "domestic("}},
		{"%calc 2 * sq|", 10, []string{"sqrt"}},
		{"%time do|", 6, []string{"dog", "domestic("}},
		{"%time %pl|", 6, []string{"%plot"}},
		{"%who |", 5, nil},
		{"nobody|", 0, nil},
	} {
		runes := []rune(strings.Replace(test.text, "|", "", 1))
		pos := len([]rune(strings.SplitN(test.text, "|", 2)[0]))
		start, candidates := s.Complete(string(runes), pos)
		var got []string
		for _, c := range candidates {
			got = append(got, c.Text)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || start != test.start {
			t.Errorf("%s: start %d, want %d %s", test.text, start, test.start, diff)
		}
	}
	// A front-end that counts otherwise does no harm.
	for _, pos := range []int{-1, 100} {
		s.Complete("do🐶", pos)
	}
}

const published = `table,model,family,size,subset,quantity,unit,value,std
Paper Table 2,Small,Small,270000000,Forward Implication,CAcc,%,79.7,0.5
Paper Table 2,Large,Small,12000000000,Forward Implication,CAcc,%,45.2,2
Paper Table 2,Large,Small,12000000000,Transitivity,CAcc,%,40.4,1.6
`

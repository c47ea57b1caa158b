package preference

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modellog/modellog/internal/modeltest"
)

func TestReadNovelEval(t *testing.T) {
	d, c, err := Read(NovelEval, modeltest.Shared(t, "data/noveleval.json"), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sum, pairs, ties := 0.0, 0, 0
	for _, in := range d.Instances {
		if len(in.Items) != 20 {
			t.Errorf("query %s has %d passages", in.ID, len(in.Items))
		}
		human := in.Human()
		for i, item := range in.Items {
			sum += item.Score
			for j := range i {
				pairs++
				if human(i, j) == 0.5 {
					ties++
				}
			}
		}
	}
	if c != (ReadCounts{Instances: 21}) || len(d.Instances) != 21 || sum != novelEvalRelevance || pairs != 3990 || ties != novelEvalTies {
		t.Errorf("%+v, relevance %g, %d pairs, %d ties", c, sum, pairs, ties)
	}
	if in := d.Instances[3]; in.ID != "3" || in.Source != "Who will be the CEO of Twitter after Elon Musk is no longer the CEO?" || in.Items[0].ID != "3-0" || in.Line != 1 || d.Name != "NovelEval" {
		t.Errorf("%s %q %s line %d", in.ID, in.Source, in.Items[0].ID, in.Line)
	}
	if _, _, err := Read(NovelEval, d.File, ReadOptions{Qrels: d.File}); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("passages as relevance: %v", err)
	}
}

func TestReadNewsroom(t *testing.T) {
	path := modeltest.Shared(t, "data/newsroom.json")
	for aspect, want := range map[string]float64{"": newsroomCoherence, "relevance": newsroomRelevance} {
		d, c, err := Read(Newsroom, path, ReadOptions{Aspect: aspect})
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, in := range d.Instances {
			if len(in.Items) != 7 {
				t.Errorf("article %s has %d summaries", in.ID, len(in.Items))
			}
			for _, item := range append([]Item{{Text: in.Source}}, in.Items...) {
				for _, left := range []string{"</p>", "<p>", "&quot;", "&#x27;", "&lt;", "&amp;"} {
					if strings.Contains(item.Text, left) {
						t.Errorf("article %s has %s", in.ID, left)
					}
				}
				sum += item.Score
			}
		}
		if mean := sum / 420; c != (ReadCounts{Instances: 60}) || math.Abs(mean-want) > 1e-12 {
			t.Errorf("%+v, mean %s %.16g, want %g", c, aspect, mean, want)
		}
		if s := d.Instances[0].Source; !strings.HasPrefix(s, "A worker sets up a polling station the morning of the GOP primary in Florida. Fewer voters than expected turned out.\nEditor's note: John Avlon") {
			t.Errorf("%.200q", s)
		}
	}
	if _, _, err := Read(Newsroom, path, ReadOptions{Aspect: "beauty"}); err == nil || !strings.Contains(err.Error(), "there are coherence, fluency") {
		t.Errorf("an unknown aspect: %v", err)
	}
}

// The figures of the shared files, counted with Python.
const (
	novelEvalRelevance = 220
	novelEvalTies      = 2147
	newsroomCoherence  = 3.392063492063493
	newsroomRelevance  = 3.6119047619047615
)

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// SummEval is published as a list, too, in the form of Newsroom with the names of systems.
func TestReadSummEvalList(t *testing.T) {
	row := func(doc, system, summary string, score string) string {
		return `{"doc_id":"` + doc + `","system_id":"` + system + `","source":"An article .","reference":"r","system_output":"` + summary + `","scores":{"coherence":` + score + `,"consistency":5.0,"fluency":5.0,"relevance":2.0}}`
	}
	path := write(t, "summeval.json", "\ufeff [\n"+row("dm-1", "M11", "one", "1.3333333333333333")+",\n"+row("dm-1", "M8", "two", "4")+"\n]\n")
	d, c, err := Read(SummEval, path, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in := d.Instances[0]
	if d.Name != "SummEval" || c != (ReadCounts{Instances: 1}) || in.ID != "dm-1" || in.Source != "An article ." || !slices.Equal(in.Items, []Item{{"M11", "one", 4. / 3}, {"M8", "two", 4}}) {
		t.Errorf("%s %+v %+v", d.Name, c, in)
	}
}

func TestReadSummEval(t *testing.T) {
	row := func(id, model, text, decoded, scores string) string {
		return `{"id":"` + id + `","model_id":"` + model + `","text":"` + text + `","decoded":"` + decoded + `","filepath":"cnndm/dailymail/stories/` + id + `.story","references":[],"turker_annotations":[],"expert_annotations":[` + scores + `]}` + "\n"
	}
	path := write(t, "model_annotations.aligned.paired.jsonl", "\ufeff"+
		row("dm-1", "M8", "An  article.\\n\\nIts second paragraph.", " one\\tsummary ", `{"coherence":2,"consistency":5,"fluency":4,"relevance":1},{"coherence":5,"consistency":5,"fluency":4,"relevance":1}`)+
		row("dm-2", "M8", "Another.", "x", `{"coherence":1}`)+
		"\n"+
		row("dm-1", "M9", "An article.\\nIts second paragraph.", "two", `{"coherence":4}`)+
		row("dm-2", "M9", "Yet another.", "y", `{"coherence":1}`)+
		row("dm-2", "M10", "Another.", "z", `{"fluency":1}`)+
		`{"id":"dm-3","decoded":"x","expert_annotations":[{"coherence":1}]}`+"\n"+
		"[1]\n")
	d, c, err := Read(SummEval, path, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in := d.Instances[0]
	if in.ID != "dm-1" || in.Source != "An article.\nIts second paragraph." || in.Line != 1 || !slices.Equal(in.Items, []Item{{"M8", "one summary", 3.5}, {"M9", "two", 4}}) {
		t.Errorf("%+v", in)
	}
	want := map[int]string{2: "it has 1 items", 5: "another source on line 2", 6: `no score of "coherence"; there are fluency`, 7: "pair it with", 8: "JSON array"}
	for _, in := range d.Instances[1:] {
		if w := want[in.Line]; w == "" || !strings.Contains(in.Bad, w) {
			t.Errorf("line %d: %q, want %q", in.Line, in.Bad, w)
		}
	}
	if c != (ReadCounts{Instances: 1, Bad: 5}) {
		t.Errorf("%+v", c)
	}
}

func TestReadFeedback(t *testing.T) {
	row := func(id, a, b, choice string) string {
		return `{"info":{"id":"` + id + `","post":"I did.\nThen\n  not.","title":"A title","subreddit":"r"},"split":"train","summaries":[{"text":" ` + a + `","policy":"sup1","note":null},{"text":"` + b + `","policy":"ref"}],"choice":` + choice + `,"worker":"w7","extra":{"confidence":3}}` + "\n"
	}
	path := write(t, "batch3.json", row("t3_a", "one", "two", "0")+row("t3_b", "x", "y", "1")+row("t3_a", "three", "one", "1")+row("t3_a", "two", "one", "0")+
		row("t3_a", "two", " two ", "0")+row("t3_a", "two", "one", "2")+row("t3_a", "two", "", "1")+
		`{"info":{"id":"cnn","article":"News."},"summaries":[{"text":"a"},{"text":"b"}],"choice":1}`+"\n{\n")
	d, c, err := Read(Feedback, path, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a := d.Instances[0]
	if a.Source != "A title\nI did.\nThen\nnot." || len(a.Items) != 3 || a.Items[2].Text != "three" || a.Items[0].Score == a.Items[0].Score {
		t.Errorf("%+v", a)
	}
	if want := []Comparison{{0, 1, 1, "w7", 1}, {2, 0, 0, "w7", 3}, {1, 0, 1, "w7", 4}}; !slices.Equal(a.Comparisons, want) {
		t.Errorf("%+v", a.Comparisons)
	}
	// The two annotations of one and two contradict each other.
	if h := a.Human(); h(0, 1) != 0.5 || h(0, 2) != 1 || h(2, 0) != 0 || h(1, 2) == h(1, 2) {
		t.Errorf("%g %g %g", h(0, 1), h(0, 2), h(1, 2))
	}
	want := map[int]string{5: "are the same", 6: "neither 0 nor 1", 7: "is empty", 9: "no JSON"}
	for _, in := range d.Instances {
		if in.Bad != "" && (want[in.Line] == "" || !strings.Contains(in.Bad, want[in.Line])) {
			t.Errorf("line %d: %q", in.Line, in.Bad)
		}
	}
	if c != (ReadCounts{Instances: 3, Bad: 4}) {
		t.Errorf("%+v", c)
	}
}

func TestReadStories(t *testing.T) {
	story := "Ann was late. Ann ran for the bus.\nShe fell — and ran on.\n"
	annotation := strings.Join([]string{
		"T1\tEvent 8 12\tlate", "T2\tEvent 18 21\tran", "T3\tEvent 39 43\tfell", "T4\tEvent 50 56\tran on", "T5\tActor 0 3\tAnn",
		"E1\tEvent:T1 CAUSE:E2", "E2\tEvent:T2", "E3\tEvent:T3 OVERLAPS:E2", "E4\tEvent:T4",
		"R1\tAFTER Arg1:E4 Arg2:E3", "R2\tENABLE_BEFORE Arg1:T2 Arg2:T3\t", "R3\tIDENTITY Arg1:E2 Arg2:E4", "#1\tAnnotatorNotes T1\tx", "*\tEquiv T1 T2",
	}, "\n") + "\n"
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("train/1.txt", story)
	put("train/1.ann", annotation)
	put("train/2.txt", "Ann left.")
	put("train/2.ann", "T1\tEvent 4 8\tleft\n")
	put("dev/3.txt", "Ann left.")
	put("dev/3.ann", "T1\tEvent 4 9\tleft\n")
	put("dev/4.ann", "")
	d, c, err := Read(CaTeRS, dir, ReadOptions{MinEvents: 4})
	if err != nil {
		t.Fatal(err)
	}
	if c != (ReadCounts{Instances: 1, Bad: 2, Filtered: 1, Unordered: 2}) {
		t.Errorf("%+v", c)
	}
	in := d.Instances[2]
	at := map[string]int{}
	for i, item := range in.Items {
		at[item.ID] = i
	}
	var words []string
	for _, id := range []string{"T1", "T2", "T3", "T4"} {
		words = append(words, in.Items[at[id]].Text)
	}
	if in.ID != "train/1" || !slices.Equal(words, []string{"late", "ran", "fell", "ran on"}) {
		t.Errorf("%s %q", in.ID, words)
	}
	h := in.Human()
	if h(at["T1"], at["T2"]) != 1 || h(at["T4"], at["T3"]) != 0 || h(at["T2"], at["T3"]) != 1 || len(in.Comparisons) != 3 {
		t.Errorf("%+v", in.Comparisons)
	}
	if !strings.Contains(d.Instances[0].Bad, `the story has "left." where the annotation has "left"`) || !strings.Contains(d.Instances[1].Bad, "4.txt") {
		t.Errorf("%q, %q", d.Instances[0].Bad, d.Instances[1].Bad)
	}
	// Two events of the same words are told apart by their sentences.
	in, err = onlyStory(t, "Bo ran home. Then he ran!", "T1\tEvent 3 6\tran\nT2\tEvent 21 24\tran\n")
	if err != nil || len(in.Items) != 2 {
		t.Fatal(err)
	}
	for _, item := range in.Items {
		if want := map[string]string{"T1": "ran (Bo ran home.)", "T2": "ran (Then he ran!)"}[item.ID]; item.Text != want {
			t.Errorf("%q, want %q", item.Text, want)
		}
	}
	// A text in pieces.
	in, err = onlyStory(t, "He gave it up. He left.", "T1\tEvent 3 7;11 13\tgave up\nT2\tEvent 18 22\tleft\nR1\tBEFORE Arg1:T1 Arg2:T2\n")
	if err != nil || len(in.Comparisons) != 1 {
		t.Error(in, err)
	}
	if _, _, err := Read(CaTeRS, dir, ReadOptions{}); err == nil { // the paper's seven
		t.Error("stories of four events are taken")
	}
	if _, _, err := Read(CaTeRS, t.TempDir(), ReadOptions{}); err == nil || !strings.Contains(err.Error(), "no .ann file") {
		t.Errorf("an empty folder: %v", err)
	}
}

// onlyStory is the one story of a text.
func onlyStory(t *testing.T, text, annotation string) (*Instance, error) {
	t.Helper()
	all, across, err := parseStories("x", text, annotation)
	if err != nil || len(all) != 1 || across != 0 {
		t.Fatalf("%d stories, %d relations between them, %v", len(all), across, err)
	}
	return all[0].in, nil
}

// A file of CaTeRS has many stories with *** between, and one annotation whose places count through it.
func TestReadStoriesOfAFile(t *testing.T) {
	text := "\nAnn woke. She ate.\n***\nÄnne ran. She ran home.\nShe slept.\n***\n"
	place := func(words string, nth int) string {
		at := -1
		for range nth {
			at += 1 + strings.Index(text[at+1:], words)
		}
		from := utf8.RuneCountInString(text[:at])
		return fmt.Sprintf("%d %d\t%s", from, from+utf8.RuneCountInString(words), words)
	}
	annotation := strings.Join([]string{
		"T1\tEvent " + place("woke", 1), "T2\tEvent " + place("ate", 1),
		"T3\tEvent " + place("ran", 1), "T4\tEvent " + place("ran", 2), "T5\tEvent " + place("slept", 1),
		"R1\tBEFORE Arg1:T1 Arg2:T2\t", "R2\tCAUSE_TO_END_BEFORE Arg1:T5 Arg2:T4\t", "R3\tENABLE_BEFORE Arg1:T3 Arg2:T5\t", "R4\tBEFORE Arg1:T2 Arg2:T3\t",
	}, "\n")
	dir := t.TempDir()
	for name, s := range map[string]string{"1.txt": text, "1.ann": annotation} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, c, err := Read(CaTeRS, dir, ReadOptions{MinEvents: 2})
	if err != nil {
		t.Fatal(err)
	}
	if c != (ReadCounts{Instances: 2, Unordered: 2}) {
		t.Errorf("%+v", c)
	}
	for i, want := range []struct {
		id, source, comparisons string
		items                   []string
	}{
		{"1, story 1", "Ann woke. She ate.", "T1 T2;", []string{"T1 woke", "T2 ate"}},
		{"1, story 2", "Änne ran. She ran home.\nShe slept.", "T3 T5;", []string{"T3 ran (Änne ran.)", "T4 ran (She ran home.)", "T5 slept"}},
	} {
		in := d.Instances[i]
		var items []string
		for _, x := range in.Items {
			items = append(items, x.ID+" "+x.Text)
		}
		slices.Sort(items)
		comparisons := ""
		for _, x := range in.Comparisons {
			comparisons += in.Items[x.I].ID + " " + in.Items[x.J].ID + ";"
		}
		if in.ID != want.id || in.Source != want.source || comparisons != want.comparisons || !slices.Equal(items, want.items) {
			t.Errorf("%q %q %q %q", in.ID, in.Source, comparisons, items)
		}
	}
	if _, c, err = Read(CaTeRS, dir, ReadOptions{MinEvents: 3}); err != nil || c != (ReadCounts{Instances: 1, Filtered: 1, Unordered: 2}) {
		t.Errorf("%+v %v", c, err)
	}
}

func TestReadPlain(t *testing.T) {
	path := write(t, "mine.jsonl", `{"id":"a","source":"S","items":[{"id":"x","text":"one","score":2},{"id":7,"text":"two"}],"comparisons":[{"first":"7","second":"x"},{"first":"x","second":7,"p":0.25}]}
{"items":["red","green","blue"]}
{"id":"a","items":["red","green"]}
{"id":"b","items":["red",{"id":"1","text":"green"}]}
{"id":"c","items":["red",""]}
{"id":"d","items":["red"]}
{"id":"e","items":["red","green"],"comparisons":[{"first":"1","second":"3"}]}
{"id":"f","items":["red","green"],"comparisons":[{"first":"1","second":"2","p":2}]}
{"id":"g","items":["red",{"score":1}]}
{"id":"h","items":"red"}
`)
	d, c, err := Read(Plain, path, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a := d.Instances[0]
	if d.Name != "mine" || a.ID != "a" || a.Items[0] != (Item{"x", "one", 2}) || a.Items[1].ID != "7" || !slices.Equal(a.Comparisons, []Comparison{{I: 1, J: 0, P: 1}, {I: 0, J: 1, P: 0.25}}) {
		t.Errorf("%+v", a)
	}
	if b := d.Instances[1]; b.ID != "line 2" || len(b.Items) != 3 || b.Items[2].ID != "3" {
		t.Errorf("%+v", b)
	}
	want := []string{"", "", "line 1 is called a too", "two items are called 1", "item 2 is empty", "it has 1 items", "not both items", "probability 2", `item 2 has no "text"`, `"items" is a JSON string`}
	for i, in := range d.Instances {
		if in.Line != i+1 || (in.Bad == "") != (want[i] == "") || !strings.Contains(in.Bad, want[i]) {
			t.Errorf("line %d: %q, want %q", in.Line, in.Bad, want[i])
		}
	}
	if c != (ReadCounts{Instances: 2, Bad: 8}) {
		t.Errorf("%+v", c)
	}
	for _, bad := range []struct{ name, text, want string }{
		{"empty.jsonl", "", "nothing that can be asked, of 0"},
		{"bad.jsonl", "{}\n", "of 1 instances; line 1: it has 0 items"},
		{"long.jsonl", strings.Repeat("x", maxDataLineBytes+1), "line 1 is longer"},
		{"bytes.jsonl", "{\"items\":[\"a\xff\",\"b\"]}", "no valid UTF-8"},
	} {
		if _, _, err := Read(Plain, write(t, bad.name, bad.text), ReadOptions{}); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v", bad.name, err)
		}
	}
	if _, _, err := Read("x", path, ReadOptions{}); err == nil || !strings.Contains(err.Error(), "the kinds are noveleval") {
		t.Error(err)
	}
	if _, _, err := Read(Plain, t.TempDir(), ReadOptions{}); err == nil || !strings.Contains(err.Error(), "a folder") {
		t.Error(err)
	}
	if _, _, err := Read(Newsroom, path, ReadOptions{}); err == nil || !strings.Contains(err.Error(), "no JSON list") {
		t.Error(err)
	}
	two := write(t, "list.json", "[{\"doc_id\":1},\n\n {\"doc_id\":\"1\",\"source\":\"s\",\"system_output\":\"a\",\"scores\":{\"coherence\":1}},\n{\"doc_id\":\"1\",\"source\":\"s\",\"system_output\":\"b\",\"scores\":{\"coherence\":1}}")
	if _, _, err := Read(Newsroom, two, ReadOptions{}); err == nil || !strings.Contains(err.Error(), "line 4: the list has no end") {
		t.Error(err)
	}
}

// checkRead is what holds of all that is read.
func checkRead(t *testing.T, instances []*Instance) {
	var c ReadCounts
	_ = count(instances, &c)
	if c.Instances+c.Bad != len(instances) {
		t.Fatalf("%+v of %d", c, len(instances))
	}
	for _, in := range instances {
		if in.Bad != "" {
			if in.Items != nil || in.Comparisons != nil {
				t.Fatalf("%+v", in)
			}
			continue
		}
		if len(in.Items) < 2 || in.ID == "" {
			t.Fatalf("%+v", in)
		}
		if _, err := WinLoss(len(in.Items), in.Comparisons); err != nil {
			t.Fatal(err)
		}
		human := in.Human()
		if p, q := human(0, 1), human(1, 0); p+q != 1 && p == p {
			t.Fatalf("humans say %g and %g", p, q)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(uint8(0), `[{"query":"q","hits":[{"content":"a","qid":0,"docid":"0-0"},{"content":"b","qid":0,"docid":"0-1"}]}]`)
	f.Add(uint8(1), `[{"doc_id":"1","source":"a</p><p>b &amp; c","system_output":"&lt;x&gt;","scores":{"coherence":1}},{"doc_id":"1","source":"a</p><p>b &amp; c","system_output":"y","scores":{"coherence":2}}]`)
	f.Add(uint8(2), `{"id":"1","text":"t","decoded":"d","expert_annotations":[{"coherence":1}]}`)
	f.Add(uint8(3), `{"info":{"id":"1","post":"p"},"summaries":[{"text":"a"},{"text":"b"}],"choice":1}`)
	f.Add(uint8(4), `{"items":["a","b"],"comparisons":[{"first":1,"second":2}]}`)
	f.Add(uint8(5), "0 Q0 0-0 2\n0 Q0 0-1 1e9\n")
	f.Add(uint8(1), "[{]")
	f.Add(uint8(4), "{\"items\":[\"\xff\",\"b\",null]}\n[[[[")
	f.Fuzz(func(t *testing.T, kind uint8, text string) {
		var out []*Instance
		switch r := strings.NewReader(text); kind % 6 {
		case 0:
			out, _ = readNovelEval(r, map[string]map[string]float64{"0": {"0-0": 1}})
		case 1:
			out, _ = readNewsroom(r, "coherence")
		case 2:
			out, _ = readSummEval(r, "coherence")
		case 3:
			out, _ = readFeedback(r)
		case 4:
			out, _ = readPlain(r)
		default:
			_, _ = parseQrels(r, "x")
		}
		checkRead(t, out)
	})
}

func FuzzStory(f *testing.F) {
	f.Add("Ann left.", "T1\tEvent 4 8\tleft\nE1\tEvent:T1 CAUSE:E1\nR1\tBEFORE Arg1:T1 Arg2:E1\n")
	f.Add("a b", "T1\tE 0 1;2 3\ta b\nT2\tE 2 3\tb\nR1\tAFTER Arg1:T1 Arg2:T2")
	f.Add("a b\n***\nc d\n***\n", "T1\tE 0 1\ta\nT2\tE 2 3\tb\nT3\tE 8 9\tc\nT4\tE 10 11\td\nR1\tBEFORE Arg1:T1 Arg2:T2\t\nR2\tBEFORE Arg1:T3 Arg2:T1\t\n")
	f.Add("ä\xff", "T1\t\t\nT\tx -1 0\ta\n")
	f.Fuzz(func(t *testing.T, story, annotation string) {
		if all, _, err := parseStories("x", story, annotation); err == nil {
			var of []*Instance
			for _, s := range all {
				of = append(of, s.in)
			}
			checkRead(t, of)
		}
	})
}

// What is no score is not taken for 0, bad elements on one line have names of their own, and a file is one list.
func TestReadNewsroomBad(t *testing.T) {
	const good = `{"doc_id":"n","source":"s","system_output":"u","scores":{"coherence":2}}, {"doc_id":"n","source":"s","system_output":"v","scores":{"coherence":1}}`
	d, _, err := Read(Newsroom, write(t, "news.json", `[{"doc_id":1}, {"doc_id":2}, {"doc_id":"n","source":"s","system_output":"w","scores":{"coherence":null}}, `+good+`]`), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Choice{}).Choose(d.Instances); err != nil {
		t.Error(err)
	}
	if in := d.Instances; len(in) != 4 || in[0].ID != "element 1, line 1" || !strings.Contains(in[2].Bad, "null") || len(in[3].Items) != 2 {
		t.Errorf("%+v", in)
	}
	if _, _, err := Read(Newsroom, write(t, "two.json", "["+good+"]\n["+good+"]"), ReadOptions{}); err == nil || !strings.Contains(err.Error(), "line 2: something stands behind") {
		t.Error(err)
	}
	if _, _, err := Read(SummEval, write(t, "s.jsonl", `{"id":"1","decoded":"d","text":"t","expert_annotations":[{"coherence":null}]}`), ReadOptions{}); err == nil || !strings.Contains(err.Error(), "is null") {
		t.Error(err)
	}
}

// Parts of an event that overlap, and one sentence around very many events, would need gigabytes.
func TestParseStoryBounds(t *testing.T) {
	story := strings.Repeat("a", 1<<16)
	if _, _, err := parseStories("x", story, "T1\tEvent 0 65536"+strings.Repeat(";0 65536", 100_000)+"\ta\n"); err == nil || !strings.Contains(err.Error(), "longer together") {
		t.Error(err)
	}
	var ann strings.Builder
	for i := range 200 {
		fmt.Fprintf(&ann, "T%d\tEvent %d %d\ta\n", i, i, i+1)
	}
	if _, _, err := parseStories("x", story, ann.String()); err == nil || !strings.Contains(err.Error(), "sentences around them") {
		t.Error(err)
	}
}

package probct

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modellog/modellog/evals/wordnet"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/lang/syntax"
	"github.com/modellog/modellog/lm/store"
)

// sources are the data of this machine.
func sources(t testing.TB) BuildOptions {
	t.Helper()
	s, err := store.New(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var o BuildOptions
	if o.WordNet, err = wordnet.Locate("", s.DatasetDir("wordnet")); err != nil {
		t.Skipf("%v; get one with: modellog data get wordnet", err)
	}
	for _, d := range store.Datasets() {
		if d.Name != "wordnet" && !s.HasDataset(d) {
			t.Skipf("the data %q is not here; get it with: modellog data get %s", d.Name, d.Name)
		}
	}
	o.Places, o.Words = s.DatasetDir("places"), s.DatasetDir("words")
	return o
}

// committed loads the suite that is kept beside the package.
func committed(t *testing.T) (*Suite, map[string][]Row, *BuildManifest) {
	t.Helper()
	s, err := Load("suite")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string][]Row)
	for _, sub := range s.Subsets {
		if rows[sub.Name], err = LoadRows(sub.File); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join("suite", ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	var m BuildManifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return s, rows, &m
}

// TestCommittedSuite checks the rows that others run without building them.
func TestCommittedSuite(t *testing.T) {
	s, rows, m := committed(t)
	if len(s.Subsets) != 5 {
		t.Fatalf("%d subsets", len(s.Subsets))
	}
	truth := make(map[string]bool) // of each statement in the whole suite
	for _, sub := range s.Subsets {
		if n := len(rows[sub.Name]); n < 500 || n != m.Subsets[sub.Name].Filtered {
			t.Errorf("%s has %d rows, and its manifest says %d", sub.Name, n, m.Subsets[sub.Name].Filtered)
		}
		sum, err := digestFile(sub.File)
		if err != nil || sum != m.Files[filepath.Base(sub.File)] {
			t.Errorf("%s is not the file of the manifest", sub.File)
		}
		ids := make(map[string]bool)
		for _, r := range rows[sub.Name] {
			if ids[r.ID] {
				t.Errorf("%s stands twice", r.ID)
			}
			ids[r.ID] = true
			if len(r.Holes) != len(sub.Holes) {
				t.Errorf("%s: %v", r.ID, r.Holes)
			}
			for _, h := range sub.Holes {
				if r.Holes[h] == "" {
					t.Errorf("%s: %s is empty", r.ID, h)
				}
			}
			checkFacts(t, sub.Name, r)
			for _, f := range r.Facts {
				if was, ok := truth[f.Text]; ok && was != f.True {
					t.Errorf("%s: %q is true in one row and false in another", r.ID, f.Text)
				}
				truth[f.Text] = f.True
				checkArticle(t, r.ID, f.Text)
			}
			if r.Filter["judge"] != m.Judge {
				t.Errorf("%s was judged by %q", r.ID, r.Filter["judge"])
			}
		}
	}
	card, err := os.ReadFile(filepath.Join("suite", CardFile))
	if err != nil {
		t.Fatal(err)
	}
	if note, _ := readingOf(m.Digest); note == "" || !bytes.Contains(card, []byte(note)) {
		t.Error("the suite's rows were not read, or its card does not say so")
	}
}

// eventsOf are the events of a published subset's row, in the order of its schema.
func eventsOf(subset string, r Row) []event.Event {
	e := func(x, y string) event.Event { return event.Event{Prefix: r.Holes[x], Target: r.Holes[y]} }
	switch subset {
	case Transitivity:
		return []event.Event{e("x1", "y1"), e("x2", "y2"), e("x1", "y2")}
	case NegationConsistency:
		return []event.Event{e("x", "y"), e("not_x", "y")}
	case ForwardImplication, MutualExclusivity, SpatialExclusivity:
		return []event.Event{e("x", "y1"), e("x", "y2")}
	}
	return nil
}

// checkFacts compares a row's statements with the events of its schema, which are written in
// the order of the facts.
func checkFacts(t *testing.T, subset string, r Row) {
	t.Helper()
	events := eventsOf(subset, r)
	if len(events) != len(r.Facts) {
		t.Fatalf("%s: %d events and %d facts", r.ID, len(events), len(r.Facts))
	}
	for i, e := range events {
		if got := e.Prefix + " " + e.Target; got != r.Facts[i].Text {
			t.Errorf("%s: the event %q and the fact %q", r.ID, got, r.Facts[i].Text)
		}
	}
	// The schema of true statements has the events that are true, and no other.
	want := map[string][]bool{
		Transitivity: {true, true, true}, ForwardImplication: {true, true}, NegationConsistency: {true, false},
		MutualExclusivity: {true, false}, SpatialExclusivity: {true, false},
	}[subset]
	for i, f := range r.Facts {
		if f.True != want[i] {
			t.Errorf("%s: %q is %v", r.ID, f.Text, f.True)
		}
	}
}

// checkArticle checks that what follows "a" or "an" begins as it should.
func checkArticle(t *testing.T, id, text string) {
	t.Helper()
	words := strings.Fields(text)
	for i, w := range words[:len(words)-1] {
		if w := strings.ToLower(w); (w == "a" || w == "an") && Article(words[i+1]) != w {
			t.Errorf("%s: %q", id, text)
		}
	}
	if strings.Contains(text, "  ") || text != strings.TrimSpace(text) {
		t.Errorf("%s: %q", id, text)
	}
}

// TestLogic holds the schemas' events against those that rows are made for.
func TestLogic(t *testing.T) {
	statements, err := syntax.Parse(LogicFile, Logic)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range statements {
		d := st.(*syntax.Definition)
		name, facts := strings.CutSuffix(d.Name.Text, factsSuffix)
		var got []string
		syntax.Walk(d.X, func(x syntax.Expr) bool {
			if c, ok := x.(*syntax.Call); ok {
				got = append(got, syntax.Format(c, 0))
			}
			return true
		})
		row := Row{Holes: make(map[string]string)}
		for _, h := range holeOrder {
			row.Holes[h] = h
		}
		var want []string
		for i, e := range eventsOf(name, row) {
			true_ := name == Transitivity || name == ForwardImplication || i == 0
			if !facts || true_ {
				want = append(want, "M("+e.Prefix+", "+e.Target+")")
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", d.Name.Text, got, want)
		}
	}
}

// climber climbs a WordNet synset by synset, without the taxonomy that rows are made with.
type climber struct {
	t  *testing.T
	db *wordnet.DB
}

func (c climber) id(source string) wordnet.ID {
	key, ok := strings.CutPrefix(source, "wn:")
	if !ok {
		c.t.Fatalf("%s is no noun", source)
	}
	k, err := wordnet.ParseSenseKey(key)
	if err != nil {
		c.t.Fatal(err)
	}
	senses, err := c.db.Senses(k.Lemma, k.POS)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, s := range senses {
		if s.Key == key {
			return s.Synset
		}
	}
	c.t.Fatalf("%s is not in WordNet", key)
	return wordnet.ID{}
}

func (c climber) reach(from wordnet.ID, relations ...wordnet.Relation) map[wordnet.ID]bool {
	seen := map[wordnet.ID]bool{from: true}
	for stack := []wordnet.ID{from}; len(stack) > 0; {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		s, err := c.db.Synset(id)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, to := range s.To(relations...) {
			if !seen[to] {
				seen[to] = true
				stack = append(stack, to)
			}
		}
	}
	return seen
}

// TestGraph holds each row of a build against the sources themselves: what is said to follow does,
// and what is said to exclude each other has nothing in common.
func TestGraph(t *testing.T) {
	o := sources(t)
	o.Out, o.Seed, o.Rows = t.TempDir(), 7, 200
	m, err := Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	db, err := wordnet.Open(o.WordNet)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c := climber{t, db}
	up := []wordnet.Relation{wordnet.Hypernym, wordnet.InstanceHypernym}
	down := []wordnet.Relation{wordnet.Hyponym, wordnet.InstanceHyponym}
	gazetteer := readGazetteer(t, o.Places)
	truth := make(map[string]bool)
	for _, subset := range Published() {
		rows, err := LoadRows(filepath.Join(o.Out, subset+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) < 100 || len(rows) != m.Subsets[subset].Filtered || m.Subsets[subset].Raw < len(rows) {
			t.Errorf("%s: %d rows, %+v", subset, len(rows), m.Subsets[subset])
		}
		for _, r := range rows {
			checkFacts(t, subset, r)
			for _, f := range r.Facts {
				if was, ok := truth[f.Text]; ok && was != f.True {
					t.Errorf("%s: %q is true in one row and false in another", r.ID, f.Text)
				}
				truth[f.Text] = f.True
				if subset == SpatialExclusivity {
					if gazetteer.inside(f.Source[0], f.Source[1]) != f.True {
						t.Errorf("%s: %q is %v", r.ID, f.Text, f.True)
					}
					continue
				}
				x, y := c.id(f.Source[0]), c.id(f.Source[1])
				holds := c.reach(x, up...)[y]
				if subset == NegationConsistency {
					if !holds {
						t.Errorf("%s: %q does not hold", r.ID, r.Facts[0].Text)
					}
				} else if holds != f.True {
					t.Errorf("%s: %q is %v", r.ID, f.Text, f.True)
				}
			}
			if subset == MutualExclusivity {
				a, b := c.id(r.Facts[0].Source[1]), c.id(r.Facts[1].Source[1])
				below := c.reach(a, down...)
				for id := range c.reach(b, down...) {
					if below[id] {
						t.Errorf("%s: %v is both %s and %s", r.ID, id, r.Holes["y1"], r.Holes["y2"])
					}
				}
			}
		}
	}
	checkDecisions(t, filepath.Join(o.Out, DecisionsFile), m)
}

// checkDecisions counts the decisions again.
func checkDecisions(t *testing.T, path string, m *BuildManifest) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw, accepted := make(map[string]int), make(map[string]int)
	for line := range bytes.Lines(text) {
		var d Decision
		if err := json.Unmarshal(line, &d); err != nil {
			t.Fatal(err)
		}
		raw[d.Subset]++
		if d.Accepted {
			accepted[d.Subset]++
		}
		if d.Accepted != d.Verdicts.OK() {
			t.Errorf("%s is accepted: %v, against its verdicts", d.ID, d.Accepted)
		}
		for _, k := range Criteria() {
			if v := d.Verdicts[k]; v.Why == "" || v.OK != (v.Class == "") {
				t.Errorf("%s, %v: %+v", d.ID, k, v)
			}
		}
	}
	for _, s := range Published() {
		if raw[s] != m.Subsets[s].Raw || accepted[s] != m.Subsets[s].Filtered {
			t.Errorf("%s: %d of %d, the manifest has %+v", s, accepted[s], raw[s], m.Subsets[s])
		}
	}
	if raw["target"] != m.Targets.Raw || accepted["target"] != m.Targets.Filtered {
		t.Errorf("targets: %d of %d", accepted["target"], raw["target"])
	}
}

// gazetteer is GeoNames' data by id, read for themselves.
type gazetteer map[string][]string // what a place is in

func readGazetteer(t *testing.T, dir string) gazetteer {
	t.Helper()
	read := func(name string) map[string]map[string]any {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]map[string]any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	id := func(v map[string]any) string {
		for _, k := range []string{"geonameid", "geonameId"} {
			if n, ok := v[k].(float64); ok {
				return "geonames:" + string(json.Number(strings.TrimSuffix(jsonNumber(n), ".0")))
			}
		}
		return ""
	}
	g := make(gazetteer)
	continents, countries, states := read("continents.json"), read("countries.json"), read("us_states.json")
	for _, v := range countries {
		g[id(v)] = []string{id(continents[v["continentcode"].(string)])}
	}
	for _, v := range states {
		g[id(v)] = []string{id(countries["US"])}
	}
	for _, v := range read("cities15000.json") {
		in := []string{id(countries[v["countrycode"].(string)])}
		if v["countrycode"] == "US" {
			if s, ok := states[v["admin1code"].(string)]; ok {
				in = append(in, id(s))
			}
		}
		g[id(v)] = in
	}
	return g
}

func jsonNumber(n float64) string {
	text, _ := json.Marshal(n)
	return string(text)
}

func (g gazetteer) inside(a, b string) bool {
	for _, in := range g[a] {
		if in == b || g.inside(in, b) {
			return true
		}
	}
	return false
}

// TestDeterministic builds twice with one seed and once with another.
func TestDeterministic(t *testing.T) {
	o := sources(t)
	o.Rows = 40
	build := func(seed uint64) (string, string) {
		o.Out, o.Seed = t.TempDir(), seed
		m, err := Build(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(o.Out)
		if err != nil {
			t.Fatal(err)
		}
		all := ""
		for _, f := range files {
			sum, err := digestFile(filepath.Join(o.Out, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			all += f.Name() + " " + sum + "\n"
		}
		return all, m.Digest
	}
	a, digest := build(3)
	b, _ := build(3)
	if a != b {
		t.Errorf("one seed made\n%s\nand\n%s", a, b)
	}
	if _, other := build(4); digest == other {
		t.Error("two seeds made the same rows")
	}
}

// TestCommittedIsBuilt builds the committed suite again, from the same sources.
func TestCommittedIsBuilt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the whole suite")
	}
	o := sources(t)
	_, _, want := committed(t)
	o.Out, o.Seed, o.Rows = t.TempDir(), want.Seed, want.Rows
	m, err := Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range m.Sources {
		for name, sum := range s.Files {
			if want.Sources[i].Files[name] != sum {
				t.Skipf("the committed suite was built from another %s", name)
			}
		}
	}
	if m.Digest != want.Digest {
		t.Errorf("the rows have the digest %s, the committed ones %s", m.Digest, want.Digest)
	}
}

// TestBuildWithLLM has answers decide, is interrupted, and goes on to the same suite.
func TestBuildWithLLM(t *testing.T) {
	o := sources(t)
	o.Rows = 3
	asked := 0
	ask := func(_ context.Context, q string) (string, error) {
		if strings.Contains(q, "animal") || strings.Contains(q, "Asia") {
			return "no", nil
		}
		return "yes", nil
	}
	whole := t.TempDir()
	o.Out, o.LLM = whole, &LLM{Model: "m", Answers: filepath.Join(whole, "answers.jsonl"), Ask: func(ctx context.Context, q string) (string, error) {
		asked++
		return ask(ctx, q)
	}}
	want, err := Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	inWhole := asked
	asked = 0
	o.Out, o.LLM = broken, &LLM{Model: "m", Answers: filepath.Join(broken, "answers.jsonl"), Ask: func(ctx context.Context, q string) (string, error) {
		if asked++; asked == 9 {
			cancel()
			return "", ctx.Err()
		}
		return ask(ctx, q)
	}}
	if _, err := Build(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(broken, "*")); len(left) != 1 {
		t.Errorf("an interrupted build leaves %v", left)
	}
	before := asked
	o.LLM = &LLM{Model: "m", Answers: filepath.Join(broken, "answers.jsonl"), Ask: func(ctx context.Context, q string) (string, error) {
		asked++
		return ask(ctx, q)
	}}
	got, err := Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest != want.Digest || got.Judge != LLMJudge {
		t.Errorf("digests %s and %s", got.Digest, want.Digest)
	}
	// The last of the first build's questions was not answered.
	if before != 9 || before-1+asked-before != inWhole {
		t.Errorf("asked %d and %d times, and %d of a build without trouble", before, asked-before, inWhole)
	}
	text, err := os.ReadFile(filepath.Join(broken, MutualExclusivity+".jsonl"))
	if err != nil || bytes.Contains(text, []byte("animal")) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestBuildMistakes(t *testing.T) {
	dir := t.TempDir()
	for want, o := range map[string]BuildOptions{
		"rows cannot be built":      {Out: dir, Rows: -1},
		"reading word frequencies":  {Out: dir, Words: dir},
		"no such file or directory": {Out: filepath.Join(dir, "x"), Words: filepath.Join(dir, "none")},
	} {
		if _, err := Build(context.Background(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

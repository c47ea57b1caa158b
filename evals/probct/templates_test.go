package probct

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func defaults(t *testing.T) *Templates {
	t.Helper()
	tm, err := ParseTemplates("default", DefaultTemplates)
	if err != nil {
		t.Fatal(err)
	}
	return tm
}

func TestTemplates(t *testing.T) {
	tm := defaults(t)
	count, mass := func(s string) noun { return noun{text: s, number: Count} }, func(s string) noun { return noun{text: s, number: Mass} }
	name := func(s string, the bool) noun { return noun{text: s, number: Name, the: the} }
	for _, c := range []struct {
		subset, hole string
		x, y1        noun
		targets      []noun
		want         string
	}{
		{Transitivity, "x1", count("golden retriever"), count("dog"), []noun{count("dog"), count("mammal")}, "A golden retriever is a"},
		{Transitivity, "x2", count("golden retriever"), count("dog"), []noun{count("animal")}, "Every dog is an"},
		{Transitivity, "x1", count("owl"), count("bird"), []noun{count("bird"), count("animal")}, `error: "bird" and "animal" need different articles`},
		{Transitivity, "x1", mass("milk"), count("drink"), []noun{count("drink"), mass("food")}, `error: "drink" and "food" need different articles`},
		{Transitivity, "x1", mass("brandy"), mass("liquor"), []noun{mass("liquor"), mass("alcohol")}, "Brandy is"},
		{Transitivity, "x2", mass("brandy"), mass("liquor"), []noun{mass("alcohol")}, "All liquor is"},
		{Transitivity, "x1", name("Marie Curie", false), count("chemist"), []noun{count("chemist"), count("scientist")}, "Marie Curie was a"},
		{ForwardImplication, "x", count("arbalest"), count("crossbow"), []noun{count("crossbow"), count("weapon")}, "Arbalest is a type of"},
		{NegationConsistency, "not_x", count("ape"), noun{}, []noun{count("animal")}, "An ape is not an"},
		{SpatialExclusivity, "x", name("Paris", false), noun{}, []noun{name("France", false), name("Germany", false)}, "Paris is in"},
		{SpatialExclusivity, "x", name("Manila", false), noun{}, []noun{name("Philippines", true), name("Maldives", true)}, "Manila is in the"},
		{SpatialExclusivity, "x", name("Netherlands", true), noun{}, []noun{name("Europe", false), name("Asia", false)}, "The Netherlands is in"},
		{SpatialExclusivity, "x", name("Manila", false), noun{}, []noun{name("Philippines", true), name("Japan", false)}, `error: only one of "Philippines" and "Japan" has "the"`},
		{MutualExclusivity, "x", noun{text: "gat"}, noun{}, []noun{count("dog")}, `error: whether "gat" is counted is not clear`},
	} {
		got, err := tm.write(c.subset, c.hole, c.x, c.y1, c.targets...)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.hole, c.x.text, got, c.want)
		}
	}
}

func TestTemplatesOfOnesOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.txt")
	// A byte-order mark and CRLF do no harm.
	if err := os.WriteFile(path, []byte("\xEF\xBB\xBFforward_implication.x.count = {A x} is a kind of\r\n\r\n# more\r\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	tm, err := ReadTemplates(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := tm.write(ForwardImplication, "x", noun{text: "owl", number: Count}, noun{}); got != "An owl is a kind of" {
		t.Error(got)
	}
	if got, _ := tm.write(NegationConsistency, "x", noun{text: "owl", number: Count}, noun{}, noun{text: "bird", number: Count}); got != "An owl is a" {
		t.Error(got)
	}
	for text, want := range map[string]string{
		"x":                                   "f:1: a template is",
		"a.b.c = {X}":                         `no template "a.b.c"`,
		"\nforward_implication.x.count =":     "f:2: forward_implication.x.count has no text",
		"forward_implication.x.count = {Z}":   "{Z} is none of",
		"forward_implication.x.count = {X is": "a { has no }",
		"forward_implication.x.count = {X}\nforward_implication.x.count = {X}": "f:2: forward_implication.x.count stands in line 1",
	} {
		if _, err := ParseTemplates("f", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

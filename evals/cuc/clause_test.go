package cuc

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Forms of verbs as dictionaries have them.
func TestVerbForms(t *testing.T) {
	for _, x := range []struct{ base, s, past, ing string }{
		{"attract", "attracts", "attracted", "attracting"}, {"deny", "denies", "denied", "denying"}, {"convey", "conveys", "conveyed", "conveying"},
		{"push", "pushes", "", ""}, {"reach", "reaches", "reached", "reaching"}, {"tax", "taxes", "taxed", "taxing"}, {"discuss", "discusses", "discussed", "discussing"},
		{"stop", "stops", "stopped", "stopping"}, {"admit", "admits", "admitted", "admitting"}, {"visit", "visits", "visited", "visiting"}, {"agree", "agrees", "agreed", "agreeing"},
		{"lie", "lies", "lay", "lying"}, {"show", "shows", "showed", "showing"}, {"relax", "relaxes", "relaxed", "relaxing"}, {"suffer", "suffers", "suffered", "suffering"},
		{"develop", "develops", "developed", "developing"}, {"fail", "fails", "failed", "failing"}, {"go", "goes", "went", "going"}, {"write", "writes", "wrote", "writing"},
		{"equip", "equips", "equipped", "equipping"}, {"put", "puts", "put", "putting"}, {"spread", "spreads", "spread", "spreading"},
	} {
		if got := ending(x.base, "s"); got != x.s {
			t.Errorf("%s in -s is %s, want %s", x.base, got, x.s)
		}
		if x.past == "" {
			continue
		}
		for word, f := range map[string]form{x.base: formBase, x.s: formS, x.past: formPast | formPastPart, x.ing: formIng} {
			if verbForms[word].form&f == 0 {
				t.Errorf("%s is not known as a form of %s", word, x.base)
			}
		}
	}
	for word, want := range map[string]form{"wrote": formPast, "written": formPart, "made": formPastPart} {
		if got := verbForms[word].form; got != want {
			t.Errorf("%s has forms %b, want %b", word, got, want)
		}
	}
	// A verb stands in one of the two tables, once.
	seen := map[string]string{}
	for line := range strings.Lines(verbTable) {
		name, list, _ := strings.Cut(line, ":")
		if name != "verb" && name != "noun" {
			continue
		}
		for _, w := range strings.Fields(list) {
			if seen[w] != "" {
				t.Errorf("%s stands under %q and %q", w, seen[w], name)
			}
			seen[w] = name
		}
	}
	if len(seen) < 500 {
		t.Errorf("%d verbs", len(seen))
	}
}

// The verb of the main clause, found by hand; "" where there is none.
func TestMainVerb(t *testing.T) {
	for text, want := range map[string]string{
		"The museum attracts tourists":                                  "attracts",
		"The museum that burns down attracts tourists":                  "",
		"The driver who was fined and lost his job is a nurse":          "is",
		"Those who think he is right are few":                           "are",
		"The claim that the mill is old":                                "",
		"The claim that the mill is old was denied":                     "was",
		"If it rains, the match is off":                                 "is",
		"After the war, the mill closed its doors":                      "closed",
		"A county plans to build a bridge":                              "plans",
		"county plans to build a bridge":                                "",
		"The causes of the fire":                                        "",
		"Smoke causes the disease":                                      "causes",
		"The will of the people":                                        "",
		"The can will rust":                                             "will",
		"In May the mill burnt down":                                    "",
		"She hopes it may rain":                                         "hopes",
		"Researchers often neglect small effects":                       "neglect",
		"presenting an example to show that the plan is good":           "",
		"Workers who serve as guards should be paid":                    "should",
		"The effort to promote trade and develop towns":                 "",
		"a rule adopted by the council":                                 "",
		"The rule, adopted by the council, protects birds":              "protects",
		"The amount the mill would save is small":                       "is",
		"To truly understand the plan, we must read it":                 "must",
		"Those who claim that exhaust is harmless deny what they know":  "deny",
		"A new law, which was passed in May, needs the mayor's support": "",
	} {
		c := newClause(strings.Fields(text))
		got := c.at(c.mainVerb())
		if got != want {
			t.Errorf("%q has the verb %q, want %q", text, got, want)
		}
	}
}

// Whatever the words, a verb that is found is a word of them.
func TestMainVerbAny(t *testing.T) {
	words := strings.Fields("The a A it he who that if , (x) , and as will can May is are was closed causes need attracts of by to not often people's taxes , seeing – ’ \" é 7 what then since")
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(rapid.SampledFrom(words), 1, 12).Draw(t, "words")
		c := newClause(raw)
		if got := c.mainVerb(); got < -1 || got >= len(raw) {
			t.Fatalf("%q: %d", raw, got)
		}
		if got := c.afterFirst(); got < -1 || got >= len(raw) {
			t.Fatalf("%q: %d behind the first comma", raw, got)
		}
	})
}

package wordnet

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// openEnglish writes a WordNet of our own lines as the Open English WordNet is released in WNDB format, with what its
// releases since 2019 have and Princeton's do not. <name> stands for the offset of the synset so called.
func openEnglish(t *testing.T) *DB {
	t.Helper()
	dir := t.TempDir()
	header := "  1 This database is under a Creative Commons licence.  \n  2 A second line.  \n"
	type file struct{ name, text string }
	var many strings.Builder // more pointers than three digits hold
	for range 1100 {
		many.WriteString(" ~ <goddess> n 0000")
	}
	files := []file{
		{"data.noun", header + strings.Join([]string{
			"<heel> 07 n 01 Achilles'_heel 0 001 @ <thing> n 0000 | a weak place; \"his Achilles' heel\"  ",
			"<speed> 28 n 02 km/h 0 kilometres_per_hour 0 000 | a unit of speed – written so  ",
			"<site> 10 n 01 Yahoo! 0 000 | a name with a mark  ",
			"<group> 14 n 02 LGBT+ 0 LGBTQ 1 000 | a group  ",
			"<book> 10 n 01 Capital:_critique_of_political_economy 0 000 | a book  ",
			"<moon> 17 n 01 moon 1 001 @ <thing> n 0000 | what goes around a planet  ",
			"<likeness> 17 n 01 moon 1 001 @ <thing> n 0000 | what looks like one  ",
			"<singer> 18 n 01 John_McCormack 0 001 @i <person> n 0000 | a singer whose name was once misspelt  ",
			"<goddess> 18 n 01 Åsa 1A 000 | a word beyond ASCII, with the twenty-sixth lexical id  ",
			"<person> 18 n 03 person 0 individual 0 someone 0 1100" + many.String() + " | a human being  ",
			"<thing> 03 n 01 thing 0 000 | what there is  ",
			"",
		}, "\n")},
		{"data.verb", header + "<drop> 35 v 01 air-drop 0 001 + <thing> n 0101 00 | to drop out of an aircraft  \n"},
		{"data.adj", header + strings.Join([]string{
			"<wont> 00 s 02 wont_to(p) 0 used_to(ip) 0 001 & <accustomed> a 0000 | in the habit  ",
			"<accustomed> 00 a 01 accustomed_to 0 001 & <wont> s 0000 | commonly used  ",
			"<active> 00 a 01 active 0A 000 | full of doing  ",
			"",
		}, "\n")},
		{"index.noun", header + strings.Join([]string{
			"achilles'_heel n 1 1 @ 1 0 <heel>", "capital:_critique_of_political_economy n 1 0 1 0 <book>", "individual n 1 1 ~ 1 0 <person>",
			"john_mccormack n 1 1 @i 1 0 <singer>", "kilometres_per_hour n 1 0 1 0 <speed>", "km/h n 1 0 1 0 <speed>", "lgbt+ n 1 0 1 0 <group>",
			"lgbtq n 1 0 1 0 <group>", "moon n 2 1 @ 2 0 <moon> <likeness>", "person n 1 1 ~ 1 0 <person>", "someone n 1 1 ~ 1 0 <person>",
			"thing n 1 0 1 0 <thing>", "yahoo! n 1 0 1 0 <site>", "åsa n 1 0 1 0 <goddess>", "",
		}, "\n")},
		{"index.verb", header + "air-drop v 1 1 + 1 0 <drop>\n"},
		{"index.adj", header + "accustomed_to a 1 1 & 1 0 <accustomed>\nactive a 1 0 1 0 <active>\nused_to a 1 1 & 1 0 <wont>\nwont_to a 1 1 & 1 0 <wont>\n"},
		{"index.sense", strings.Join([]string{
			"accustomed_to%3:00:00:: <accustomed> 1 0",
			"achilles-apos-_heel%1:07:00:: <heel> 1 0",
			"active%3:00:0a:: <active> 1 0", // hexadecimal
			"air--drop%2:35:00:: <drop> 1 0",
			"capital:_critique_of_political_economy%1:10:00:: <book> 1 0",
			"gone%1:10:00:: 00000007 1 0",                 // of a synset that is no more
			"john_mccormick%1:18:00:: <singer> 1 0",       // as the name once was
			"km-sol-h%1:28:00:: <speed> 1 0",              // the same synset's other word is missing
			"lgbt-plus-%1:14:00:: <group> 1 0",            //
			"LGBTQ%1:14:01:: <group> 1 0",                 // in capitals
			"moon%1:17:01:: <moon> 1 0",                   // one key
			"moon%1:17:01:: <likeness> 2 0",               // of two synsets
			"nobody%1:18:00:: <person> 1 0",               // three words could be meant
			"person%1:18:00:: <person> 1 0",               //
			"used_to%5:00:00:accustomed_to:00 <wont> 1 0", //
			"wont_to%5:00:00:accustomed-sp-to:00 <wont> 1 0",
			"yahoo-excl-%1:10:00:: <site> 1 0",
			"åsa%1:18:26:: <goddess> 1 0",
			"",
		}, "\n")},
	}
	mark := regexp.MustCompile(`<[a-z]+>`)
	offsets := map[string]string{}
	for _, f := range files {
		if !strings.HasPrefix(f.name, "data.") {
			continue
		}
		at := 0
		for line := range strings.Lines(f.text) {
			if strings.HasPrefix(line, "<") {
				offsets[mark.FindString(line)] = fmt.Sprintf("%08d", at)
			}
			at += len(mark.ReplaceAllString(line, "00000000"))
		}
	}
	for _, f := range files {
		text := mark.ReplaceAllStringFunc(f.text, func(name string) string {
			if offsets[name] == "" {
				t.Fatalf("there is no synset %s", name)
			}
			return offsets[name]
		})
		if err := os.WriteFile(filepath.Join(dir, f.name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return reopened(t, dir)
}

func reopened(t *testing.T, dir string) *DB {
	t.Helper()
	db, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// sensesOf has for each word of each synset its key; a word without one sense, or with several, is an error.
func sensesOf(t *testing.T, db *DB) map[string]string {
	t.Helper()
	keys := map[string]string{}
	for _, pos := range []POS{Noun, Verb, Adjective} {
		if err := db.Synsets(pos, func(y *Synset) error {
			for _, w := range y.Words {
				senses, err := db.Senses(w.Lemma, pos)
				if err != nil {
					return err
				}
				n := 0
				for i, s := range senses {
					if s.Synset == y.ID {
						n++
						keys[fmt.Sprintf("%s of %.10s", w.Lemma, y.Gloss)] = s.Key
					}
					if s.Number != i+1 || s.Tags != 0 {
						t.Errorf("%s: sense %d has the number %d and %d tags", w.Lemma, i+1, s.Number, s.Tags)
					}
				}
				if n != 1 {
					t.Errorf("%q has %d senses in the synset of %q", w.Lemma, n, y.Gloss)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

// The Open English WordNet's files are read as Princeton's are: each word has its sense in each of its synsets,
// with the key that Princeton's rules make, whatever index.sense says of it.
func TestOpenEnglishWordNet(t *testing.T) {
	db := openEnglish(t)
	want := map[string]string{
		"Achilles' heel of a weak pla": "achilles'_heel%1:07:00::",
		"km/h of a unit of ":           "km/h%1:28:00::", "kilometres per hour of a unit of ": "kilometres_per_hour%1:28:00::",
		"Yahoo! of a name wit": "yahoo!%1:10:00::",
		"LGBT+ of a group":     "lgbt+%1:14:00::", "LGBTQ of a group": "LGBTQ%1:14:01::",
		"Capital: critique of political economy of a book": "capital:_critique_of_political_economy%1:10:00::",
		"moon of what goes ": "moon%1:17:01::", "moon of what looks": "moon%1:17:01::",
		"John McCormack of a singer w": "john_mccormack%1:18:00::",
		"Åsa of a word bey":            "åsa%1:18:26::",
		"person of a human be":         "person%1:18:00::", "individual of a human be": "individual%1:18:00::", "someone of a human be": "someone%1:18:00::",
		"thing of what there":    "thing%1:03:00::",
		"air-drop of to drop ou": "air-drop%2:35:00::",
		"wont to of in the hab":  "wont_to%5:00:00:accustomed-sp-to:00", "used to of in the hab": "used_to%5:00:00:accustomed_to:00",
		"accustomed to of commonly u": "accustomed_to%3:00:00::",
		"active of full of do":        "active%3:00:0a::",
	}
	if diff := cmp.Diff(want, sensesOf(t, db)); diff != "" {
		t.Error(diff)
	}
	ids, err := db.Lookup("Person", Noun)
	if err != nil || len(ids) != 1 {
		t.Fatalf("%v, %v", ids, err)
	}
	y, err := db.Synset(ids[0])
	if err != nil || len(y.To(Hyponym)) != 1100 || y.Gloss != "a human being" {
		t.Errorf("%d hyponyms, %v", len(y.To(Hyponym)), err)
	}
	ids, err = db.Lookup("used to", Adjective)
	if err != nil || len(ids) != 1 {
		t.Fatalf("%v, %v", ids, err)
	}
	y, err = db.Synset(ids[0])
	if err != nil || !slices.Equal(y.Words, []Word{{"wont to", "p", 0}, {"used to", "ip", 0}}) {
		t.Errorf("%v, %v", y, err)
	}
	if got, err := db.Licence(); err != nil || got != "This database is under a Creative Commons licence.\nA second line.\n" {
		t.Errorf("%q, %v", got, err)
	}

	// One release has an empty index.sense, which is as good as none.
	keys := maps.Clone(want)
	keys["LGBTQ of a group"] = "lgbtq%1:14:01::"
	keys["active of full of do"] = "active%3:00:10::"
	keys["wont to of in the hab"] = "wont_to%5:00:00:accustomed_to:00"
	for _, empty := range []bool{true, false} {
		path := filepath.Join(db.Dir(), "index.sense")
		err := os.WriteFile(path, nil, 0o644)
		if !empty {
			err = os.Remove(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(keys, sensesOf(t, reopened(t, db.Dir()))); diff != "" {
			t.Errorf("an empty index.sense: %v\n%s", empty, diff)
		}
	}
}

func TestUnescape(t *testing.T) {
	for text, want := range map[string]string{
		"achilles-apos- heel": "achilles' heel", "air--drop": "air-drop", "km-sol-h": "km/h", "lgbt-plus-": "lgbt+", "yahoo-excl-": "yahoo!",
		"jack-in-the-box": "jack-in-the-box", "plain": "plain",
	} {
		if got := unescape(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

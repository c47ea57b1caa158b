package wordnet

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/modellog/modellog/lm/store"
)

// small is a WordNet of a few lines of our own with what readers have stumbled over: a
// hexadecimal number of words, a lemma with ':', markers, and CRLF.
func small(t *testing.T) *DB {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	licence := "  1 A licence that says what may be done.\n"
	words := "sixteen 0 a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 k 0 l 0 m 0 n 0 o 0"
	first := "00000042 03 n 10 " + words + " 001 ~ 00000192 n 0000 | a synset of sixteen words; \"one | bar\"\n"
	if len(licence) != 42 || 42+len(first) != 192 {
		t.Fatalf("the offsets are %d and %d", len(licence), 42+len(first))
	}
	second := "00000192 10 n 02 Ratio_3:1 0 50%_off 1 003 @ 00000042 n 0000 ! 00000042 n 0102 #p 00000042 n 0000 | a ratio\r\n"
	write("data.noun", licence+first+second)
	write("index.noun", licence+"50%_off n 1 1 @ 1 0 00000192\nratio_3:1 n 1 1 @ 1 1 00000192\nsixteen n 2 1 ~ 2 1 00000042 00000192\n")
	write("index.sense", "50%_off%1:10:01:: 00000192 1 0\nlarge%5:00:00:big:01 00000001 2 7\nratio_3:1%1:10:00:: 00000192 1 3\r\nsixteen%1:03:00:: 00000042 1 0\nsixteen%1:10:05:: 00000192 2 0\n")
	write("cntlist.rev", "sixteen%1:03:00:: 1 12\ngone%1:03:00:: 1 4\n")
	write("data.adj", licence+"00000042 00 s 02 large(p) 0 big(a) 1 000 | of size\n")
	write("index.adj", "large a 1 0 1 0 00000042\n")
	db, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// TestTrouble is row 17 of the known failures: ':' in a lemma, hexadecimal word
// counts, syntactic markers.
func TestTrouble(t *testing.T) {
	db := small(t)
	ids, err := db.Lookup("Sixteen", Noun)
	if err != nil || len(ids) != 2 {
		t.Fatalf("%v %v", ids, err)
	}
	s, err := db.Synset(ids[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Words) != 16 || s.Words[15].Lemma != "o" {
		t.Errorf("%d words, the last %v", len(s.Words), s.Words[len(s.Words)-1])
	}
	if want := `a synset of sixteen words; "one | bar"`; s.Gloss != want {
		t.Errorf("the gloss is %q", s.Gloss)
	}
	s, err = db.Synset(ID{Noun, 192})
	if err != nil {
		t.Fatal(err)
	}
	want := &Synset{
		ID: ID{Noun, 192}, Lexfile: 10, Gloss: "a ratio",
		Words: []Word{{Lemma: "Ratio 3:1"}, {Lemma: "50% off", LexID: 1}},
		Pointers: []Pointer{
			{Hypernym, ID{Noun, 42}, 0, 0},
			{Antonym, ID{Noun, 42}, 1, 2},
			{PartHolonym, ID{Noun, 42}, 0, 0},
		},
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	if got := s.To(Hypernym, PartHolonym); len(got) != 2 {
		t.Errorf("pointers to %v", got)
	}
	s, err = db.Synset(ID{Adjective, 42})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Word{{"large", "p", 0}, {"big", "a", 1}}, s.Words); d != "" || !s.Satellite {
		t.Error(d, s.Satellite)
	}

	if got, err := db.Licence(); err != nil || got != "A licence that says what may be done.\n" {
		t.Errorf("the licence is %q, %v", got, err)
	}

	sense, ok, err := db.SenseOf("ratio 3:1", ID{Noun, 192})
	if err != nil || !ok || sense.Key != "ratio_3:1%1:10:00::" || sense.Tags != 3 {
		t.Errorf("%v %v %v", sense, ok, err)
	}
	all, err := db.Senses("sixteen", Noun)
	if err != nil || len(all) != 2 || all[0].Tags != 12 || all[1].Number != 2 {
		t.Errorf("%v %v", all, err)
	}
}

func TestParseSenseKey(t *testing.T) {
	for key, want := range map[string]SenseKey{
		"dog%1:05:00::":          {"dog", Noun, 5, 0, "", 0},
		"Ratio_3:1%1:10:00::":    {"ratio 3:1", Noun, 10, 0, "", 0},
		"%%1:10:00::":            {"%", Noun, 10, 0, "", 0},
		"50%_off%1:10:01::":      {"50% off", Noun, 10, 1, "", 0},
		"large%5:00:00:a:b%c:12": {"large", Adjective, 0, 0, "a:b%c", 12},
		"run%2:38:00::":          {"run", Verb, 38, 0, "", 0},
	} {
		got, err := ParseSenseKey(key)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", key, got, err)
		}
	}
	for _, key := range []string{"", "dog", "%1:05:00::", "dog%1:05", "dog%6:05:00::", "dog%1:x:00::", "dog%1:05:00:"} {
		if got, err := ParseSenseKey(key); err == nil {
			t.Errorf("%q: %v", key, got)
		}
	}
}

func TestMistakes(t *testing.T) {
	for line, want := range map[string]string{
		"":                                      "ends before the offset",
		"00000042 03 n":                         "ends before the number of words",
		"00000042 03 x 01 a 0 000 |":            `the part of speech is "x"`,
		"00000042 03 n 0g a 0 000 |":            `the number of words is "0g"`,
		"00000042 03 n 00 000 |":                "no words",
		"00000042 03 n 02 a 0 000 |":            "a word's lexical id",
		"00000042 03 n 01 a 0 001 @ 7 n":        "ends before a pointer's words",
		"99999999999 03 n 01 a 0 000 |":         `the offset is "99999999999"`,
		"00000042 03 n 01 a 0 001 @ 7 n 0201 |": "from word 2 of 1",
	} {
		if _, err := parseSynset(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
	db := small(t)
	if _, err := db.Synset(ID{Noun, 43}); err == nil || !strings.Contains(err.Error(), "at byte 43") {
		t.Errorf("an offset in the middle of a line: %v", err)
	}
	if _, err := db.Synset(ID{Noun, 1 << 30}); err == nil || !strings.Contains(err.Error(), "ends before") {
		t.Errorf("an offset behind the end: %v", err)
	}
	var format *FormatError
	err := scanLines(strings.NewReader("\xEF\xBB\xBFone\r\n\r\n  licence\r\ntwo"), "f", func(line string) error {
		switch line {
		case "one":
			return nil
		case "two":
			return wrong("bad")
		}
		t.Errorf("line %q", line)
		return nil
	})
	if !errors.As(err, &format) || format.Line != 4 || err.Error() != "f:4: bad" {
		t.Errorf("%v", err)
	}
	if err := scanLines(strings.NewReader("x\n"+strings.Repeat("y", maxLine+9)), "f", func(string) error { return nil }); !errors.As(err, &format) || format.Line != 2 {
		t.Errorf("%v", err)
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no index.noun") {
		t.Errorf("%v", err)
	}
}

func TestLocate(t *testing.T) {
	dir := small(t).Dir()
	t.Setenv("WNSEARCHDIR", "")
	t.Setenv("WNHOME", "")
	if got, err := Locate(dir); err != nil || got != dir {
		t.Errorf("%v %v", got, err)
	}
	if _, err := Locate(t.TempDir(), dir); err == nil {
		t.Error("a place that was named has none, and another was taken")
	}
	t.Setenv("WNSEARCHDIR", dir)
	if got, err := Locate(""); err != nil || got != dir {
		t.Errorf("%v %v", got, err)
	}
	t.Setenv("WNSEARCHDIR", filepath.Join(dir, "none"))
	if _, err := Locate("", dir); err == nil || !strings.Contains(err.Error(), "$WNSEARCHDIR") {
		t.Errorf("%v", err)
	}
}

// whole opens the WordNet of this machine.
func whole(t *testing.T) *DB {
	t.Helper()
	data, err := store.DataDir()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := Locate("", filepath.Join(data, "wordnet"))
	if err != nil {
		t.Skipf("%v; get one with: modellog data get wordnet", err)
	}
	db, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// TestWhole reads a whole WordNet: each pointer leads to a synset, hypernyms and hyponyms
// answer each other, each noun of the index is in its synsets, and sense
// numbers are the order of the index.
func TestWhole(t *testing.T) {
	db := whole(t)
	nouns := make(map[ID]*Synset)
	others := make(map[ID]bool)
	for _, pos := range []POS{Noun, Verb, Adjective, Adverb} {
		if err := db.Synsets(pos, func(s *Synset) error {
			if pos == Noun {
				nouns[s.ID] = s
			}
			others[s.ID] = true
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(nouns) < 80_000 {
		t.Errorf("%d noun synsets", len(nouns))
	}
	back := map[Relation]Relation{Hypernym: Hyponym, InstanceHypernym: InstanceHyponym, PartHolonym: PartMeronym, MemberHolonym: MemberMeronym}
	one := 0
	for id, s := range nouns {
		for _, p := range s.Pointers {
			if !others[p.Target] {
				t.Fatalf("%v points to %v, which is not there", id, p.Target)
			}
			if r, ok := back[p.Relation]; ok {
				answered := false
				for _, q := range nouns[p.Target].Pointers {
					answered = answered || q.Relation == r && q.Target == id
				}
				if !answered {
					t.Errorf("%v %s %v has no answer", id, p.Relation, p.Target)
				}
			}
		}
		if one++; one%100 == 0 {
			again, err := db.Synset(id)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(s, again); d != "" {
				t.Fatal(d)
			}
			for _, w := range s.Words {
				ids, err := db.Lookup(w.Lemma, Noun)
				if err != nil {
					t.Fatal(err)
				}
				senses, err := db.Senses(w.Lemma, Noun)
				if err != nil {
					t.Fatal(err)
				}
				if len(ids) == 0 || len(ids) != len(senses) {
					t.Fatalf("%s: %v and %v", w.Lemma, ids, senses)
				}
				for i := range ids {
					if ids[i] != senses[i].Synset {
						t.Errorf("%s: sense %d is %v and %v", w.Lemma, i+1, ids[i], senses[i].Synset)
					}
				}
			}
		}
	}
}

// TestDerivedSenses makes the senses of a whole WordNet without its index.sense and compares them
// with that.
func TestDerivedSenses(t *testing.T) {
	db := whole(t)
	want := newSenses()
	if _, err := os.Stat(filepath.Join(db.Dir(), "index.sense")); err != nil {
		t.Skipf("%s has no index.sense to compare with", db.Dir())
	}
	if err := db.indexedSenses(want); err != nil {
		t.Fatal(err)
	}
	got := newSenses()
	if err := db.deriveSenses(got); err != nil {
		t.Fatal(err)
	}
	differ := 0
	for key, w := range want.byKey {
		w.Tags = 0
		if g := got.byKey[key]; g == nil || *g != *w {
			if differ++; differ < 10 {
				t.Errorf("%s: %+v, want %+v", key, g, w)
			}
		}
	}
	if len(got.all) != len(want.all) || len(got.byKey) != len(want.byKey) || len(got.byWord) != len(want.byWord) || differ > 0 {
		t.Errorf("%d senses of %d words, want %d of %d; %d are wrong", len(got.all), len(got.byWord), len(want.all), len(want.byWord), differ)
	}
}

func BenchmarkNouns(b *testing.B) {
	data, err := store.DataDir()
	if err != nil {
		b.Fatal(err)
	}
	dir, err := Locate("", filepath.Join(data, "wordnet"))
	if err != nil {
		b.Skip(err)
	}
	db, err := Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for b.Loop() {
		if err := db.Synsets(Noun, func(*Synset) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzSynset(f *testing.F) {
	f.Add("00000168 10 n 02 Ratio_3:1 0 50%_off 1 002 @ 00000042 n 0000 ! 00000042 n 0102 | a ratio")
	f.Add("00000042 00 s 02 large(p) 0 big(a) 1 000 | of size")
	f.Add("00000042 38 v 01 run 0 000 02 + 01 00 + 02 01 | go")
	f.Fuzz(func(t *testing.T, line string) {
		s, err := parseSynset(line)
		if err != nil {
			if !errors.As(err, new(syntaxError)) {
				t.Fatalf("%T", err)
			}
			return
		}
		if len(s.Words) == 0 || s.ID.POS.file() == "" {
			t.Fatalf("%+v", s)
		}
		for _, p := range s.Pointers {
			if p.Source > len(s.Words) || p.Target.POS.file() == "" {
				t.Fatalf("%+v", p)
			}
		}
	})
}

func FuzzIndex(f *testing.F) {
	f.Add("sixteen n 2 1 ~ 2 1 00000042 00000168")
	f.Add("a n 1000 0 1 0 1")
	f.Fuzz(func(t *testing.T, line string) {
		lemma, ids, err := parseIndex(line, Noun)
		if err == nil && (lemma == "" || len(ids) > maxSenses) {
			t.Fatalf("%q %v", lemma, ids)
		}
	})
}

func FuzzSenseKey(f *testing.F) {
	f.Add("dog%1:05:00::")
	f.Add("large%5:00:00:a:b%c:12")
	f.Fuzz(func(t *testing.T, key string) {
		k, err := ParseSenseKey(key)
		if err != nil {
			return
		}
		if k.Lemma == "" || k.POS.file() == "" || !strings.Contains(key, "%") {
			t.Fatalf("%q: %+v", key, k)
		}
	})
}

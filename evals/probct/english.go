package probct

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	pluralize "github.com/gertd/go-pluralize"
)

// Article is "a" or "an", as the sound of a word's beginning asks for.
func Article(text string) string {
	if strings.HasPrefix(strings.ToLower(text), "hors d") {
		return "an"
	}
	if word, _, _ := strings.Cut(strings.ReplaceAll(text, " ", "-"), "-"); vowelSound(word) {
		return "an"
	}
	return "a"
}

// silentH are beginnings whose h is not heard.
var silentH = []string{"heir", "honest", "honor", "honour", "hour"}

func vowelSound(word string) bool {
	lower := strings.ToLower(word)
	first, _ := utf8.DecodeRuneInString(lower)
	// Capitals alone are spelt out (an FBI agent, an X-ray), unless there are enough of
	// them with vowels to make a word (a NATO member).
	if word != lower && strings.ToUpper(word) == word && (len(word) <= 3 || !strings.ContainsAny(lower, "aeiouy")) {
		return strings.ContainsRune("aefhilmnorsx", first) // letters are spelt: an FBI agent
	}
	has := func(beginnings []string) bool {
		for _, b := range beginnings {
			if strings.HasPrefix(lower, b) {
				return true
			}
		}
		return false
	}
	switch {
	case has(silentH):
		return true
	case strings.HasPrefix(lower, "y"):
		// "yt" and the like: ytterbium
		return len(lower) > 1 && !strings.ContainsRune("aeiou", rune(lower[1]))
	case !strings.ContainsRune("aeiouáàâäåæéèêëíìîïóòôöøœúùûü", first):
		return false
	case strings.HasPrefix(lower, "uni"):
		return has([]string{"unide", "unim", "unin", "unill"})
	case has([]string{"unanim", "unesco", "uga", "ugr", "uly"}):
		return false
	case strings.HasPrefix(lower, "use"), strings.HasPrefix(lower, "usu"), strings.HasPrefix(lower, "usa"):
		return false
	case strings.HasPrefix(lower, "us"), strings.HasPrefix(lower, "utter"), strings.HasPrefix(lower, "ur") && len(lower) > 2 && strings.ContainsRune("bcdfghklmnpqstvwxz", rune(lower[2])):
		return true
	case strings.HasPrefix(lower, "one") && (len(lower) == 3 || lower == "oneness" || lower == "oneself"):
		return false
	case strings.HasPrefix(lower, "one"):
		return true
	case has([]string{
		"uto", "uti", "ute", "uta", "ubi", "uka", "uke", "uku", "ukr", "ura", "ure", "uri", "uro", "uru", "uvu",
		"eu", "ewe", "once", "oui",
	}):
		return false
	}
	return true
}

// Capital writes a text's first letter as a capital, as at the start of a sentence.
func Capital(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	if n == 0 {
		return text
	}
	return string(unicode.ToUpper(r)) + text[n:]
}

// Number is how a noun is used.
type Number int

// How a noun is used: counted (a dog), not counted (milk), or a single thing's name.
const (
	Unclear Number = iota
	Count
	Mass
	Name
)

func (n Number) String() string {
	return [...]string{"unclear", "count", "mass", "name"}[n]
}

// english knows nouns' forms.
type english struct {
	words *Words
	forms *pluralize.Client
}

func newEnglish(words *Words) *english {
	return &english{words: words, forms: pluralize.NewClient()}
}

// pluralOf writes the plural of a noun's last word.
func (e *english) pluralOf(noun string) string {
	head := ""
	if i := strings.LastIndexByte(noun, ' '); i >= 0 {
		head, noun = noun[:i+1], noun[i+1:]
	}
	return head + e.forms.Plural(noun)
}

// pluralWords are plurals that do not end in s, and nouns that have no singular.
var pluralWords = []string{
	"people", "men", "women", "children", "feet", "teeth", "geese", "mice", "lice", "oxen", "cattle", "police", "folk", "poultry",
	"vermin", "kine", "swine", "bacteria", "media", "data", "criteria", "phenomena", "fungi", "algae", "larvae", "vertebrae", "alumni", "genitalia",
	"paraphernalia", "regalia", "personnel", "spaghetti", "linguine", "ravioli", "tagliatelle", "fettuccine", "vermicelli", "sphinges",
	"mammalia", "aves", "whereabouts", "premises", "dice", "dead", "rich", "poor", "clergy", "gentry",
}

// singularS are endings in s of singular nouns.
var singularS = []string{"ss", "us", "is", "os", "as", "ics", "lens", "glans", "mars", "chess", "series", "species", "biceps", "triceps", "quadriceps", "forceps"}

// isPlural reports whether a noun's last word is a plural or has no singular.
func (e *english) isPlural(noun string) bool {
	words := wordsOf(noun)
	last := words[len(words)-1]
	if i := strings.LastIndexByte(last, '-'); i >= 0 {
		last = last[i+1:]
	}
	for _, w := range pluralWords {
		if last == w || len(w) > 3 && strings.HasSuffix(last, w) && (w == "men" || w == "women" || w == "people" || w == "children" || w == "folk") {
			return true
		}
	}
	if strings.HasSuffix(last, "men") && e.words.Zipf(strings.TrimSuffix(last, "men")+"man") > e.words.Zipf(last) {
		return true
	}
	if !strings.HasSuffix(last, "s") {
		return false
	}
	for _, s := range singularS {
		if strings.HasSuffix(last, s) {
			return false
		}
	}
	return true
}

// massNouns are nouns of things that are not counted and are no substances.
var massNouns = []string{
	"alcohol", "waste", "rubbish", "meat", "furniture", "clothing", "luggage", "baggage", "jewelry", "footwear", "headgear", "underwear", "machinery", "pottery", "tableware", "cutlery",
	"glassware", "ammunition", "artillery", "weaponry", "lumber", "wire", "cloth", "leather", "silk", "denim", "cotton", "wool", "linen", "velvet", "lace", "nylon",
}

// number tells how a common noun of a lexicographer's file is used, from how much rarer its
// plural is. Living things are counted whatever their plural.
func (e *english) number(noun string, lexfile int) (Number, string) {
	if living(lexfile) {
		return Count, "a living thing is counted"
	}
	words := wordsOf(noun)
	last := words[len(words)-1]
	if slices.Contains(massNouns, last) {
		return Mass, "a mass noun"
	}
	plural := e.forms.Plural(last)
	one, many := e.words.one(last), max(FloorZipf, e.words.one(plural))
	if plural == last {
		return Unclear, fmt.Sprintf("%q has no plural of its own", last)
	}
	gap := one - many
	why := fmt.Sprintf("%s Zipf %.1f, %s %.1f", last, one, plural, many)
	// Of what can be poured or eaten both forms are met, and a helping of it can be
	// counted; there the plural has to be common to tell that things are counted.
	if lexfile == 13 || lexfile == 27 {
		switch {
		case gap <= 0.7:
			return Count, why
		case gap >= 1.4:
			return Mass, why
		}
		return Unclear, why
	}
	if gap <= 1.4 {
		return Count, why
	}
	return Unclear, why
}

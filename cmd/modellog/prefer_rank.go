package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/modellog/modellog/evals/bootstrap"
	"github.com/modellog/modellog/evals/preference"
	"github.com/modellog/modellog/evals/table"
)

// rankingFlags say how a ranking is estimated from comparisons.
type rankingFlags struct {
	By   string `enum:"win-loss,elo,bradley-terry" default:"win-loss" help:"How items are ranked: win-loss, elo or bradley-terry. Default: ${default}, as in the paper."`
	Seed uint64 `default:"42" help:"Seed of what is drawn, such as the order in which Elo takes comparisons. Default: ${default}."`
}

// rankings are the ways to rank.
var rankings = []string{"win-loss", "elo", "bradley-terry"}

// ranker is a way to estimate a ranking.
func ranker(ctx context.Context, name string, seed uint64) preference.Ranker {
	switch name {
	case "elo":
		return func(n int, c []preference.Comparison) ([]float64, error) {
			return preference.Elo(n, c, preference.EloOptions{Seed: seed})
		}
	case "bradley-terry":
		return func(n int, c []preference.Comparison) ([]float64, error) {
			return preference.BradleyTerry(ctx, n, c, 0)
		}
	}
	return preference.WinLoss
}

// annotated reads the data, says which instances cannot be used, and returns those that have comparisons.
func (f *preferFile) annotated(std streams) (*preference.Dataset, []*preference.Instance, error) {
	d, err := f.read(std)
	if err != nil {
		return nil, nil, err
	}
	sayBad(std, d)
	var out []*preference.Instance
	for _, in := range d.Instances {
		if in.Bad == "" && len(in.Comparisons) > 0 {
			out = append(out, in)
		}
	}
	if len(out) == 0 {
		return nil, nil, fmt.Errorf("%s has no annotated comparisons; in plain data they are {\"first\": ID, \"second\": ID} under \"comparisons\"", d.File)
	}
	return d, out, nil
}

// sayBad says which instances cannot be used.
func sayBad(std streams, d *preference.Dataset) {
	said := 0
	for _, in := range d.Instances {
		if in.Bad == "" {
			continue
		}
		if said++; said <= 5 {
			fmt.Fprintf(std.err, "%s: %s\n", preferPlace(d.File, in.ID, in.Line), in.Bad)
		}
	}
	if said > 5 {
		fmt.Fprintf(std.err, "%s: … and %d more\n", d.File, said-5)
	}
}

type preferRankCmd struct {
	preferFile
	rankingFlags
	formatFlag
}

// Help has examples.
func (c *preferRankCmd) Help() string {
	return `Items of equal score share a rank: a partial order, which says nothing of them.

  modellog prefer rank --data own.jsonl
  modellog prefer rank --data comparisons.jsonl --kind feedback --by bradley-terry

A line of own.jsonl: {"id": "1", "items": ["tea", "coffee", "cocoa"], "comparisons": [{"first": "1", "second": "3"}]},
where the first is preferred, or with "p" by how much.`
}

func (c *preferRankCmd) Run(ctx context.Context, std streams) error {
	format, err := c.format()
	if err != nil {
		return err
	}
	data, instances, err := c.annotated(std)
	if err != nil {
		return err
	}
	x := &table.Table{
		Caption: "items by their comparisons, " + data.Name,
		Columns: []table.Column{{Head: "Instance", Key: "instance"}, {Head: "Item", Key: "item"}},
		Notes: []string{
			fmt.Sprintf("Ranked by %s. Win-loss: comparisons won less those lost over those taken part in (§4.1 of the paper). Elo: K = 32 from 1500, one pass in an order drawn with seed %d. Bradley–Terry: strength in nats, with a draw against an item of strength 0 as prior. Rank – : in no comparison.", c.By, c.Seed),
		},
	}
	for _, q := range []string{"rank", "win-loss", "Elo", "Bradley–Terry", "comparisons"} {
		x.Columns = append(x.Columns, table.Column{Head: q, About: table.About{Quantity: q}})
	}
	var g table.Group
	for _, in := range instances {
		var scores [3][]float64
		for k, name := range rankings {
			if scores[k], err = ranker(ctx, name, c.Seed)(len(in.Items), in.Comparisons); err != nil {
				return fmt.Errorf("%s: instance %s: %w", preferPlace(data.File, in.ID, in.Line), in.ID, err)
			}
		}
		by := scores[slices.Index(rankings, c.By)]
		rank := map[int]int{}
		var order []int
		for _, class := range preference.Order(by) {
			place := len(order) + 1
			for _, i := range class {
				rank[i] = place
				order = append(order, i)
			}
		}
		for i := range in.Items {
			if _, ok := rank[i]; !ok {
				order = append(order, i)
			}
		}
		taken := make([]int, len(in.Items))
		for _, k := range in.Comparisons {
			taken[k.I]++
			taken[k.J]++
		}
		for _, i := range order {
			row := table.Row{
				About: table.About{Other: map[string]string{"instance": in.ID, "item": in.Items[i].ID}},
				Cells: []table.Cell{table.Text(in.ID), table.Text(in.Items[i].ID)},
			}
			place := table.Missing()
			if rank[i] > 0 {
				place = table.Number(float64(rank[i]), 0)
			}
			row.Cells = append(row.Cells, place)
			for k, decimals := range []int{3, 1, 3} {
				cell := table.Missing()
				if s := scores[k][i]; s == s {
					cell = table.Number(s, decimals)
				}
				row.Cells = append(row.Cells, cell)
			}
			row.Cells = append(row.Cells, table.Number(float64(taken[i]), 0))
			g.Rows = append(g.Rows, row)
		}
	}
	x.Groups = []table.Group{g}
	return writeTables(std.out, format, x)
}

type preferPerturbCmd struct {
	preferFile
	Share float64 `default:"0.1" help:"Share of the comparisons that are flipped, from 0 to 1. Default: ${default}, as in the paper."`
	Seed  uint64  `default:"42" help:"Seed of the draw. Default: ${default}."`
	Out   string  `short:"o" type:"path" placeholder:"FILE" required:"" help:"File that the instances are written to, as plain data."`
}

func (c *preferPerturbCmd) Run(std streams) error {
	if !(c.Share >= 0 && c.Share <= 1) {
		return usageError{errors.New("--share lies between 0 and 1")}
	}
	_, instances, err := c.annotated(std)
	if err != nil {
		return err
	}
	out, flipped, err := preference.Perturb(instances, c.Share, c.Seed)
	if err != nil {
		return err
	}
	n := 0
	for _, in := range out {
		n += len(in.Comparisons)
	}
	if err := writePlain(c.Out, out); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "%d of %d comparisons of %d instances are flipped (seed %d); they are in %s\n", flipped, n, len(out), c.Seed, c.Out)
	return nil
}

func writePlain(path string, all []*preference.Instance) error {
	var b bytes.Buffer
	if err := preference.WritePlain(&b, all); err != nil {
		return err
	}
	if fi, err := os.Stat(path); err == nil && fi.IsDir() {
		return fmt.Errorf("writing %s: it is a folder; give the name of a file", path)
	}
	if err := renameio.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

type preferRefineCmd struct {
	preferFile
	rankingFlags
	Out string `short:"o" type:"path" placeholder:"FILE" required:"" help:"File that the instances are written to, as plain data."`
}

// Help says what is done.
func (c *preferRefineCmd) Help() string {
	return `Each annotated pair is kept once, with the preference of a ranking that is estimated from all annotations
of its instance; a pair that the ranking does not order is left out. What is left has no cycle.

  modellog prefer refine --data own.jsonl -o refined.jsonl`
}

func (c *preferRefineCmd) Run(ctx context.Context, std streams) error {
	data, instances, err := c.annotated(std)
	if err != nil {
		return err
	}
	var kept, resolved, dropped, cyclic, before int
	rank := ranker(ctx, c.By, c.Seed)
	for k, in := range instances {
		scores, err := rank(len(in.Items), in.Comparisons)
		if err != nil {
			return fmt.Errorf("%s: instance %s: %w", preferPlace(data.File, in.ID, in.Line), in.ID, err)
		}
		if preference.ComparisonGraph(len(in.Items), in.Comparisons).Cyclic() {
			cyclic++
		}
		before += len(in.Comparisons)
		out := *in
		var r, d int
		out.Comparisons, r, d = preference.Refine(scores, in.Comparisons)
		kept, resolved, dropped = kept+len(out.Comparisons), resolved+r, dropped+d
		instances[k] = &out
	}
	if err := writePlain(c.Out, instances); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "%d comparisons of %d instances, %d of which had a cycle, become %d pairs: %d decided against the annotation or a tie of it, and %d left out that the ranking does not order\nThey are in %s\n",
		before, len(instances), cyclic, kept, resolved, dropped, c.Out)
	return nil
}

type preferAugmentCmd struct {
	preferFile
	Task    string `placeholder:"NAME" help:"What is asked: coherence, relevance, temporal, quality, general. Default: by the kind of data."`
	Prompts string `type:"existingdir" placeholder:"DIR" help:"Folder with prompts of your own, as modellog prefer prompts writes it."`
	Wording int    `placeholder:"N" help:"Paraphrase N of the question, from 1 on; 0 is the question itself."`
	rankingFlags
	formatFlag
	Perturb float64 `default:"0" help:"Share of the comparisons that are flipped first; the paper's is 0.1. Default: ${default}."`
	Out     string  `short:"o" type:"path" placeholder:"DIR" required:"" help:"Folder of the training data, which is made."`
}

// Help says what is written.
func (c *preferAugmentCmd) Help() string {
	return `Four data sets to train on, each as conversations and as plain texts: the annotations as they are, perturbed,
refined with all pairs that the ranking implies, and that with the negated relation; a recipe at the paper's parameters
(Appendix E) and a program for PEFT and TRL that takes it. Each line says where it comes from.

  modellog prefer augment --data comparisons.jsonl --kind feedback --perturb 0.1 -o training`
}

func (c *preferAugmentCmd) Run(ctx context.Context, std streams) error {
	format, err := c.format()
	if err != nil {
		return err
	}
	if !(c.Perturb >= 0 && c.Perturb <= 1) {
		return usageError{errors.New("--perturb lies between 0 and 1")}
	}
	ask, err := (&preferAsk{Task: c.Task, Prompts: c.Prompts}).ask(&c.preferFile, c.Seed)
	if err != nil {
		return err
	}
	if most := len(ask.Prompts.Questions) - 1; c.Wording < 0 || c.Wording > most {
		return usageError{fmt.Errorf("--wording %d: %s has %d paraphrases", c.Wording, ask.Prompts.Task, most)}
	}
	data, instances, err := c.annotated(std)
	if err != nil {
		return err
	}
	stages, err := preference.Stages(instances, preference.RefineOptions{
		Rank: ranker(ctx, c.By, c.Seed), RankedBy: c.By, Perturb: c.Perturb, Seed: c.Seed,
		Measure: measureOptions(preference.DefaultK, 1, c.Seed),
	})
	if err != nil {
		return err
	}
	files, err := preference.WriteTraining(c.Out, instances, stages, preference.ExportOptions{Prompts: ask.Prompts, Wording: c.Wording, Data: data.Name})
	if err != nil {
		return err
	}
	x, err := preference.Table2(stages, data.Name)
	if err != nil {
		return err
	}
	if err := writeTables(std.out, format, x); err != nil {
		return err
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprintf(std.err, "In %s are %s\n", c.Out, strings.Join(names, ", "))
	return nil
}

type preferPairsCmd struct {
	preferFile
	Folder string `arg:"" name:"run" type:"path" help:"Folder of a run, in which all pairs were judged."`
	formatFlag
	Seed uint64 `default:"42" help:"Seed of the shuffles. Default: ${default}."`
}

// Help says what is compared.
func (c *preferPairsCmd) Help() string {
	return `Items are ranked by merge sort with the run's judgements as the comparison (PairS), raw and averaged over both
orders, over 100 shuffles, and by the full win rate, and compared with human scores, which the data have.

  modellog prefer pairs novel --data noveleval.json --kind noveleval`
}

func (c *preferPairsCmd) Run(ctx context.Context, std streams) error {
	format, err := c.format()
	if err != nil {
		return err
	}
	if c.Seed == 0 {
		return usageError{errors.New("--seed is at least 1")}
	}
	if err := checkRunFolder(c.Folder); err != nil {
		return err
	}
	data, err := c.read(std)
	if err != nil {
		return err
	}
	results, err := preference.LoadRun(ctx, c.Folder, data)
	if err != nil {
		return err
	}
	x, err := preference.SortingTable(results, preference.RunOptions{Measure: measureOptions(preference.DefaultK, 1000, c.Seed)})
	if err != nil {
		return err
	}
	return writeTables(std.out, format, x)
}

func measureOptions(k, resamples int, seed uint64) preference.MeasureOptions {
	return preference.MeasureOptions{K: k, Subsets: preference.Subsets{Seed: seed}, Bootstrap: bootstrap.Options{Resamples: resamples, Seed: seed}}
}

type preferTablesCmd struct {
	Runs      []string `arg:"" type:"path" help:"Folders of runs."`
	K         int      `name:"k" default:"5" help:"Items of a sub-graph of s_tran(K). Default: ${default}."`
	Resamples int      `default:"1000" help:"Resamples of the bootstrap. Default: ${default}."`
	Seed      uint64   `default:"42" help:"Seed of sub-graphs and resamples. Default: ${default}."`
	Out       string   `short:"o" type:"path" placeholder:"DIR" help:"Folder that the tables in all forms and the figures are written to, which is made. Default: none."`
	formatFlag
}

// Help says what is compared.
func (c *preferTablesCmd) Help() string {
	return `The tables of several runs as one: of direct judgements and chains of thought, or of several data sets. With --out
the figures are drawn, too: those over models have a point for each model of all runs, among the published ones.
Table 4, which needs human scores, is modellog prefer pairs.

  modellog prefer tables novel novel-cot news
  modellog prefer tables novel novel-cot -o both`
}

func (c *preferTablesCmd) Run(ctx context.Context, std streams) error {
	format, err := c.format()
	if err != nil {
		return err
	}
	if c.Resamples < 1 || c.Resamples > bootstrap.MaxResamples || c.Seed == 0 || c.K < 3 {
		return usageError{fmt.Errorf("--resamples lies between 1 and %d, --seed is at least 1, and --k at least 3", bootstrap.MaxResamples)}
	}
	var results []*preference.Result
	from := map[string]string{}
	for _, dir := range c.Runs {
		if err := checkRunFolder(dir); err != nil {
			return err
		}
		of, err := preference.LoadRun(ctx, dir, nil)
		if err != nil {
			return err
		}
		for _, r := range of {
			key := strings.Join([]string{r.Model.Name, r.Data, string(r.Method)}, "\x00")
			if other, twice := from[key]; twice {
				return usageError{fmt.Errorf("%s and %s both have %s on %s by %s, and could not be told apart", other, dir, r.Model.Name, r.Data, r.Method)}
			}
			from[key] = dir
			results = append(results, r)
		}
	}
	o := preference.RunOptions{Measure: measureOptions(c.K, c.Resamples, c.Seed)}
	tables, err := preference.Tables(results, o)
	if err != nil {
		return err
	}
	if err := writeTables(std.out, format, tables...); err != nil || c.Out == "" {
		return err
	}
	if err := preference.WriteTables(results, o, c.Out); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "Tables and figures are in %s\n", c.Out)
	return nil
}

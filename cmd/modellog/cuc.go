package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/modellog/modellog/evals/bootstrap"
	"github.com/modellog/modellog/evals/cuc"
	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/lm"
)

type cucCmd struct {
	Run     cucRunCmd     `cmd:"" help:"Ask models for conclusions and their negations, and write tables, figures and rows."`
	Show    cucShowCmd    `cmd:"" help:"Show what a model is given for an example, token by token if asked."`
	Negate  cucNegateCmd  `cmd:"" help:"Show what the rules make of a file's conclusions: its line, the rule, the conclusion, and the negation or why there is none."`
	Prompts cucPromptsCmd `cmd:"" help:"Write the prompts into a folder, to be changed and used with --prompts."`
}

// cucData choose the examples.
type cucData struct {
	FOLIO  string   `name:"folio" type:"existingfile" placeholder:"FILE" help:"FOLIO v0.0, JSON lines."`
	LogiQA string   `name:"logiqa" type:"existingfile" placeholder:"FILE" help:"LogiQA 2.0 as inference (NLI), JSON lines."`
	Data   string   `type:"existingfile" placeholder:"FILE" help:"Examples of your own: CSV, TSV or JSON lines with premises, phi, not_phi and label."`
	Limit  rowsFlag `placeholder:"N" help:"Draw N rows of each file at random. Default: all."`
	Seed   uint64   `default:"42" help:"Seed of that draw. Default: ${default}."`
}

func (d *cucData) read() ([]*cuc.Data, error) {
	var out []*cuc.Data
	for _, f := range []struct {
		kind cuc.Kind
		path string
	}{{cuc.FOLIO, d.FOLIO}, {cuc.LogiQA, d.LogiQA}, {cuc.Plain, d.Data}} {
		if f.path == "" {
			continue
		}
		data, err := cuc.Read(f.kind, f.path)
		if err != nil {
			return nil, err
		}
		data.Draw(int(d.Limit), d.Seed)
		for _, other := range out {
			if strings.EqualFold(other.Name, data.Name) {
				return nil, usageError{fmt.Errorf("%s and %s would both be called %s; give the second another name", other.File, data.File, data.Name)}
			}
		}
		out = append(out, data)
	}
	if len(out) == 0 {
		return nil, usageError{errors.New("name a file of examples with --folio, --logiqa or --data")}
	}
	return out, nil
}

// some refuses a draw of which no row can be asked, of which a run would only show afterwards that it is empty.
func (d *cucData) some() ([]*cuc.Data, error) {
	out, err := d.read()
	if err != nil {
		return nil, err
	}
	for _, data := range out {
		if !slices.ContainsFunc(data.Examples, func(e cuc.Example) bool { return e.Bad == "" }) {
			return nil, fmt.Errorf("none of the %d rows that were drawn of %s can be asked (line %d: %s); draw more with --limit, or others with --seed",
				len(data.Examples), data.File, data.Examples[0].Line, data.Examples[0].Bad)
		}
	}
	return out, nil
}

// one reads the only file there may be.
func (d *cucData) one() (*cuc.Data, error) {
	data, err := d.read()
	if err == nil && len(data) > 1 {
		err = usageError{errors.New("one file of examples is looked at, and not several")}
	}
	if err != nil {
		return nil, err
	}
	return data[0], nil
}

// cucAsk say how examples are put to a model.
type cucAsk struct {
	Answers []string `placeholder:"NAME,…" default:"yes-no" help:"How the answers are called: yes-no, true-false, entailed-refuted; several with commas. Default: ${default}."`
	Prompt  string   `enum:"auto,chat,plain" default:"auto" help:"Prompt: chat (the model's own template), plain (a text to continue), or auto. Default: ${default}."`
	Prompts string   `type:"existingdir" placeholder:"DIR" help:"Folder with plain.txt and chat.txt of your own."`
}

func (a *cucAsk) options() (cuc.Options, error) {
	o := cuc.Options{Style: cuc.Style(a.Prompt), Version: programVersion()}
	seen := map[string]bool{}
	for _, name := range a.Answers {
		f, err := cuc.ParseFormat(name)
		if err == nil && seen[name] {
			err = fmt.Errorf("--answers has %s twice", name)
		}
		if err != nil {
			return o, usageError{err}
		}
		seen[name] = true
		o.Formats = append(o.Formats, f)
	}
	if a.Prompts != "" {
		p, err := cuc.ReadPrompts(a.Prompts)
		if err != nil {
			return o, err
		}
		o.Prompts = &p
	}
	return o, nil
}

type cucRunCmd struct {
	Model []string `short:"m" placeholder:"NAME" env:"MODELLOG_MODEL" default:"${model}" help:"Model to ask; give it again for more. Default: ${default}."`
	engineFlags
	cucData
	cucAsk
	Out          string  `short:"o" type:"path" placeholder:"DIR" required:"" help:"Folder of the run, which is made."`
	Tau          float64 `default:"0.6" help:"Least probability of an answer. Default: ${default}."`
	Delta        float64 `default:"0.1" help:"Least distance from the other's. Default: ${default}."`
	Unnormalised bool    `help:"Take P(YES) as it is, and not against P(NO)."`
	Resamples    int     `default:"1000" help:"Resamples of the bootstrap. Default: ${default}."`
	Bootstrap    uint64  `name:"bootstrap-seed" default:"42" help:"Its seed. Default: ${default}."`
	Format       string  `enum:"text,csv,markdown,latex" default:"text" help:"Form of the tables on the standard output: text, csv, markdown or latex. Default: ${default}."`
}

func (c *cucRunCmd) Run(ctx context.Context, std streams) error {
	format, err := table.ParseFormat(c.Format)
	if err != nil {
		return usageError{err}
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	o.Thresholds, o.Unnormalised = cuc.Thresholds{Tau: c.Tau, Delta: c.Delta}, c.Unnormalised
	o.ZeroThresholds = c.Tau == 0 && c.Delta == 0
	if err := o.Thresholds.Check(); err != nil {
		return usageError{fmt.Errorf("--tau and --delta: %w", err)}
	}
	switch {
	case c.Resamples < 1 || c.Resamples > bootstrap.MaxResamples:
		return usageError{fmt.Errorf("--resamples is %d; it lies between 1 and %d", c.Resamples, bootstrap.MaxResamples)}
	case c.Bootstrap == 0:
		return usageError{errors.New("--bootstrap-seed is 0; seeds begin at 1")}
	}
	o.Bootstrap = bootstrap.Options{Resamples: c.Resamples, Seed: c.Bootstrap}
	data, err := c.some()
	if err != nil {
		return err
	}
	s, err := c.engineFlags.open(ctx, "", std)
	if err != nil {
		return err
	}
	defer s.free()
	results, err := cuc.Run(ctx, cuc.Machine{Open: s.model, Cache: s.cache, Progress: s.bar.Report}, c.Model, data, c.Out, o)
	s.bar.Clear()
	if len(results) == 0 || ctx.Err() != nil {
		if ctx.Err() != nil {
			fmt.Fprintln(s.bar.Wrap(std.err), "What was read is kept; the same command goes on from there.")
		}
		return err
	}
	failure := err // of a part of the run, the rest of which is shown
	tables, err := cuc.Tables(results, o)
	if err != nil {
		return err
	}
	if err := writeTables(std.out, format, tables...); err != nil {
		return err
	}
	for _, d := range data {
		said := 0
		told := map[string]bool{} // a row is often bad for every model and format
		for _, r := range results {
			for _, rd := range r.Data {
				for _, row := range rd.Rows {
					key := visible(fmt.Sprintf("%s:%d: %s", d.File, row.Line, row.Why))
					if rd.Data != d || row.Status == cuc.StatusMeasured || told[key] {
						continue
					}
					told[key] = true
					if said++; said <= 5 {
						fmt.Fprintln(std.err, key)
					}
				}
			}
		}
		if said > 5 {
			fmt.Fprintf(std.err, "%s: … and %d more; the files of rows have all\n", d.File, said-5)
		}
	}
	if failure == nil {
		fmt.Fprintf(std.err, "The run is in %s\n", c.Out)
	}
	return failure
}

type cucShowCmd struct {
	modelFlags
	cucData
	cucAsk
	Line   int  `arg:"" help:"Line of the file."`
	Tokens bool `help:"Show the tokens, with bars between."`
}

func (c *cucShowCmd) Run(ctx context.Context, std streams) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	data, err := c.one()
	if err != nil {
		return err
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
	asked, err := cuc.Ask(ctx, m, data, c.Line, o)
	s.bar.Clear()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(std.out)
	fmt.Fprintf(out, "%s prompt; label %s", asked.Style, asked.Example.Label)
	if asked.Example.Rule != "" {
		fmt.Fprintf(out, "; ¬φ by the rule %q", asked.Example.Rule)
	}
	fmt.Fprintf(out, "\n%s\n", asked.Answers)
	for _, q := range []struct {
		name string
		in   []lm.Token
		text string
	}{{"Q_φ", asked.Phi.Tokens, asked.Phi.Text}, {"Q_¬φ", asked.NotPhi.Tokens, asked.NotPhi.Text}} {
		text := q.text
		if c.Tokens {
			text = strings.Join(lm.Pieces(m, q.in), "│")
		}
		lines := strings.Split(text, "\n")
		for i := range lines {
			lines[i] = visible(lines[i])
		}
		text = strings.Join(lines, "\n")
		fmt.Fprintf(out, "\n—— %s, %d tokens\n%s\n", q.name, len(q.in), text)
	}
	return out.Flush()
}

type cucNegateCmd struct {
	cucData
	Refused bool `help:"Only conclusions that are not negated."`
	Rules   bool `help:"The table of examples of the rules, and no file."`
}

func (c *cucNegateCmd) Run(std streams) error {
	if c.Rules {
		_, err := io.WriteString(std.out, cuc.NegationExamples)
		return err
	}
	data, err := c.one()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(std.out)
	counts := map[string]int{}
	var order []string
	for _, e := range data.Examples {
		kind := string(e.Rule)
		if e.Bad != "" {
			kind = e.Bad
		}
		if counts[kind]++; counts[kind] == 1 {
			order = append(order, kind)
		}
		switch {
		case e.Bad != "":
			fmt.Fprintf(out, "%d\t–\t%s\t%s\n", e.Line, visible(e.Phi), visible(e.Bad))
		case !c.Refused:
			fmt.Fprintf(out, "%d\t%s\t%s\t%s\n", e.Line, e.Rule, visible(e.Phi), visible(e.NotPhi))
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, kind := range order {
		name := kind
		if name == "" {
			name = "¬φ from the file"
		}
		fmt.Fprintf(std.err, "%6d  %s\n", counts[kind], visible(name))
	}
	return nil
}

// visible writes characters of a data set that have no shape of their own, and might move a terminal's cursor or turn
// the direction of its text, as Go does: \u202e. It is the same whether the output is a terminal or not.
func visible(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
	}
	return b.String()
}

type cucPromptsCmd struct {
	Dir string `arg:"" type:"path" help:"Folder, which is made."`
}

func (c *cucPromptsCmd) Run(std streams) error {
	if err := cuc.WritePrompts(c.Dir, cuc.DefaultPrompts()); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "The prompts are in %s: %s and %s\n", c.Dir, cuc.PlainFile, cuc.ChatFile)
	return nil
}

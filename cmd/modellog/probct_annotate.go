package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/modellog/modellog/evals/probct"
	"github.com/modellog/modellog/evals/table"
)

type probctAnnotateCmd struct {
	Paths  []string     `arg:"" optional:"" name:"path" help:"The suite's folder; with --report the two files of answers."`
	As     string       `placeholder:"NAME" help:"Who judges. The answers go to NAME.jsonl in the folder annotations of the suite."`
	Out    string       `short:"o" type:"path" placeholder:"FILE" help:"File of the answers in place of that one."`
	N      positiveFlag `short:"n" name:"n" default:"50" placeholder:"N" help:"Candidates of each subset. Default: ${default}."`
	Seed   uint64       `default:"42" placeholder:"N" help:"Seed of the sample; two annotators need the same. Default: ${default}."`
	Subset []string     `placeholder:"NAME" help:"Subset to judge; give it again for more. Default: all."`
	Report bool         `help:"Print what two annotators and the filter accept, with Cohen's κ, as in Table 5."`
	Format string       `enum:"text,csv,markdown,latex" default:"text" help:"Form of the report: text, csv, markdown or latex. Default: ${default}."`
}

func (c *probctAnnotateCmd) Help() string {
	return `Candidates that the suite was drawn from are shown one by one, those that its filter accepted and others alike, without saying which. One key is an answer: a accept, r reject, s skip, u undo, n note, q quit. Each answer is on disk at once, and the same command goes on where it was left.

Where the standard input is no terminal, its lines are the answers.`
}

func (c *probctAnnotateCmd) Run(ctx context.Context, std streams) error {
	if c.Report {
		return c.report(std)
	}
	switch {
	case len(c.Paths) != 1:
		return usageError{errors.New("give the suite's folder; or --report and two files of answers")}
	case c.As == "":
		return usageError{errors.New("--as says who judges")}
	case c.Out == "" && (c.As == "." || c.As == ".." || strings.ContainsAny(c.As, `/\`)):
		return usageError{fmt.Errorf("--as %s is no name of a file; choose one with --out", c.As)}
	}
	suite, path := c.Paths[0], c.Out
	if path == "" {
		path = filepath.Join(suite, "annotations", c.As+".jsonl")
	}
	o := probct.SampleOptions{N: int(c.N), Seed: c.Seed, Subsets: c.Subset}
	items, decisions, err := probct.Sample(ctx, suite, o)
	if err != nil {
		return err
	}
	if c.Out == "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
	}
	answers, err := probct.OpenAnswers(path, c.As, decisions, o)
	if err != nil {
		return err
	}
	p, err := probct.Annotate(ctx, probct.AnnotateOptions{Items: items, Answers: answers, In: std.in, Out: std.out})
	err = errors.Join(err, answers.Close())
	skipped := ""
	if p.Skipped > 0 {
		skipped = fmt.Sprintf(", %d skipped", p.Skipped)
	}
	fmt.Fprintf(std.err, "%d of %d judged%s; the answers are in %s\n", p.Judged, p.Of, skipped, path)
	if p.Judged < p.Of {
		fmt.Fprintln(std.err, "The same command goes on from here.")
	}
	if errors.Is(err, probct.ErrInterrupted) {
		return exitError(exitInterrupted)
	}
	return err
}

func (c *probctAnnotateCmd) report(std streams) error {
	format, err := table.ParseFormat(c.Format)
	if err != nil {
		return usageError{err}
	}
	if len(c.Paths) != 2 {
		return usageError{fmt.Errorf("--report needs the answers of two annotators: two files, not %d", len(c.Paths))}
	}
	var by [2]*probct.Answers
	for i, path := range c.Paths {
		if by[i], err = probct.ReadAnswers(path); err != nil {
			return err
		}
	}
	first, err := os.Stat(c.Paths[0])
	if err != nil {
		return err
	}
	if second, err := os.Stat(c.Paths[1]); err == nil && os.SameFile(first, second) {
		return usageError{fmt.Errorf("%s is given twice; --report compares two annotators", c.Paths[0])}
	}
	agreements, err := probct.CompareAnswers(by[0], by[1])
	if err != nil {
		return err
	}
	t, err := probct.AgreementTable(by[0], by[1], agreements)
	if err != nil {
		return err
	}
	return writeTables(std.out, format, t)
}

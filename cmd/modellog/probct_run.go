package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/modellog/modellog/evals/probct"
	"github.com/modellog/modellog/evals/table"
)

type probctRunCmd struct {
	Model []string `short:"m" placeholder:"NAME" env:"MODELLOG_MODEL" default:"${model}" help:"Model to measure; give it again for more. Default: ${default}."`
	engineFlags
	Suite   string   `type:"path" placeholder:"DIR" help:"Folder of the suite, such as evals/probct/suite in modellog's source, or one that modellog probct build has made."`
	Out     string   `short:"o" type:"path" placeholder:"DIR" help:"Folder of the run, which is made."`
	Limit   rowsFlag `placeholder:"N" help:"Measure the first N rows of each subset. Default: all."`
	Multi   bool     `help:"Keep rows in which a target has several tokens, as conjunctions of token events."`
	Parquet bool     `help:"Write the rows as Parquet and not as JSON lines."`
	Format  string   `enum:"text,csv,markdown,latex" default:"text" help:"Form of the tables on the standard output: text, csv, markdown or latex. Default: ${default}."`
}

func (c *probctRunCmd) Run(ctx context.Context, std streams) error {
	format, err := table.ParseFormat(c.Format)
	if err != nil {
		return usageError{err}
	}
	const which = "modellog's source has one in evals/probct/suite, and modellog probct build makes one"
	if c.Suite == "" {
		return usageError{fmt.Errorf("name the folder of a suite with --suite; %s", which)}
	}
	if c.Out == "" {
		return usageError{errors.New("name the folder that the run is written into with --out")}
	}
	if fi, err := os.Stat(c.Suite); err != nil || !fi.IsDir() {
		return usageError{fmt.Errorf("--suite %s is no folder; %s", c.Suite, which)}
	}
	suite, err := probct.Load(c.Suite)
	if err != nil {
		return err
	}
	s, err := c.engineFlags.open(ctx, "", std)
	if err != nil {
		return err
	}
	defer s.free()
	results, err := probct.Run(ctx, s.session, suite, c.Model, c.Out, probct.RunOptions{
		Options: probct.Options{Limit: int(c.Limit), Multi: c.Multi}, Parquet: c.Parquet, Version: programVersion(),
	})
	s.bar.Clear()
	if err != nil {
		if ctx.Err() != nil {
			fmt.Fprintln(s.bar.Wrap(std.err), "What was read is kept; the same command goes on from there.")
		}
		return err
	}
	tables, err := probct.Tables(results)
	if err != nil {
		return err
	}
	if err := writeTables(std.out, format, tables...); err != nil {
		return err
	}
	for i, r := range results {
		for k, g := range r.Subsets {
			if i > 0 && slices.Equal(g.BadRows, results[0].Subsets[k].BadRows) {
				continue // they are bad for the same reasons
			}
			for n, b := range g.BadRows {
				if n == 5 && g.Bad > n {
					fmt.Fprintf(std.err, "%s: … and %d more; the file of rows has all\n", filepath.Base(g.File), g.Bad-n)
					break
				}
				fmt.Fprintf(std.err, "%s:%d: %s\n", filepath.Base(g.File), b.Line, b.Why)
			}
		}
	}
	fmt.Fprintf(std.err, "The run is in %s\n", c.Out)
	return nil
}

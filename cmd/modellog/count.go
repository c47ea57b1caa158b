package main

import (
	"context"
	"fmt"
	"os"

	"github.com/modellog/modellog/logic"
)

type countCmd struct {
	File string `arg:"" help:"The CNF in DIMACS form, weighted as in the model-counting competition; - for standard input."`
}

// Run prints the result as the competition asks for it.
func (c *countCmd) Run(ctx context.Context, std streams) error {
	in, name := std.in, "standard input"
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer f.Close()
		in, name = f, c.File
	}
	cnf, err := logic.ReadDIMACS(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	n, err := cnf.Count(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	satisfiable, kind := "SATISFIABLE", "mc"
	if !n.Satisfiable {
		satisfiable = "UNSATISFIABLE"
	}
	if n.Weighted != nil {
		kind = "wmc"
	}
	fmt.Fprintf(std.out, "s %s\nc s type %s\nc s log10-estimate %.15g\n", satisfiable, kind, n.Log10)
	switch {
	case n.Weighted == nil:
		fmt.Fprintf(std.out, "c s exact arb int %s\n", n.Models)
	case n.Weighted.IsInt():
		fmt.Fprintf(std.out, "c s exact arb int %s\n", n.Weighted.Num())
	default:
		fmt.Fprintf(std.out, "c s exact arb frac %s\n", n.Weighted)
	}
	return nil
}

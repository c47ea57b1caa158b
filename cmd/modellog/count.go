package main

import (
	"context"
	"fmt"

	"github.com/modellog/modellog/logic"
)

type countCmd struct {
	File string `arg:"" help:"The CNF in DIMACS form, weighted as in the model-counting competition; - for standard input."`
}

// Run prints the result as the competition asks for it.
func (c *countCmd) Run(ctx context.Context, std streams) error {
	name := c.File
	if name == "-" {
		name = "standard input"
	}
	cnf, err := interruptible(ctx, func() (*logic.CNF, error) {
		in, err := input(c.File, "a formula in DIMACS form", std)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		return logic.ReadDIMACS(in)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	n, err := cnf.Count(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	satisfiable, kind, exact := "SATISFIABLE", "mc", "int "+n.Models.String()
	if !n.Satisfiable {
		satisfiable = "UNSATISFIABLE"
	}
	if n.Weighted != nil {
		kind, exact = "wmc", "frac "+n.Weighted.String()
		if n.Weighted.IsInt() {
			exact = "int " + n.Weighted.Num().String()
		}
	}
	_, err = fmt.Fprintf(std.out, "s %s\nc s type %s\nc s log10-estimate %.15g\nc s exact arb %s\n", satisfiable, kind, n.Log10, exact)
	return err
}

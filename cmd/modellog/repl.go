package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
	"github.com/dustin/go-humanize"
	"golang.org/x/term"

	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/repl"
)

type replCmd struct {
	modelFlags
}

func (c *replCmd) Run(ctx context.Context, std streams) error {
	if !term.IsTerminal(int(std.in.Fd())) {
		return (&evalCmd{modelFlags: c.modelFlags, File: "-"}).Run(ctx, std)
	}
	s, err := c.modelFlags.open(ctx, std)
	if err != nil {
		return err
	}
	defer s.free()
	// The model is opened now, while the user reads the first line, and not
	// in the middle of the first report.
	banner := "modellog"
	if info, err := s.session.OpenModel(ctx, c.Model); err != nil {
		s.bar.Clear()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Fprintf(std.err, "%v\n", err)
	} else {
		s.bar.Clear()
		banner = fmt.Sprintf("modellog · %s · %s tokens · %s", info.Name, humanize.Comma(int64(info.Vocabulary)), info.Precision)
	}
	banner += fmt.Sprintf(" · %s\n%%help explains, Tab completes, Ctrl-D leaves", calibrationName(s.session))
	err = repl.Run(context.WithoutCancel(ctx), repl.Options{
		Session:  s.session,
		History:  filepath.Join(xdg.StateHome, "modellog", "history"),
		Banner:   banner,
		Progress: s.bar,
	})
	var left *repl.LeftError
	if errors.As(err, &left) {
		return exitError(exitInterrupted)
	}
	return err
}

// calibrationName writes a calibration as a person would say it.
func calibrationName(s *lang.Session) string {
	c := s.Calibration()
	name := strings.ReplaceAll(c.Method.String(), "-", " ")
	if c.Method.UsesNucleus() {
		name += fmt.Sprintf(", p = %g", c.P)
	}
	return name
}

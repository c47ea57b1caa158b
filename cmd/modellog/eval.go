package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/modellog/modellog/lang"
)

type evalCmd struct {
	modelFlags
	JSON    bool    `help:"Print each result as a JSON object on a line of its own."`
	Program *string `short:"e" placeholder:"TEXT" help:"The program itself, in place of a file."`
	File    string  `arg:"" optional:"" default:"-" help:"The program; - or nothing for standard input."`
}

// Validate is called before Run.
func (c *evalCmd) Validate() error {
	if c.Program != nil && c.File != "-" {
		return errors.New("-e gives the program itself; leave out the file or -e")
	}
	return nil
}

func (c *evalCmd) Run(ctx context.Context, std streams) error {
	name, src, err := c.read(ctx, std)
	if err != nil {
		return err
	}
	s, err := c.modelFlags.open(ctx, std)
	if err != nil {
		return err
	}
	defer s.free()

	out := bufio.NewWriter(s.bar.Wrap(std.out))
	st := lang.StyleOf(std.out)
	first, afterBlock := true, false
	emit := func(r lang.Result) error {
		if c.JSON {
			line, err := json.Marshal(r)
			if err != nil {
				return fmt.Errorf("writing a %s as JSON: %w", r.Kind(), err)
			}
			out.Write(append(line, '\n'))
		} else {
			text := r.Text(st)
			// Single lines stay together, so that a column of numbers can be piped.
			block := strings.Contains(text, "\n")
			if !first && (block || afterBlock) {
				out.WriteByte('\n')
			}
			first, afterBlock = false, block
			out.WriteString(text)
			out.WriteByte('\n')
		}
		return out.Flush()
	}
	err = s.session.Eval(ctx, name, src, emit)
	s.bar.Clear()
	var mistake *lang.Error
	if errors.As(err, &mistake) {
		width := lang.StyleOf(std.err).Width
		line, carets := mistake.Lines(cmp.Or(width, 80) - 2)
		fmt.Fprintf(std.err, "%s\n  %s\n  %s\n", mistake.Message(width), line, carets)
		return exitError(exitFailed)
	}
	return err
}

// read returns the program and its name in messages, which is empty for
// standard input and for one that was given on the command line.
func (c *evalCmd) read(ctx context.Context, std streams) (name, src string, err error) {
	if c.Program != nil {
		return "", *c.Program, nil
	}
	if c.File != "-" {
		name = c.File
	}
	b, err := interruptible(ctx, func() ([]byte, error) {
		in, err := input(c.File, "a program", std)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		return io.ReadAll(io.LimitReader(in, lang.MaxSource+1))
	})
	if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(c.File, " (&|!=>") {
		return "", "", fmt.Errorf("there is no file %s; where that is the program itself, put -e before it", c.File)
	}
	if err != nil {
		return "", "", fmt.Errorf("reading the program: %w", err)
	}
	if bytes.HasPrefix(b, []byte("GGUF")) {
		return "", "", fmt.Errorf("%s is a model and no program; -m gguf:%[1]s asks it", c.File)
	}
	if len(b) > lang.MaxSource {
		return "", "", fmt.Errorf("the program has more than %d MB; put rows of data into a file for %%run", lang.MaxSource>>20)
	}
	return name, string(b), nil
}

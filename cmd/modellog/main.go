// Command modellog states what a language model should believe as logic over
// its next-token predictions, and measures how far it does.
//
//	modellog                      probe constraints at a prompt
//	modellog eval FILE, -e TEXT   run a program of the constraint language
//	modellog count FILE.cnf       (weighted) model count of a DIMACS CNF
//	modellog models list|get|info the models on this machine
//	modellog probct …             the ProbCT suite: build, run, worst, diff
//	modellog cuc …                coherence under commitment: run, show, negate, prompts
//	modellog prefer …             consistency of preferences: run, tables, pairs, rank, refine, augment
//	modellog serve                readings for other programs, over HTTP
//	modellog data list|get        the data that evaluations are built from
//	modellog kernel install       the Jupyter kernel
//	modellog doctor               what works here, and how to mend what does not
//
// It exits with 0; with 1 when what was asked could not be done; with 2 for
// wrong usage; and with 130 when it was interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// defaultModel is opened where no other is named: a model of the paper's own
// tables, and small enough for any machine.
const defaultModel = "gemma3:270m-pt"

type cli struct {
	Repl    replCmd    `cmd:"" default:"withargs" help:"Probe constraints at a prompt (the default)."`
	Eval    evalCmd    `cmd:"" help:"Run a program of the constraint language."`
	Count   countCmd   `cmd:"" help:"Count the models of a DIMACS CNF, weighted or not, as the model-counting competition does."`
	Models  modelsCmd  `cmd:"" help:"List, fetch and describe models."`
	Probct  probctCmd  `cmd:"" help:"Build the ProbCT suite and measure models on it."`
	CUC     cucCmd     `cmd:"" name:"cuc" help:"Coherence under commitment: ask models for conclusions and their negations."`
	Prefer  preferCmd  `cmd:"" help:"Consistency of preferences: ask models for judgements of pairs, rank, refine."`
	Serve   serveCmd   `cmd:"" help:"Give the readings of models to other programs, over HTTP: OpenAI's completions with logprobs and echo."`
	Data    dataCmd    `cmd:"" help:"List and fetch the data that evaluations are built from."`
	Kernel  kernelCmd  `cmd:"" help:"Install and run the Jupyter kernel."`
	Doctor  doctorCmd  `cmd:"" help:"Say what works on this machine and how to mend what does not."`
	Version versionCmd `cmd:"" help:"Say which modellog this is."`
}

// streams are the standard streams, which tests replace.
type streams struct {
	in  *os.File
	out io.Writer
	err io.Writer
}

func main() {
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// exitError ends the program with a status of its own; what went wrong has been
// said already.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError is wrong usage that the flags' own parser cannot see.
type usageError struct{ error }

const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func run(args []string, std streams) int {
	logTo(std.err)
	var c cli
	exited := -1
	parser, err := kong.New(&c,
		kong.Name("modellog"),
		kong.Description("States what a language model should believe as logic over its next-token predictions, and measures how far it does."),
		kong.UsageOnError(),
		kong.Writers(std.out, std.err),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.Vars{"model": defaultModel},
	)
	if err != nil {
		fmt.Fprintf(std.err, "modellog: %v\n", err)
		return exitFailed
	}
	command, err := parser.Parse(args)
	if exited >= 0 { // --help was answered
		return exited
	}
	if err == nil {
		err = emptyFlag(command, args)
	}
	if err != nil {
		fmt.Fprintf(std.err, "modellog: %v\nTry: modellog --help\n", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program, whatever it waits for
	command.BindTo(ctx, (*context.Context)(nil))
	err = command.Run(std)
	var exit exitError
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	case errors.As(err, &usage):
		name, _, _ := strings.Cut(command.Command(), " <") // without the arguments' places
		fmt.Fprintf(std.err, "modellog: %v\nTry: modellog %s --help\n", err, name)
		return exitUsage
	case ctx.Err() != nil:
		fmt.Fprintln(std.err, "interrupted")
		return exitInterrupted
	default:
		fmt.Fprintf(std.err, "modellog: %v\n", err)
		return exitFailed
	}
}

// emptyFlag refuses flags for files, folders and lists that have an empty value, as "$NAME" has in a shell where
// nothing is called so: of a folder it would be the one at hand.
func emptyFlag(command *kong.Context, args []string) error {
	for _, f := range command.Flags() {
		if f.Tag.Type == "" && f.Target.Kind() != reflect.Slice {
			continue
		}
		names := []string{"--" + f.Name}
		if f.Short != 0 {
			names = append(names, "-"+string(f.Short))
		}
		for i, a := range args {
			for _, name := range names {
				if a == name+"=" || i > 0 && a == "" && args[i-1] == name {
					return fmt.Errorf("%s is empty; give it a value, or leave it out", name)
				}
			}
		}
	}
	return nil
}

// logTo sends the engine's log to the user only where MODELLOG_DEBUG asks for it.
func logTo(w io.Writer) {
	handler := slog.DiscardHandler
	if os.Getenv("MODELLOG_DEBUG") != "" {
		handler = slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})
	}
	slog.SetDefault(slog.New(handler))
}

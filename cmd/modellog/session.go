package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/modellog/modellog/internal/progress"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/open"
	"github.com/modellog/modellog/lm/store"
	"github.com/modellog/modellog/lm/store/readings"
)

// modelFlags choose the model of a session.
type modelFlags struct {
	Model string `short:"m" placeholder:"NAME" env:"MODELLOG_MODEL" default:"${model}" help:"Model to ask: a name, gguf:PATH, ollama:NAME or openai:URL#NAME. Default: ${default}."`
	engineFlags
}

// engineFlags say how the embedded engine computes.
type engineFlags struct {
	Threads   int    `placeholder:"N" env:"MODELLOG_THREADS" help:"Threads of the embedded engine. Default: all processors."`
	GPU       bool   `env:"MODELLOG_GPU" help:"Have the embedded engine compute on graphics processors: Metal, or what OLLAMA_LIBRARY_PATH has libraries for."`
	Precision string `enum:"auto,exact,native" default:"auto" help:"Numbers of the embedded engine: exact (float32), native (as the file has them) or auto. Default: ${default}."`
}

// opened is a session with what it holds of this machine.
type opened struct {
	session *lang.Session
	models  open.Options
	cache   *readings.Cache
	bar     *progress.Bar // nil where progress is shown elsewhere
	warn    func(string)
}

// open starts a session that shows progress and warnings on standard error.
func (f *modelFlags) open(ctx context.Context, std streams) (*opened, error) {
	return f.engineFlags.open(ctx, f.Model, std)
}

// open starts a session whose model is the named one unless another is opened.
func (f *engineFlags) open(ctx context.Context, model string, std streams) (*opened, error) {
	bar := progress.New(std.err)
	stderr := bar.Wrap(std.err)
	o, err := f.start(ctx, model, reporter{bar.Report, bar.ReportBytes}, func(message string) { fmt.Fprintf(stderr, "warning: %s\n", message) })
	if err != nil {
		return nil, err
	}
	o.bar = bar
	return o, nil
}

// reporter shows how far something slow has come, in parts or in bytes.
type reporter struct {
	parts, bytes func(label string, done, total int)
}

// start starts a session with everything it needs from this machine.
func (f *engineFlags) start(ctx context.Context, model string, report reporter, warn func(string)) (*opened, error) {
	models, err := openStore(warn)
	if err != nil {
		return nil, err
	}
	cacheDir, err := store.CacheDir()
	if err != nil {
		return nil, err
	}
	cache, err := readings.Open(ctx, cacheDir, readings.Options{Warn: func(err error) { warn(err.Error()) }})
	if err != nil {
		return nil, err
	}
	o := &opened{
		models: open.Options{Store: models, CacheDir: cacheDir, Precision: f.Precision, Threads: f.Threads, GPU: f.GPU, Progress: report.bytes, Warn: warn},
		cache:  cache,
		warn:   warn,
	}
	if f.Precision == "auto" {
		o.models.Precision = ""
	}
	o.session = lang.New(lang.Options{
		Model:      model,
		Open:       o.model,
		ModelNames: o.names,
		Cache:      cache,
		Progress:   report.parts,
		Warn:       warn,
	})
	return o, nil
}

// model opens a model by name.
func (o *opened) model(ctx context.Context, name string) (lm.Model, error) {
	return open.Model(ctx, name, o.models)
}

// names lists what model opens by a bare name.
func (o *opened) names(ctx context.Context) ([]lm.ModelName, error) {
	return open.Names(ctx, o.models)
}

// close closes the model and the cache.
func (o *opened) close() error { return errors.Join(o.session.Close(), o.cache.Close()) }

// free takes the progress line away, closes, and warns of what went wrong.
func (o *opened) free() {
	o.bar.Close()
	if err := o.close(); err != nil {
		o.warn(err.Error())
	}
}

func openStore(warn func(string)) (*store.Store, error) {
	return store.New(store.Options{Warn: func(err error) { warn(err.Error()) }})
}

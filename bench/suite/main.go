// Command suite prints how long modellog probct run takes for the readings of a ProbCT
// suite beside other programs that read the same. It is run by make bench-peers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/modellog/modellog/bench"
	"github.com/modellog/modellog/evals/probct"
	"github.com/modellog/modellog/lm/gguf"
	"github.com/modellog/modellog/lm/store"
)

func main() {
	var o options
	flag.StringVar(&o.suite, "suite", "evals/probct/suite", "`folder` of the suite")
	flag.IntVar(&o.rows, "rows", 60, "`number` of rows of each subset")
	flag.IntVar(&o.repeats, "repeats", 3, "`number` of passes of each contestant")
	flag.IntVar(&o.threads, "threads", runtime.NumCPU(), "`number` of threads of each contestant")
	flag.StringVar(&o.models, "models", "gemma3:270m-pt,smollm2:135m-instruct", "`names` of models in modellog's store")
	flag.StringVar(&o.peers, "peers", "transformers,minicons,llama-cpp-python,ollama", "`names` of the peers")
	flag.StringVar(&o.ollama, "ollama", os.Getenv("MODELLOG_OLLAMA"), "`program` of the Ollama server")
	flag.StringVar(&o.out, "out", "", "`folder` for suite.txt and suite.csv; they are only printed without")
	flag.StringVar(&o.version, "version", "", "modellog's `version`, for the results")
	flag.Parse()
	slog.SetLogLoggerLevel(slog.LevelWarn) // the engine tells of each step
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interruption ends the program at once
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench-peers:", err)
		os.Exit(1)
	}
}

type options struct {
	suite, models, peers, ollama, out, version string
	rows, repeats, threads                     int
}

func tell(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (o *options) run(ctx context.Context) error {
	if flag.NArg() > 0 || o.rows < 1 || o.repeats < 1 || o.threads < 1 {
		return errors.New("rows, repeats and threads are at least 1, and there are no arguments besides the flags")
	}
	suite, err := probct.Load(o.suite)
	if err != nil {
		return err
	}
	models, err := store.New(store.Options{})
	if err != nil {
		return err
	}
	c := bench.NewCircumstances("bench-peers", o.version, o.threads)
	var reports []*bench.Report
	var failed []error
	passes := 0
	for name := range strings.SplitSeq(o.models, ",") {
		r, versions, err := o.model(ctx, models, suite, name)
		if ctx.Err() != nil {
			err = errInterrupted
		}
		if err != nil && !errors.Is(err, errInterrupted) {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
		}
		if r == nil {
			c.Missing = append(c.Missing, bench.Skipped{Name: name, Why: err.Error()})
			continue
		}
		passes += r.Passes()
		reports = append(reports, r)
		for _, v := range versions {
			if !slices.Contains(c.Versions, v) {
				c.Versions = append(c.Versions, v)
			}
		}
	}
	if ctx.Err() != nil {
		failed = append(failed, errInterrupted)
	}
	if passes == 0 { // the results of an earlier run are worth more
		return errors.Join(append(failed, errors.New("no pass ended, and nothing is written"))...)
	}
	failed = append(failed, bench.WriteText(os.Stdout, c, reports))
	if o.out != "" {
		failed = append(failed, bench.Save(o.out, "suite", c, reports))
	}
	return errors.Join(failed...)
}

var errInterrupted = errors.New("the run was interrupted")

// model measures all contestants on one model. Of a run that is interrupted the report has
// what there is by then; it is nil where the model itself could not be had.
func (o *options) model(ctx context.Context, models *store.Store, suite *probct.Suite, name string) (*bench.Report, []string, error) {
	cacheDir, err := store.CacheDir()
	if err != nil {
		return nil, nil, err
	}
	found, err := models.Lookup(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	digest, err := models.Digest(ctx, found.Path)
	if err != nil {
		return nil, nil, err
	}
	m, err := gguf.Open(ctx, found.Path, gguf.Options{Name: name, Digest: digest, CacheDir: cacheDir, Threads: o.threads})
	if err != nil {
		return nil, nil, err
	}
	defer m.Close()
	if ctx.Err() != nil {
		return nil, nil, errInterrupted
	}
	tell("%s: modellog loads the weights and reads once", name)
	work, err := bench.NewSuite(ctx, m, suite, o.rows)
	if err != nil {
		return nil, nil, err
	}
	r := &bench.Report{Model: m.Info(), Suite: work}
	contestants := []bench.Contestant{work.Command(), work.Readings()}
	var versions []string
	for kind := range strings.SplitSeq(o.peers, ",") {
		for _, p := range o.variants(kind, found.Path) {
			tell("%s: %s loads the weights and tries itself out", name, p.Name)
			peer, more, end, err := o.start(ctx, work, p, cacheDir, digest)
			if ctx.Err() != nil {
				err = errInterrupted
			}
			if err != nil {
				tell("%s: %s is missing: %v", name, p.Name, err)
				r.Skipped = append(r.Skipped, bench.Skipped{Name: p.Name, Why: err.Error()})
				continue
			}
			defer end()
			contestants = append(contestants, peer)
			versions = append(versions, append(peer.Versions(), more...)...)
		}
	}
	r.Measured, err = bench.Interleave(ctx, contestants, o.repeats, bench.Rest, func(who string, seconds float64) {
		tell("%s: %s %.2f s", name, who, seconds)
	})
	if err != nil {
		r.Ended = errInterrupted.Error()
	}
	for _, m := range r.Measured {
		if m.Err != nil {
			tell("%s: %s failed: %v", name, m.Name(), m.Err)
		}
	}
	r.Reference = r.Measured[1].Last // the command keeps its readings to itself
	return r, versions, errors.Join(r.Measured[0].Err, r.Measured[1].Err)
}

// variants are the ways in which a peer is asked.
func (o *options) variants(kind, path string) []bench.PeerOptions {
	p := bench.PeerOptions{Name: kind, Kind: kind, Model: path, Threads: o.threads}
	if kind != "llama-cpp-python" {
		return []bench.PeerOptions{p}
	}
	tree, single, singleTree := p, p, p
	tree.Tree, single.Float32, singleTree.Tree, singleTree.Float32 = true, true, true, true
	single.Name, singleTree.Name = kind+", F32", kind+", F32"
	return []bench.PeerOptions{p, tree, single, singleTree}
}

// start starts a peer; end ends it and what it needs.
func (o *options) start(ctx context.Context, work *bench.Suite, p bench.PeerOptions, cacheDir, digest string) (peer *bench.Peer, versions []string, end func(), err error) {
	p.Python, err = bench.Environment(ctx, filepath.Join(cacheDir, "bench", "peers"), p.Kind, func(s string) { tell("%s", s) })
	if err != nil {
		return nil, nil, nil, err
	}
	end = func() {}
	if p.Kind == "ollama" {
		program, err := o.server(ctx, cacheDir)
		if err != nil {
			return nil, nil, nil, err
		}
		server, err := bench.StartServer(ctx, program)
		if err != nil {
			return nil, nil, nil, err
		}
		if err := server.Create(ctx, "weights", p.Model, digest); err != nil {
			server.Close()
			return nil, nil, nil, err
		}
		p.Server, p.Model = server, "weights"
		versions, end = []string{"ollama " + server.Version}, server.Close
	}
	peer, err = bench.StartPeer(ctx, work.Prefixes, p)
	if err != nil {
		end()
		return nil, nil, nil, err
	}
	endServer := end
	return peer, versions, func() { peer.Close(); endServer() }, nil
}

// server returns the path of an Ollama server's program, the one that the tests of package ollama
// build where none is named.
func (o *options) server(ctx context.Context, cacheDir string) (string, error) {
	if o.ollama != "" {
		return o.ollama, nil
	}
	path := filepath.Join(cacheDir, "test-ollama", "ollama")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	// It builds the server, and then runs no test.
	cmd := exec.CommandContext(ctx, "lm/ollama/testserver/run", "-run", "^$")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("the Ollama server could not be built (%w); make test-ollama says more", err)
	}
	return path, nil
}

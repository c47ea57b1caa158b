// Command exact prints how long modellog takes to compile and count propositional theories, and to count
// them under other weights, beside other programs that do the same. It is run by make bench-exact.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/modellog/modellog/bench"
	"github.com/modellog/modellog/bench/inference"
	"github.com/modellog/modellog/evals/wordnet"
	"github.com/modellog/modellog/lm/store"
)

func main() {
	var o options
	flag.StringVar(&o.families, "families", "", "`names` of the families; all without")
	flag.StringVar(&o.peers, "peers", "pysdd,dd,problog", "`names` of the peers")
	flag.IntVar(&o.most, "sizes", 0, "at most the first so many `sizes` of each family")
	flag.IntVar(&o.repeats, "repeats", 3, "`number` of passes of each program that is quick")
	flag.DurationVar(&o.limits.Time, "time", time.Minute, "`limit` for compiling and the first count")
	flag.Int64Var(&o.memory, "memory", 4096, "`limit` in MiB for each program")
	flag.Uint64Var(&o.seed, "seed", 1, "`seed` of the weights")
	flag.StringVar(&o.wordnet, "wordnet", "", "`folder` of a WordNet; the one that modellog data get wordnet fetches without")
	flag.StringVar(&o.out, "out", "", "`folder` for exact.txt and exact.csv; they are only printed without")
	flag.StringVar(&o.version, "version", "", "modellog's `version`, for the results")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interruption ends the program at once
	runtime.GOMAXPROCS(1)        // as the peers have, of which none has threads
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench-exact:", err)
		os.Exit(1)
	}
}

type options struct {
	families, peers, wordnet, out, version string
	most, repeats                          int
	memory                                 int64
	seed                                   uint64
	limits                                 inference.Limits
}

func tell(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (o *options) run(ctx context.Context) error {
	if flag.NArg() > 0 || o.repeats < 1 || o.most < 0 || o.memory < 64 || o.limits.Time <= 0 {
		return errors.New("repeats is at least 1, memory 64 MiB, time more than 0, and there are no arguments besides the flags")
	}
	o.limits.Memory = o.memory << 20
	cache, err := store.CacheDir()
	if err != nil {
		return err
	}
	families, skipped, err := o.choose()
	if err != nil {
		return err
	}
	peers := inference.Peers()
	var chosen []*inference.Peer
	for name := range strings.SplitSeq(o.peers, ",") {
		i := slices.IndexFunc(peers, func(p *inference.Peer) bool { return p.Kind == name })
		if i < 0 && name != "" {
			return fmt.Errorf("there is no peer %q; there are pysdd, dd and problog", name)
		}
		if i >= 0 {
			chosen = append(chosen, peers[i])
		}
	}
	have, missing, err := inference.Install(ctx, filepath.Join(cache, "bench", "peers"), chosen, tell)
	if err != nil {
		return err
	}
	c := bench.NewCircumstances("bench-exact", o.version, 1)
	run := inference.Options{Families: families, Peers: have, Limits: o.limits, Repeats: o.repeats, Seed: o.seed, Tell: tell}
	r, err := inference.Run(ctx, run)
	if len(r.Lines) == 0 {
		return errors.Join(err, errors.New("nothing was measured, and nothing is written"))
	}
	r.Skipped = append(skipped, missing...)
	errs := []error{err, r.WriteText(os.Stdout, c, run)}
	if o.out != "" {
		errs = append(errs, r.Save(o.out, c, run))
	}
	return errors.Join(errs...)
}

// choose returns the families that are asked for; that of WordNet is passed over where there is none.
func (o *options) choose() ([]*inference.Family, []bench.Skipped, error) {
	families := inference.Families()
	var skipped []bench.Skipped
	var fallback []string
	if s, err := store.New(store.Options{}); err == nil {
		fallback = append(fallback, s.DatasetDir("wordnet"))
	}
	dir, err := wordnet.Locate(o.wordnet, fallback...)
	if err == nil {
		db, err := wordnet.Open(dir)
		if err != nil {
			return nil, nil, err
		}
		families = append(families, inference.Taxonomies(db))
	} else if o.wordnet != "" {
		return nil, nil, err
	} else {
		skipped = append(skipped, bench.Skipped{Name: "the family taxonomy", Why: err.Error() + "; modellog data get wordnet fetches one"})
	}
	var names []string
	for _, f := range families {
		names = append(names, f.Name)
		if o.most > 0 {
			f.Sizes = f.Sizes[:min(o.most, len(f.Sizes))]
		}
	}
	if o.families == "" {
		return families, skipped, nil
	}
	var out []*inference.Family
	for name := range strings.SplitSeq(o.families, ",") {
		i := slices.Index(names, name)
		if i < 0 {
			return nil, nil, fmt.Errorf("there is no family %q; there are %s", name, strings.Join(names, ", "))
		}
		out = append(out, families[i])
	}
	return out, skipped, nil
}

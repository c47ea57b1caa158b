// Command bench measures the kernel's latencies beside those of bare GoNB, in one run on
// one machine: what a front-end sees, from the request to its reply and idle.
//
// Cells that are compared are run in turn, so that whatever else the machine does
// meets them alike; ratios and aims are of the least times, which it disturbs least. Each cell differs from the one before by a number, since an unchanged program is
// not compiled again.
//
//	go run ./kernel/internal/bench -modellog bin/modellog
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/shirou/gopsutil/v4/load"

	"github.com/modellog/modellog/kernel/install"
	"github.com/modellog/modellog/lm/store"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	b := &bench{out: os.Stdout}
	flag.StringVar(&b.command, "modellog", filepath.Join("bin", "modellog"), "the modellog whose kernel is measured")
	flag.StringVar(&b.model, "model", "gemma3:270m-pt", "the model of the constraint cells")
	flag.IntVar(&b.repeats, "n", 20, "how often each cell is run")
	flag.Parse()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct {
	out     io.Writer
	command string
	model   string
	repeats int
	cells   int // that were made, for the number in each

	tools, module string
}

// series is what was measured of one kind of cell.
type series struct {
	what string
	took []time.Duration
}

func (s *series) least() time.Duration { return slices.Min(s.took) }

func (s *series) median() time.Duration {
	sorted := slices.Sorted(slices.Values(s.took))
	return sorted[len(sorted)/2]
}

func (b *bench) run(ctx context.Context) error {
	command, err := filepath.Abs(b.command)
	if err != nil {
		return err
	}
	data, err := store.DataDir()
	if err != nil {
		return err
	}
	status, err := install.Look(ctx, data)
	if err != nil {
		return err
	}
	if !status.Current || status.Module == "" {
		return errors.New("what Go cells need is not installed, or not this version's; run: make test-kernel, or modellog kernel install")
	}
	b.command, b.tools, b.module = command, install.ToolsDir(data), install.ModuleDir(data)
	cache, err := ownCache()
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	os.Setenv("MODELLOG_CACHE", cache)
	os.Setenv("PATH", b.tools+string(filepath.ListSeparator)+os.Getenv("PATH"))

	fmt.Fprintf(b.out, "%d processors, %s; %d repeats of each cell, in turn; from the request to reply and idle\n", runtime.NumCPU(), runtime.Version(), b.repeats)
	if l, err := load.AvgWithContext(ctx); err == nil && l.Load1 > 0.5 {
		fmt.Fprintf(b.out, "The machine is busy with something else (load %.1f): a quiet one is faster.\n", l.Load1)
	}
	for _, part := range []func(context.Context) error{b.starts, b.constraints, b.goCells} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// ownCache makes a cache without readings, with the user's dequantised weights.
func ownCache() (string, error) {
	user, err := store.CacheDir()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "modellog-bench-cache-")
	if err != nil {
		return "", err
	}
	weights := filepath.Join(user, "weights")
	if err := os.MkdirAll(weights, 0o777); err != nil {
		return "", err
	}
	return dir, os.Symlink(weights, filepath.Join(dir, "weights"))
}

func (b *bench) ours(ctx context.Context) (*process, error) {
	return start(ctx, b.command, "kernel", "run", "--model", b.model)
}

// bare starts GoNB as a kernel of its own.
func (b *bench) bare(ctx context.Context) (*process, error) {
	return start(ctx, filepath.Join(b.tools, "gonb"), "-go_work="+b.module, "-kernel")
}

// The cells that are measured. Each takes the number that tells it from the one before.
const (
	printCell = "%%%%\nfmt.Println(%d)"
	echoCell  = "!echo %d"
	htmlCell  = "import \"github.com/janpfeifer/gonb/gonbui\"\n%%%%\ngonbui.DisplayHTML(\"<b>%d</b>\")\ngonbui.Sync()"
	// logicCell is the constraint cell's formula over probabilities that are known, by hand.
	logicCell = `import "github.com/modellog/modellog/logic"
%%%%
d, err := logic.Compile(context.Background(), logic.Implies(logic.Literal(0), logic.Or(logic.Literal(1), logic.Literal(2))))
if err != nil { log.Fatal(err) }
s, err := logic.Score(d, []logic.Weight{logic.WeightFromProbability(0.859), logic.WeightFromProbability(0.015), logic.WeightFromProbability(1 / %d.0)})
if err != nil { log.Fatal(err) }
fmt.Println(s)`
	helperCell = `import . "github.com/modellog/modellog"
%%%%
ctx := context.Background()
s, err := Connect(ctx)
if err != nil { log.Fatal(err) }
r, err := s.Evaluate(ctx, Implies(Text("dog"), Or(Text("mammal"), Prob(1 / %d.0))))
if err != nil { log.Fatal(err) }
if err := Show(r); err != nil { log.Fatal(err) }`
	defineCell  = "dog = M(\"A Golden Retriever is a\", \"dog\")\nmammal = M(\"A Golden Retriever is a\", \"mammal\")\ndog -> mammal"
	knownCell   = "dog -> mammal | prob(0.%06d)"
	readingCell = `M("Animal number %d of the zoo is a", "dog")`
)

// cell makes a cell that no other is like.
func (b *bench) cell(format string) string {
	b.cells++
	return fmt.Sprintf(format, b.cells)
}

// measure runs cells in turn, once to warm up and then repeatedly.
func (b *bench) measure(ctx context.Context, cells ...measured) ([]series, error) {
	out := make([]series, len(cells))
	for i := range b.repeats + 1 {
		for j, c := range cells {
			o, err := c.in.Run(ctx, b.cell(c.format))
			if err != nil {
				return nil, err
			}
			if o.Text() == "" {
				return nil, fmt.Errorf("%s: there is no output of\n%s", c.what, c.format)
			}
			out[j].what = c.what
			if i > 0 {
				out[j].took = append(out[j].took, o.Took)
			}
		}
	}
	return out, nil
}

type measured struct {
	what   string
	in     *process
	format string
}

// row is a line of a table: a series and what it is held against.
type row struct {
	series
	against *series       // nil for none
	aim     time.Duration // 0 for none
	atMost  float64       // aim for the ratio, 0 for none
}

func (b *bench) table(title string, rows ...row) error {
	fmt.Fprintf(b.out, "\n%s\n", title)
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "least\tmedian\tratio\taim\t\t\n")
	for _, r := range rows {
		ratio, aim, verdict := "", "", ""
		if r.against != nil {
			x := float64(r.least()) / float64(r.against.least())
			ratio = fmt.Sprintf("%.3g", x)
			if r.atMost > 0 {
				aim, verdict = fmt.Sprintf("≤ %g", r.atMost), met(x <= r.atMost)
			}
		}
		if r.aim > 0 {
			aim, verdict = "< "+r.aim.String(), met(r.least() < r.aim)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t  %s\n", ms(r.least()), ms(r.median()), ratio, aim, verdict, r.what)
	}
	return w.Flush()
}

func met(yes bool) string {
	if yes {
		return "met"
	}
	return "MISSED"
}

func ms(d time.Duration) string {
	x := float64(d) / float64(time.Millisecond)
	if x < 100 {
		return fmt.Sprintf("%.3g ms", x)
	}
	return fmt.Sprintf("%.0f ms", x)
}

// starts measures from the start of the process to the first output.
func (b *bench) starts(ctx context.Context) error {
	kinds := []struct {
		what, code string
		start      func(context.Context) (*process, error)
	}{
		{"bare GoNB, to the first line of a Go cell", printCell, b.bare},
		{"modellog, to the first line of a Go cell", "%%%%go\n" + printCell, b.ours},
		{"modellog, to the first result, without a model", "wmc(prob(0.%06d))", b.ours},
		{"modellog, to the first report on a model", readingCell, b.ours},
	}
	all := make([]series, len(kinds))
	for range max(3, b.repeats/4) {
		for i, kind := range kinds {
			f, err := kind.start(ctx)
			if err != nil {
				return err
			}
			before := time.Since(f.began)
			o, err := f.Run(ctx, b.cell(kind.code))
			f.stop()
			if err != nil {
				return err
			}
			all[i].what = kind.what
			all[i].took = append(all[i].took, before+o.First)
		}
	}
	return b.table("Start of the process to the first output (files of the model warm)",
		row{series: all[0]}, row{series: all[1], against: &all[0]}, row{series: all[2], against: &all[0]}, row{series: all[3], against: &all[0]})
}

// constraints measures cells of the constraint language.
func (b *bench) constraints(ctx context.Context) error {
	ours, err := b.ours(ctx)
	if err != nil {
		return err
	}
	defer ours.stop()
	bare, err := b.quiet(ctx)
	if err != nil {
		return err
	}
	defer bare.stop()
	if o, err := ours.Run(ctx, defineCell); err != nil {
		return err
	} else if !strings.Contains(o.Text(), "dog → mammal") {
		return fmt.Errorf("the constraint cell shows\n%s", o.Text())
	}
	theirs, err := b.measure(ctx,
		measured{"bare GoNB, fmt.Println", bare, printCell},
		measured{"bare GoNB, the same formula by package logic, probabilities given", bare, logicCell})
	if err != nil {
		return err
	}
	// Not in turn with compilations, which nobody has between two such cells.
	got, err := b.measure(ctx,
		measured{"modellog, a constraint whose readings are known", ours, knownCell},
		measured{"modellog, a constraint with one new reading", ours, readingCell})
	if err != nil {
		return err
	}
	return b.table("A constraint cell on a warm model ("+b.model+")", row{series: theirs[0]}, row{series: theirs[1]},
		row{series: got[0], against: &theirs[1], aim: 10 * time.Millisecond}, row{series: got[1], against: &theirs[1], aim: 100 * time.Millisecond})
}

// quiet starts a bare GoNB that does not run go get before each cell, as ours does not.
func (b *bench) quiet(ctx context.Context) (*process, error) {
	f, err := b.bare(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := f.Run(ctx, "%noautoget"); err != nil {
		f.stop()
		return nil, err
	}
	return f, nil
}

// goCells measures cells in Go here and in bare GoNB.
func (b *bench) goCells(ctx context.Context) error {
	ours, err := b.ours(ctx)
	if err != nil {
		return err
	}
	defer ours.stop()
	quiet, err := b.quiet(ctx)
	if err != nil {
		return err
	}
	defer quiet.stop()
	plain, err := b.bare(ctx)
	if err != nil {
		return err
	}
	defer plain.stop()
	if _, err := ours.Run(ctx, defineCell); err != nil {
		return err
	}
	got, err := b.measure(ctx,
		measured{"bare GoNB, !echo", quiet, echoCell},
		measured{"modellog, !echo", ours, "%%%%go\n" + echoCell},
		measured{"bare GoNB as it starts (go get before each cell), fmt.Println", plain, printCell},
		measured{"bare GoNB with %noautoget, fmt.Println", quiet, printCell},
		measured{"modellog, fmt.Println", ours, "%%%%go\n" + printCell},
		measured{"bare GoNB with %noautoget, gonbui.DisplayHTML", quiet, htmlCell},
		measured{"modellog, gonbui.DisplayHTML", ours, "%%%%go\n" + htmlCell},
		measured{"modellog, import modellog, Connect, Evaluate, Show", ours, "%%%%go\n" + helperCell})
	if err != nil {
		return err
	}
	return b.table("A cell in Go, warm",
		row{series: got[0]}, row{series: got[1], against: &got[0]},
		row{series: got[2]}, row{series: got[3]}, row{series: got[4], against: &got[3], atMost: 1.1},
		row{series: got[5]}, row{series: got[6], against: &got[5], atMost: 1.1},
		row{series: got[7], against: &got[5], aim: time.Second})
}

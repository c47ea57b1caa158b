package inference

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/modellog/modellog/bench"
	"github.com/modellog/modellog/logic"
)

//go:embed peers.py
var program []byte

// Limits are the same for all programs, for each theory.
type Limits struct {
	Time   time.Duration // on the processor, for compiling and the first count
	Memory int64         // bytes; of a peer's address space, and of what modellog's node limit amounts to
}

// patience is how many times longer than on the processor a program may take by the clock.
const patience = 8

// bytesPerNode is what modellog's process takes at most for each node of the limit, see
// logic.WithNodeLimit.
const bytesPerNode = 500

// Answer is what a program found out about a theory.
type Answer struct {
	Size    int        // of the compiled theory, in nodes or elements as the program counts them
	Recount float64    // seconds of one weighted count
	WMC     [2]float64 // under the two lists of weights
	Models  string     // decimal; "" where the program does not tell
}

// contestant is a program in one of its settings, on one theory.
type contestant interface {
	bench.Contestant
	Answer() *Answer // of the last pass; nil without one
	Close()
}

// batch is how long work is repeated that takes less; some systems count a processor's time in ticks of 4 ms.
const batch = 100 * time.Millisecond

// repeated does work as often as it takes for a batch, as peers.py does, and returns the seconds on the
// processor that it took once.
func repeated(work func() error) (float64, error) {
	for n := 1; ; {
		begin := processor()
		for range n {
			if err := work(); err != nil {
				return 0, err
			}
		}
		s := processor() - begin
		if s >= batch.Seconds() {
			return s / float64(n), nil
		}
		n = max(2*n, int(min(1.2*batch.Seconds()/max(s, 0.004), 10)*float64(n)))
	}
}

// within has a context end when this process has been so long on the processor, or eight times so long has passed.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, patience*limit)
	most := processor() + limit.Seconds()
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if processor() > most {
					cancel()
				}
			}
		}
	}()
	return ctx, cancel
}

// Own is the name of modellog in tables.
const Own = "modellog"

type own struct {
	theory *Theory
	limits Limits
	answer *Answer
}

func (o *own) Name() string     { return Own }
func (o *own) Setting() string  { return "" }
func (o *own) Processes() []int { return []int{os.Getpid()} }
func (o *own) Answer() *Answer  { return o.answer }
func (o *own) Close()           {}

func (o *own) Run(ctx context.Context) (bench.Pass, error) {
	outer := ctx
	ctx, cancel := within(ctx, o.limits.Time)
	defer cancel()
	weights := make([][]logic.Weight, len(o.theory.Weights))
	for i, list := range o.theory.Weights {
		for _, p := range list {
			weights[i] = append(weights[i], logic.WeightFromProbability(p))
		}
	}
	var d *logic.Diagram
	seconds, err := repeated(func() (err error) {
		if d, err = logic.Compile(ctx, o.theory.Formula(), logic.WithNodeLimit(int(o.limits.Memory/bytesPerNode))); err == nil {
			d.WMC(weights[0])
		}
		return err
	})
	switch {
	case err == nil || ctx.Err() == nil || outer.Err() != nil:
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = tooLate(o.limits)
	default:
		err = tooLong(o.limits)
	}
	if err != nil {
		return bench.Pass{}, err
	}
	a := &Answer{Size: d.Size(), Recount: math.Inf(1)}
	for i, w := range weights {
		s, _ := repeated(func() error { a.WMC[i] = d.WMC(w); return nil })
		a.Recount = min(a.Recount, s)
	}
	// Numbers of tens of thousands of digits have nothing to be compared with.
	if o.theory.Vars <= 20_000 {
		m := d.Count()
		a.Models = m.Lsh(m, uint(o.theory.Vars-len(d.Vars()))).String() // variables that nothing is said of are free
	}
	o.answer = a
	return bench.Pass{Seconds: seconds}, nil
}

func tooLong(l Limits) error { return fmt.Errorf("not in %v", l.Time) }

func tooLate(l Limits) error {
	return fmt.Errorf("not in %v by the clock, where %v on the processor are allowed", patience*l.Time, l.Time)
}

// Peer is one of the programs that peers.py calls.
type Peer struct {
	Kind     string // as peers.py and the file of requirements call it
	Name     string
	Settings []string
	Python   string // the interpreter of an environment that has it
}

// Peers are all of them, in the settings that they are asked in.
func Peers() []*Peer {
	return []*Peer{
		{Kind: "pysdd", Name: "PySDD", Settings: []string{"balanced", "right-linear", "vertical", "balanced, minimised", "right-linear, minimised"}},
		{Kind: "dd", Name: "dd", Settings: []string{"CUDD", "CUDD, reordered", "Python", "Python, reordered"}},
		{Kind: "problog", Name: "ProbLog", Settings: []string{"d-DNNF", "SDD"}},
	}
}

// long is a pass whose process, which keeps what it has compiled, is not kept for another.
const long = 3 * time.Second

type asked struct {
	peer     *Peer
	setting  string
	theory   *Theory
	limits   Limits
	versions func(map[string]string)

	dir     string
	process *bench.Process
	answer  *Answer
}

func (a *asked) Name() string     { return a.peer.Name }
func (a *asked) Setting() string  { return a.setting }
func (a *asked) Processes() []int { return a.process.IDs() }
func (a *asked) Answer() *Answer  { return a.answer }

func (a *asked) Close() {
	if a.process != nil {
		a.process.Close()
		a.process = nil
	}
	if a.dir != "" {
		os.RemoveAll(a.dir)
		a.dir = ""
	}
}

func (a *asked) start(ctx context.Context) (err error) {
	if a.dir, err = os.MkdirTemp("", "modellog-bench-"); err != nil {
		return err
	}
	theory, err := json.Marshal(a.theory)
	if err != nil {
		return err
	}
	script, file := filepath.Join(a.dir, "peers.py"), filepath.Join(a.dir, "theory.json")
	if err := errors.Join(os.WriteFile(script, program, 0o600), os.WriteFile(file, theory, 0o600)); err != nil {
		return err
	}
	args := []string{script, a.peer.Kind, a.setting, "--theory", file, "--memory", strconv.FormatInt(a.limits.Memory, 10), "--seconds", strconv.FormatFloat(a.limits.Time.Seconds(), 'g', -1, 64)}
	if a.process, err = bench.StartProcess(ctx, a.peer.Python, args, nil); err != nil {
		return err
	}
	var ready struct{ Versions map[string]string }
	if err := a.hear(ctx, &ready); err != nil {
		return err
	}
	a.versions(ready.Versions)
	return nil
}

// hear is an answer within the limit of time; a process without one is ended.
func (a *asked) hear(ctx context.Context, v any) error {
	ctx, cancel := context.WithTimeout(ctx, patience*a.limits.Time)
	defer cancel()
	defer context.AfterFunc(ctx, a.process.Kill)()
	err := a.process.Hear(v)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return tooLate(a.limits)
	}
	if err != nil && (strings.Contains(err.Error(), "CPU time limit") || strings.Contains(err.Error(), "SIGXCPU")) {
		return tooLong(a.limits)
	}
	return err
}

func (a *asked) Run(ctx context.Context) (p bench.Pass, err error) {
	begin := time.Now()
	defer func() {
		if err != nil || time.Since(begin) > long {
			a.Close()
		}
	}()
	if a.process == nil {
		if err := a.start(ctx); err != nil {
			return p, err
		}
	}
	var compiled struct {
		Seconds float64
		Size    int
	}
	if err := a.ask(ctx, "compile", &compiled); err != nil {
		return p, err
	}
	var counted struct {
		Seconds float64
		WMC     [2]float64
		Models  *string
	}
	if err := a.ask(ctx, "recount", &counted); err != nil {
		return p, fmt.Errorf("compiled in %.3g s, and counting: %w", compiled.Seconds, err)
	}
	a.answer = &Answer{Size: compiled.Size, Recount: counted.Seconds, WMC: counted.WMC}
	if counted.Models != nil {
		a.answer.Models = *counted.Models
	}
	return bench.Pass{Seconds: compiled.Seconds}, nil
}

func (a *asked) ask(ctx context.Context, what string, v any) error {
	if err := a.process.Say(what); err != nil {
		return err
	}
	return a.hear(ctx, v)
}

// tolerance is how far two weighted counts may be apart, relatively; both are sums of products in float64.
const tolerance = 1e-9

// disagreement says where two answers are not the same number; "" where they agree.
func disagreement(want, got *Answer) string {
	for i, w := range want.WMC {
		if g := got.WMC[i]; !(math.Abs(g-w) <= tolerance*math.Abs(w)) {
			return fmt.Sprintf("its weighted count is %.12g and not %.12g", g, w)
		}
	}
	if want.Models == "" || got.Models == "" {
		return ""
	}
	// Some count models in float64.
	w, _, err := big.ParseFloat(want.Models, 10, 200, big.ToNearestEven)
	if err != nil {
		return err.Error()
	}
	g, _, err := big.ParseFloat(got.Models, 10, 200, big.ToNearestEven)
	if err != nil || g.IsInf() {
		return fmt.Sprintf("its number of models is %s", got.Models)
	}
	if d := new(big.Float).Sub(g, w); w.Sign() == 0 && d.Sign() != 0 || w.Sign() != 0 && d.Quo(d, w).Abs(d).Cmp(big.NewFloat(tolerance)) > 0 {
		return fmt.Sprintf("it counts %s models and not %s", got.Models, want.Models)
	}
	return ""
}

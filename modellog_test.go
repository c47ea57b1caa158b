package modellog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	. "github.com/modellog/modellog"
	"github.com/modellog/modellog/kernel/connect"
	"github.com/modellog/modellog/lang/syntax"
	"github.com/modellog/modellog/local"
	"github.com/modellog/modellog/logic"
)

// served is what the kernel's end of the socket does, over a session of the language.
type served struct{ *Session }

func (s served) Eval(ctx context.Context, program string, _ bool, emit func(connect.Result) error) error {
	results, err := s.Session.Eval(ctx, program)
	for _, r := range results {
		if err := emit(connect.Result{JSON: r.JSON, Data: r.Forms}); err != nil {
			return err
		}
	}
	return err
}

func (s served) Names() []connect.Name {
	names, _ := s.Session.Names(context.Background()) // which is no error here
	return names
}

func (s served) Model() (json.RawMessage, error) {
	info, ok, err := s.Session.Model(context.Background())
	if !ok || err != nil {
		return nil, err
	}
	return json.Marshal(info)
}

// kernel serves a session on a socket, where Connect finds it, and returns that session.
func kernel(t *testing.T) *Session {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	own := local.New(nil)
	server := connect.Serve(l, served{own})
	t.Cleanup(func() { server.Close() })
	t.Setenv(connect.SocketVariable, path)
	return own
}

func TestConnect(t *testing.T) {
	ctx := t.Context()
	own := kernel(t)
	if _, err := own.Eval(ctx, "rain = prob(0.3)\nwet = prob(0.4)"); err != nil {
		t.Fatal(err)
	}
	s, err := Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	// The kernel's names are known, and what is defined here is known there.
	dry, err := s.Define(ctx, "dry", Not(Text("wet")))
	if err != nil {
		t.Fatal(err)
	}
	names, err := s.Names(ctx)
	if err != nil {
		t.Fatal(err)
	}
	there, err := own.Names(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(there, names); diff != "" {
		t.Errorf("the names differ (-kernel +cell):\n%s", diff)
	}
	if len(names) != 3 || names[2].Name != "dry" || names[2].Kind != "formula" {
		t.Errorf("the names are %v", names)
	}

	// A report is the same from either side, in all its forms.
	for _, f := range []Formula{Implies(Text("rain"), Not(dry)), Or(dry, Text("wet")), And(dry, Text("wet")), Iff(dry, Prob(1e-9))} {
		got, err := s.Evaluate(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		want, err := own.Evaluate(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-kernel +cell):\n%s", f, diff)
		}
		for _, mime := range []string{"text/plain", "text/html", "text/latex"} {
			if got.Result.Forms[mime] == "" {
				t.Errorf("%s has no %s", f, mime)
			}
		}
	}

	// A mistake has its place on either side.
	_, got := s.Eval(ctx, "rain\n& nothing")
	_, want := own.Eval(ctx, "rain\n& nothing")
	here, ok := errors.AsType[*Error](got)
	if !ok || here.Line != 2 || here.Detail == "" {
		t.Errorf("a mistake is %#v", got)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the mistakes differ:\n%s", diff)
	}

	if _, ok, err := s.Model(ctx); ok || err != nil {
		t.Errorf("without a model there is one: %v", err)
	}
	if _, err := s.Evaluate(ctx, M("A robin is a", "bird")); err == nil || !strings.Contains(err.Error(), "without a model") {
		t.Errorf("an event without a model: %v", err)
	}

	// The end of a connection is not the end of the session.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Names(ctx); err == nil {
		t.Error("a closed session answers")
	}
	if _, err := own.Evaluate(ctx, dry); err != nil {
		t.Error(err)
	}
}

func TestConnectWithoutKernel(t *testing.T) {
	t.Setenv(connect.SocketVariable, "")
	if _, err := Connect(t.Context()); !errors.Is(err, ErrNoKernel) {
		t.Errorf("got %v", err)
	}
	t.Setenv(connect.SocketVariable, filepath.Join(t.TempDir(), "gone"))
	if _, err := Connect(t.Context()); err == nil || errors.Is(err, ErrNoKernel) {
		t.Errorf("got %v", err)
	}
}

func TestStopped(t *testing.T) {
	kernel(t)
	remote, err := Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s := range []*Session{local.New(nil), remote} {
		if _, err := s.Evaluate(ctx, Prob(0.5)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}

// What the session says of a formula is what logic says of the same formula.
func TestEvaluateAgreesWithLogic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		s := local.New(nil)
		n := rapid.IntRange(1, 5).Draw(rt, "events")
		weights := make([]logic.Weight, n)
		events := make([]Formula, n)
		for i := range events {
			p := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, 0.5, 1e-12})).Draw(rt, "p")
			weights[i] = logic.WeightFromProbability(p)
			var err error
			if events[i], err = s.Define(ctx, fmt.Sprintf("e%d", i), Prob(p)); err != nil {
				rt.Fatal(err)
			}
		}
		ours, theirs := formulas(rt, events, 4)
		report, err := s.Evaluate(ctx, ours)
		if err != nil {
			rt.Fatalf("%s: %v", ours, err)
		}
		d, err := logic.Compile(ctx, theirs)
		if err != nil {
			rt.Fatal(err)
		}
		want, err := logic.Score(d, weights)
		if err != nil {
			rt.Fatal(err)
		}
		if !want.RhoDefined {
			want.Rho = math.NaN()
		}
		same := func(what string, got Interval, want float64) {
			near := got.Lo == want || math.Abs(got.Lo-want) <= 1e-12*max(1, math.Abs(want)) || math.IsNaN(got.Lo) && math.IsNaN(want)
			if !near || math.IsNaN(got.Lo) != math.IsNaN(want) || got.Lo != got.Hi && !math.IsNaN(want) {
				rt.Errorf("%s: %s is %v, not %v", ours, what, got, want)
			}
		}
		same("WMC", report.WMC, want.WMC)
		same("WMC₀", Interval{Lo: report.WMC0, Hi: report.WMC0}, want.WMC0)
		same("ρ", report.Rho, want.Rho)
		same("I", Interval{Lo: report.Info, Hi: report.Info}, want.Info)
		same("the loss", report.Loss, want.Loss)
		if report.CAcc != want.CAcc {
			rt.Errorf("%s is %s, not %s", ours, report.CAcc, want.CAcc)
		}
		gradient := make([]float64, n)
		d.Gradient(weights, gradient)
		for _, e := range report.Events {
			var i int
			if _, err := fmt.Sscanf(e.Name, "e%d", &i); err != nil {
				rt.Fatal(err)
			}
			if !e.Given || len(e.Tokens) != 1 {
				rt.Errorf("the event %s: %+v", e.Name, e)
			}
			same("P("+e.Name+")", e.EventP, weights[i].P)
			same("∂WMC/∂"+e.Name, e.Tokens[0].Gradient, gradient[i])
		}
	})
}

// formulas draws a formula over events, and the same of logic's.
func formulas(rt *rapid.T, events []Formula, depth int) (Formula, *logic.Formula) {
	op := rapid.IntRange(0, 9).Draw(rt, "op")
	if depth == 0 || op == 0 {
		i := rapid.IntRange(0, len(events)-1).Draw(rt, "event")
		return events[i], logic.Literal(logic.Var(i))
	}
	n := map[int]int{1: 1, 4: 2, 5: 2}[op]
	if n == 0 {
		n = rapid.IntRange(0, 3).Draw(rt, "operands")
	}
	var fs []Formula
	var gs []*logic.Formula
	for range n {
		f, g := formulas(rt, events, depth-1)
		fs, gs = append(fs, f), append(gs, g)
	}
	if op >= 7 && n == 0 {
		op = 2 // the language has no threshold of nothing
	}
	k := rapid.IntRange(0, max(n, 1)).Draw(rt, "k")
	switch op {
	case 1:
		return Not(fs[0]), logic.Not(gs[0])
	case 2:
		return And(fs...), logic.And(gs...)
	case 3:
		return Or(fs...), logic.Or(gs...)
	case 4:
		return Implies(fs[0], fs[1]), logic.Implies(gs[0], gs[1])
	case 5:
		return Iff(fs[0], fs[1]), logic.Iff(gs[0], gs[1])
	case 6:
		return Xor(fs...), logic.Xor(gs...)
	case 7:
		return AtLeast(k, fs...), logic.AtLeast(k, gs...)
	case 8:
		return AtMost(k, fs...), logic.AtMost(k, gs...)
	}
	return Exactly(k, fs...), logic.Exactly(k, gs...)
}

// Any text can be a prefix or target.
func TestQuoted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("\"\\'\n\t\r#)(\u2028🐕;")))).Draw(rt, "text")
		f := M(text, "x")
		if strings.Contains(text, "\x00") || !utf8.ValidString(text) {
			if _, err := local.New(nil).Evaluate(context.Background(), f); err == nil || !strings.Contains(err.Error(), "UTF-8 without NUL") {
				rt.Fatalf("%q became %s: %v", text, f, err)
			}
			return
		}
		x, err := syntax.ParseExpr(f.String())
		if err != nil {
			rt.Fatalf("%s: %v", f, err)
		}
		call, ok := x.(*syntax.Call)
		if !ok {
			rt.Fatalf("%s is a %T", f, x)
		}
		if got, ok := call.Args[0].X.(*syntax.String); !ok || got.Value != text {
			rt.Fatalf("%q became %#v", text, call.Args[0])
		}
	})
}

func TestWrongFormulas(t *testing.T) {
	ctx := t.Context()
	s := local.New(nil)
	p := Prob(0.3)
	again := Text("a")
	for range 64 {
		again = Iff(again, again)
	}
	for _, c := range []struct {
		f    Formula
		want string
	}{
		{Formula{}, "not set"},
		{And(Prob(0.5), Formula{}), "not set"},
		{Prob(1.5), "from 0 to 1"},
		{Not(Prob(math.NaN())), "from 0 to 1"},
		{Iff(p, p), "stands twice"},
		{AtLeast(1, Prob(0.1), Or(p, Not(p))), "stands twice"},
		{again, "too long"},
		{M("A robin\xff is a", "bird"), "UTF-8"},
		{M("A robin is a", "bird\x00"), "NUL"},
		{Text("a &"), "1:4"},
		{Text("%reset"), "1:1"},
		{Text("prob(0.5)\nprob(0.5)"), "2:1"},
		{Text("wmc(prob(0.5))"), "no formula"},
		{And(Text("a) & (b"), p), "1:2"},
	} {
		_, err := s.Evaluate(ctx, c.f)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not …%s…", c.f, err, c.want)
		}
		if _, err := s.Define(ctx, "f", c.f); err == nil {
			t.Errorf("%s was defined", c.f)
		}
	}
	for _, name := range []string{"", "a b", "a = prob(0.5)\nb", "f(x)", "wmc", "%reset\na", "a\nb"} {
		if _, err := s.Define(ctx, name, Prob(0.5)); err == nil {
			t.Errorf("%q became a name", name)
		}
	}
	err := s.DefineSchema(ctx, "part", []string{"x"}, func(h []string) Formula { return M(h[0]+" is a", "bird") })
	if err == nil || !strings.Contains(err.Error(), "hole") {
		t.Errorf("half a hole: %v", err)
	}
	if names, _ := s.Names(ctx); len(names) != 0 {
		t.Errorf("%v are defined", names)
	}
	// A comment ends with its line.
	report, err := s.Evaluate(ctx, And(Text("prob(0.5) # heads"), Text("prob(0.5)")))
	if err != nil || report.WMC.Lo != 0.25 {
		t.Errorf("got %v, %v", report, err)
	}
}

func TestRun(t *testing.T) {
	ctx := t.Context()
	kernel(t)
	remote, err := Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	dir := t.TempDir()
	t.Chdir(dir)
	const file = `a "file" of facts.jsonl`
	if err := os.WriteFile(file, []byte("{\"p\": 0.9, \"q\": 0.2}\n{\"p\": 0.1, \"q\": 0.3}\n{\"p\": 0.1}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// By hand: 1 − p(1 − q) is 0.28 and 0.93, against 0.75 by chance.
	rho := ((0.28-0.75)/0.25 + (0.93-0.75)/0.25) / 2
	for _, s := range []*Session{local.New(nil), remote} {
		if _, err := s.Eval(ctx, "implication(p, q) = prob(p) -> prob(q)"); err != nil {
			t.Fatal(err)
		}
		run, err := s.Run(ctx, "implication", file)
		if err != nil {
			t.Fatal(err)
		}
		if run.Rows != 3 || run.N != 2 || run.BadRows != 1 || len(run.Bad) != 1 || run.Bad[0].Line != 3 || run.CAcc != (Interval{Lo: 0.5, Hi: 0.5}) {
			t.Errorf("got %+v", run)
		}
		if math.Abs(run.Rho.Lo-rho) > 1e-12 || math.Abs(run.Info-math.Log2(4.0/3)) > 1e-12 {
			t.Errorf("ρ %v, I %v; not %v, %v", run.Rho, run.Info, rho, math.Log2(4.0/3))
		}
		if _, err := s.Run(ctx, "implication", "none.csv"); err == nil {
			t.Error("a file that is not there was run over")
		}
		if _, err := s.Run(ctx, "nothing", file); err == nil {
			t.Error("a schema that is not there was run")
		}
	}
}

// A figure has the form that a notebook shows.
func TestFigure(t *testing.T) {
	results, err := local.New(nil).Eval(t.Context(), "rain = prob(0.3)\n%plot report rain")
	if err != nil {
		t.Fatal(err)
	}
	r := results[len(results)-1]
	if r.Kind != "figure" || !strings.Contains(r.Forms["image/svg+xml"], "<svg") {
		t.Errorf("got a %s with %d bytes of SVG", r.Kind, len(r.Forms["image/svg+xml"]))
	}
	if _, err := r.Report(); err == nil {
		t.Error("a figure was read as a report")
	}
}

// Go cells are compiled and linked again and again, on machines without a C compiler: what they import is
// pure Go, and neither the language's evaluation nor its figures are in it.
func TestLight(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}} {{.CgoFiles}}{{end}}", ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1") // so that files with cgo are listed
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "modellog/kernel/connect []") {
		t.Fatalf("go list says %s", out)
	}
	for line := range strings.Lines(string(out)) {
		pkg, files, _ := strings.Cut(strings.TrimSpace(line), " ")
		if files != "[]" || strings.HasPrefix(pkg, "gonum.org/") || strings.Contains(pkg, "/lm/") || strings.HasSuffix(pkg, "modellog/lang") {
			t.Errorf("the root package needs %s %s", pkg, files)
		}
	}
}

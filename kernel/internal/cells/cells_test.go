//go:build linux && cgo

// Package cells tests cells of both languages on a real model, in one session.
package cells

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/kernel"
	"github.com/modellog/modellog/kernel/install"
	"github.com/modellog/modellog/kernel/internal/frontend"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf"
	"github.com/modellog/modellog/lm/store"
)

// toolsDir is where `modellog kernel install` puts gonb.
func toolsDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MODELLOG_TEST_GONB")
	if dir == "" {
		data, err := store.DataDir()
		if err != nil {
			t.Fatal(err)
		}
		dir = install.ToolsDir(data)
	}
	if os.Getenv("MODELLOG_TEST_GO_CELLS") == "" {
		t.Skip("make test-kernel runs this")
	}
	if _, err := os.Stat(filepath.Join(dir, "gonb")); err != nil {
		t.Fatalf("%s/gonb is missing; make it with: make test-kernel", dir)
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Fatal("there is no go in PATH")
	}
	return dir
}

// notebook is a kernel on a real model, and a front-end.
type notebook struct {
	*frontend.Client
	t      *testing.T
	opened atomic.Int32 // how often the model was opened
}

// open starts a kernel whose Go cells import this module as it is, and nothing else: there is no network.
func open(t *testing.T) *notebook {
	tools := toolsDir(t)
	path := modeltest.SmolLM.Path(t)
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOFLAGS", "-mod=mod")       // as users have it; a workspace does not allow it
	dir, err := os.MkdirTemp("", "cells") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	conn := frontend.Fresh(dir)
	k, err := kernel.New(kernel.Options{Connection: conn, Version: "test", Log: t.Output(),
		Go: kernel.GoOptions{ToolsDir: tools, Dir: t.TempDir(), Work: []string{root}}})
	if err != nil {
		t.Fatal(err)
	}
	n := &notebook{t: t}
	session := lang.New(lang.Options{Model: modeltest.SmolLM.Name, Progress: k.Progress, Warn: k.Warn,
		Open: func(ctx context.Context, name string) (lm.Model, error) {
			n.opened.Add(1)
			return gguf.Open(ctx, path, gguf.Options{Name: name, Digest: modeltest.SmolLM.SHA256, Precision: gguf.Native, Threads: 1})
		}})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx, session) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	if n.Client, err = frontend.Connect(ctx, conn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Client.Close)
	return n
}

func (n *notebook) run(code string) *frontend.Answer {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), 3*time.Minute)
	defer cancel()
	a, err := n.Run(ctx, code)
	if err != nil {
		n.t.Fatal(err)
	}
	return a
}

// value is the number that a cell's last result shows.
func (n *notebook) value(code string) float64 {
	n.t.Helper()
	a := n.run(code)
	for _, o := range a.Published {
		if o.Type == "execute_result" {
			x, err := strconv.ParseFloat(fmt.Sprint(o.Content.Data["text/plain"]), 64)
			if err != nil {
				n.t.Fatal(err)
			}
			return x
		}
	}
	n.t.Fatalf("there is no result: %s", a.Text())
	return 0
}

// byHand is the WMC of dog → mammal from the readings themselves.
func byHand(t *testing.T) float64 {
	t.Helper()
	m, err := gguf.Open(t.Context(), modeltest.SmolLM.Path(t), gguf.Options{Digest: modeltest.SmolLM.SHA256, Precision: gguf.Native, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r := event.Reader{Model: m}
	const prefix = "A Golden Retriever is a"
	resolved, err := r.Resolve(t.Context(), []event.Event{{Prefix: prefix, Target: "dog"}, {Prefix: prefix, Target: "mammal"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Read(t.Context(), []event.Step{resolved[0].Steps[0], resolved[1].Steps[0]}, calibrate.Default())
	if err != nil {
		t.Fatal(err)
	}
	return 1 - got[0].EventP.Lo*(1-got[1].EventP.Lo)
}

func TestCells(t *testing.T) {
	n := open(t)
	n.run("dog = M(\"A Golden Retriever is a\", \"dog\")\nmammal = M(\"A Golden Retriever is a\", \"mammal\")\nrule = dog -> mammal")
	want := byHand(t)
	if got := n.value("wmc(rule)"); math.Abs(got-want) > 1e-4 {
		t.Fatalf("wmc(rule) is %v, and by hand %v", got, want)
	}

	// A Go cell sees the name, asks the warm model, gives a name back, and shows reports and figures.
	a := n.run(`%%go
import . "github.com/modellog/modellog"

%%
ctx := context.Background()
s, err := Connect(ctx)
if err != nil { log.Fatal(err) }
report, err := s.Evaluate(ctx, Text("rule"))
if err != nil { log.Fatal(err) }
fmt.Printf("%.17g\n", report.WMC.Lo)
if _, err := s.Define(ctx, "broken", Not(Text("rule"))); err != nil { log.Fatal(err) }
if err := Show(report); err != nil { log.Fatal(err) }
fmt.Println("between")
figure, err := s.Eval(ctx, "%plot report rule")
if err != nil { log.Fatal(err) }
if err := Show(figure[0]); err != nil { log.Fatal(err) }`)
	var kinds []string
	var shown []map[string]any
	var printed string
	for _, o := range a.Published {
		switch o.Type {
		case "stream":
			printed += o.Content.Text
			if len(kinds) > 0 && kinds[len(kinds)-1] == "stream" {
				continue
			}
		case "display_data":
			shown = append(shown, o.Content.Data)
		}
		kinds = append(kinds, o.Type)
	}
	if got := strings.Join(kinds, " "); got != "stream display_data stream display_data" {
		t.Errorf("the outputs are %s", got)
	}
	first, rest, _ := strings.Cut(printed, "\n")
	got, err := strconv.ParseFloat(first, 64)
	if err != nil || math.Abs(got-want) > 1e-4 || rest != "between\n" {
		t.Errorf("printed %q, by hand %v", printed, want)
	}
	if len(shown) == 2 {
		for mime, part := range map[string]string{"text/html": "<table", "text/plain": "WMC₀ 0.750", "text/latex": `\text{dog} \to \text{mammal}`} {
			if s, _ := shown[0][mime].(string); !strings.Contains(s, part) {
				t.Errorf("the report's %s has no %s: %q", mime, part, s)
			}
		}
		if s, _ := shown[1]["image/svg+xml"].(string); !strings.Contains(s, "<svg") || shown[1]["text/html"] != nil {
			t.Errorf("the figure is %v", shown[1])
		}
	}

	// What the Go cell has defined is there, and the model was opened once.
	if got := n.value("wmc(broken)"); math.Abs(got-(1-want)) > 1e-4 {
		t.Errorf("wmc(broken) is %v, and by hand %v", got, 1-want)
	}
	if k := n.opened.Load(); k != 1 {
		t.Errorf("the model was opened %d times", k)
	}

	// The import that is there now is in the way of no cell that does not use it, and stays at
	// hand for those that do.
	if got := n.run("%%go\n%%\nfmt.Println(\"plain\")").Text(); got != "plain\n" {
		t.Errorf("%q", got)
	}
	if got := n.run("%%go\n%%\nfmt.Println(Implies(Text(\"dog\"), Not(Text(\"mammal\"))))").Text(); got != "(dog) -> !(mammal)\n" {
		t.Errorf("%q", got)
	}
	if got := n.run("%%go\ntype Report struct{ Name string }\n%%\nfmt.Println(Report{Name: \"mine\"})").Text(); got != "{mine}\n" {
		t.Errorf("%q", got)
	}
}

// TestShowLosesNothing shows a result in a hundred cells.
func TestShowLosesNothing(t *testing.T) {
	n := open(t)
	n.run("a = prob(0.25)")
	for i := range 100 {
		// The program is the same each time, and not compiled anew.
		a := n.run("%%go\n%%\nctx := context.Background()\ns, err := Connect(ctx)\nif err != nil { log.Fatal(err) }\nr, err := s.Eval(ctx, \"wmc(a)\")\n" +
			"if err != nil { log.Fatal(err) }\nfmt.Println(\"before\")\nif err := Show(r[0]); err != nil { log.Fatal(err) }\nfmt.Println(\"after\")")
		var got string
		for _, o := range a.Published {
			got += o.Content.Text
			if text, ok := o.Content.Data["text/plain"]; ok {
				got += fmt.Sprint(text) + "\n"
			}
		}
		if got != "before\n0.25\nafter\n" {
			t.Fatalf("cell %d: %q", i, got)
		}
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm/gguf"
	"github.com/modellog/modellog/lm/ollama"
	"github.com/modellog/modellog/lm/store"
	"github.com/modellog/modellog/lm/store/readings"
)

type doctorCmd struct{}

// finding is one line of what the doctor says.
type finding struct {
	state  state
	what   string
	detail string
	mend   string // the command or step that mends it; "" where nothing is to be done
}

type state int

const (
	well   state = iota // works
	absent              // not there, and only needed for what it says
	ill                 // keeps modellog from its main job
)

func (c *doctorCmd) Run(ctx context.Context, std streams) error {
	findings := append(engineFindings(), memoryFinding())
	models, err := modelFindings(ctx)
	if err != nil {
		return err
	}
	findings = append(findings, models...)
	findings = append(findings, pipFinding(ctx), ollamaFinding(ctx), cacheFinding(ctx))
	findings = append(findings, kernelFindings(ctx)...)
	st := lang.StyleOf(std.out)
	var broken bool
	for _, f := range findings {
		broken = broken || f.state == ill
		if err := f.write(std.out, st.Color); err != nil {
			return err
		}
	}
	if broken {
		return exitError(exitFailed)
	}
	return ctx.Err()
}

func (f finding) write(w io.Writer, color bool) error {
	mark, code := "ok", "32"
	switch f.state {
	case absent:
		mark, code = "--", "33"
	case ill:
		mark, code = "!!", "31"
	}
	if color {
		mark = "\x1b[" + code + "m" + mark + "\x1b[0m"
	}
	text := fmt.Sprintf("%s  %-10s %s\n", mark, f.what, f.detail)
	if f.mend != "" {
		text += fmt.Sprintf("    %-10s %s\n", "", f.mend)
	}
	_, err := io.WriteString(w, text)
	return err
}

func engineFindings() []finding {
	b := gguf.BuiltFor()
	f := finding{what: "engine", detail: fmt.Sprintf("Ollama %s, built for %s", engineVersion(), strings.Join(b.For, " "))}
	switch {
	case len(b.Missing) > 0:
		f.state = ill
		f.detail += "; this processor lacks " + strings.Join(b.Missing, ", ")
		f.mend = "build it on this machine: make"
	case !b.Optimised:
		f.state = ill
		f.detail += ", without optimisation: some 16 times slower than it can be"
		f.mend = `build it with make, or with CGO_CFLAGS="-O3 -march=native" CGO_CXXFLAGS="-O3 -march=native"`
	case len(b.Unused) > 0:
		f.state = absent
		f.detail += "; the processor also has " + strings.Join(b.Unused, ", ")
		f.mend = "build it on this machine to use them: make"
	default:
		f.detail += ", all that this processor has"
	}
	return []finding{f, {what: "processor", detail: fmt.Sprintf("%d threads, %s/%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)}}
}

func memoryFinding() finding {
	m, err := mem.VirtualMemory()
	if err != nil {
		return finding{state: absent, what: "memory", detail: fmt.Sprintf("not known: %v", err)}
	}
	return finding{what: "memory", detail: fmt.Sprintf("%s free of %s", humanize.Bytes(m.Available), humanize.Bytes(m.Total))}
}

func modelFindings(ctx context.Context) ([]finding, error) {
	var out []finding
	models, err := openStore(func(message string) {
		out = append(out, finding{state: absent, what: "models", detail: message})
	})
	if err != nil {
		return nil, err
	}
	found, err := models.Models(ctx)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return append(out, finding{state: ill, what: "models", detail: "none on this machine", mend: "modellog models get " + defaultModel}), nil
	}
	haveDefault := false
	for _, m := range found {
		haveDefault = haveDefault || m.Name == defaultModel
		f := finding{what: "model", detail: fmt.Sprintf("%s (%s, %s)", m.Name, m.Origin, humanize.Bytes(uint64(m.Size)))}
		if d, err := gguf.Describe(m.Path); err != nil {
			f.state, f.detail = absent, f.detail+": "+err.Error()
		} else if d.ExactReason != "" {
			f.detail += ", native precision: " + d.ExactReason
		}
		out = append(out, f)
	}
	if !haveDefault {
		out = append(out, finding{state: absent, what: "models", detail: defaultModel + ", the default, is not here", mend: "modellog models get " + defaultModel})
	}
	return out, nil
}

func pipFinding(ctx context.Context) finding {
	out, err := exec.CommandContext(ctx, "python3", "-m", "pip", "--version").Output()
	if err == nil {
		v, _, _ := strings.Cut(string(out), " from ")
		return finding{what: "pip", detail: v + ", which fetches models"}
	}
	f := finding{state: absent, what: "pip", detail: "not there; modellog models get needs it", mend: "python3 -m ensurepip, or your system's package python3-pip"}
	if errors.Is(err, exec.ErrNotFound) {
		f.detail, f.mend = "there is no python3; modellog models get needs it with pip", "install Python 3 with pip"
	}
	return f
}

func ollamaFinding(ctx context.Context) finding {
	address, version, err := ollama.Reachable(ctx)
	if err != nil {
		return finding{state: absent, what: "ollama", detail: err.Error(), mend: "only needed for models named ollama:NAME; start it with: ollama serve"}
	}
	names, err := ollama.Names(ctx)
	if err != nil {
		return finding{state: absent, what: "ollama", detail: err.Error()}
	}
	return finding{what: "ollama", detail: fmt.Sprintf("version %s at %s, %d models", version, address, len(names))}
}

func cacheFinding(ctx context.Context) finding {
	dir, err := store.CacheDir()
	if err != nil {
		return finding{state: absent, what: "cache", detail: err.Error()}
	}
	var trouble error
	cache, err := readings.Open(ctx, dir, readings.Options{Warn: func(err error) { trouble = err }})
	if err != nil {
		return finding{state: absent, what: "cache", detail: err.Error()}
	}
	defer cache.Close()
	stats, err := cache.Stats(ctx)
	if trouble = errors.Join(trouble, err); trouble != nil || !stats.On {
		return finding{state: absent, what: "cache", detail: fmt.Sprint(trouble), mend: "readings are made anew each time; set MODELLOG_CACHE to a folder that can be written"}
	}
	return finding{what: "cache", detail: fmt.Sprintf("%s rows, %s of %s in %s", humanize.Comma(int64(stats.Rows)), humanize.Bytes(uint64(stats.Bytes)), humanize.Bytes(uint64(stats.MaxBytes)), stats.Path)}
}

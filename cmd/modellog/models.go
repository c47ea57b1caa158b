package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/dustin/go-humanize"

	"github.com/modellog/modellog/internal/progress"
	"github.com/modellog/modellog/lm/gguf"
	"github.com/modellog/modellog/lm/ollama"
	"github.com/modellog/modellog/lm/open"
	"github.com/modellog/modellog/lm/openai"
	"github.com/modellog/modellog/lm/store"
)

type modelsCmd struct {
	List modelsListCmd `cmd:"" default:"1" help:"List the models on this machine and those that can be fetched."`
	Get  modelsGetCmd  `cmd:"" help:"Fetch a model of the catalogue."`
	Info modelsInfoCmd `cmd:"" help:"Describe a model."`
}

type modelsListCmd struct {
	JSON bool `help:"Print each model as a JSON object on a line of its own."`
}

// listed is one line of the list.
type listed struct {
	Name    string `json:"name"`
	Backend string `json:"backend"` // what opens it; "" where it must be fetched first
	Origin  string `json:"origin"`  // whose it is
	Size    int64  `json:"size"`    // of the weights file in bytes, 0 where it is not known
	Path    string `json:"path,omitempty"`
	Get     string `json:"get,omitempty"` // the command that fetches it
}

func (c *modelsListCmd) Run(ctx context.Context, std streams) error {
	models, err := openStore(func(message string) { fmt.Fprintf(std.err, "warning: %s\n", message) })
	if err != nil {
		return err
	}
	found, err := models.Models(ctx)
	if err != nil {
		return err
	}
	var rows []listed
	here := make(map[string]bool)
	for _, m := range found {
		here[m.Name] = true
		rows = append(rows, listed{Name: m.Name, Backend: "gguf", Origin: string(m.Origin), Size: m.Size, Path: m.Path})
	}
	if _, _, err := ollama.Reachable(ctx); err == nil {
		served, err := ollama.Names(ctx)
		if err != nil {
			fmt.Fprintf(std.err, "warning: the Ollama server does not list its models: %v\n", err)
		}
		for _, name := range served {
			if !here[name] {
				rows = append(rows, listed{Name: name, Backend: "ollama", Origin: "ollama server"})
			}
		}
	}
	for _, e := range store.Catalogue() {
		if !here[e.Name] {
			rows = append(rows, listed{Name: e.Name, Origin: "catalogue", Size: e.Size, Get: "modellog models get " + e.Name})
		}
	}
	if c.JSON {
		encoder := json.NewEncoder(std.out)
		encoder.SetEscapeHTML(false)
		for _, r := range rows {
			if err := encoder.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "NAME\tSIZE\tOPENED BY\tWHERE")
	for _, r := range rows {
		size, by, where := "", r.Backend, r.Path
		if r.Size > 0 {
			size = humanize.Bytes(uint64(r.Size))
		}
		switch {
		case r.Get != "":
			by, where = "-", "not here yet: "+r.Get
		case where == "":
			where = r.Origin
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Name, size, by, where)
	}
	return w.Flush()
}

type modelsGetCmd struct {
	Name string `arg:"" help:"A name of the catalogue; modellog models list shows them."`
}

func (c *modelsGetCmd) Run(ctx context.Context, std streams) error {
	models, err := openStore(func(message string) { fmt.Fprintf(std.err, "warning: %s\n", message) })
	if err != nil {
		return err
	}
	bar := progress.New(std.err)
	defer bar.Close()
	m, err := models.Get(ctx, c.Name, store.GetOptions{
		Progress: func(p store.Progress) {
			bar.ReportBytes(fmt.Sprintf("%s %s", p.Stage, c.Name), int(p.Done), int(p.Total))
		},
		Notice: func(text string) {
			bar.Clear()
			fmt.Fprintln(std.err, text)
		},
	})
	if err != nil {
		return err
	}
	bar.Clear()
	_, err = fmt.Fprintf(std.out, "%s is at %s (%s, SHA-256 checked)\n", m.Name, m.Path, humanize.Bytes(uint64(m.Size)))
	return err
}

type modelsInfoCmd struct {
	Name string `arg:"" help:"A model's name, gguf:PATH, ollama:NAME or openai:URL#NAME."`
	JSON bool   `help:"Print one JSON object."`
}

// described is what models info tells.
type described struct {
	Name         string `json:"name"`
	Architecture string `json:"architecture"`
	Parameters   uint64 `json:"parameters"`
	Quantization string `json:"quantization"`
	Vocabulary   int    `json:"vocabulary"`
	Context      int    `json:"context"`
	AddBOS       bool   `json:"add_bos"`
	BOS          string `json:"bos,omitempty"`
	Path         string `json:"path"`
	Size         int64  `json:"size,omitempty"`
	Digest       string `json:"sha256,omitempty"`
	Licence      string `json:"licence,omitempty"`
	Source       string `json:"source,omitempty"`
	Backend      string `json:"backend"`
	Reads        string `json:"reads"`
}

func (c *modelsInfoCmd) Run(ctx context.Context, std streams) error {
	d, err := describe(ctx, c.Name, std)
	if err != nil {
		return err
	}
	if c.JSON {
		encoder := json.NewEncoder(std.out)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(d)
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 3, ' ', 0)
	line := func(what, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", what, value)
		}
	}
	line("name", d.Name)
	line("architecture", d.Architecture)
	if d.Parameters > 0 {
		line("parameters", humanize.Comma(int64(d.Parameters)))
	}
	line("quantisation", d.Quantization)
	if d.Vocabulary > 0 {
		line("vocabulary", humanize.Comma(int64(d.Vocabulary))+" tokens")
	}
	if d.Context > 0 {
		line("context", humanize.Comma(int64(d.Context))+" tokens")
	}
	bos := "none is added; an empty prefix cannot be read"
	if d.AddBOS {
		bos = fmt.Sprintf("%s, added in front of every prefix", d.BOS)
	}
	line("BOS", bos)
	line("lies at", d.Path)
	if d.Size > 0 {
		line("size", humanize.Bytes(uint64(d.Size)))
	}
	line("SHA-256", d.Digest)
	line("licence", d.Licence)
	line("source", d.Source)
	line("opened by", d.Backend+": "+d.Reads)
	return w.Flush()
}

func describe(ctx context.Context, name string, std streams) (*described, error) {
	models, err := openStore(func(message string) { fmt.Fprintf(std.err, "warning: %s\n", message) })
	if err != nil {
		return nil, err
	}
	place, err := open.Find(ctx, name, open.Options{Store: models})
	if err != nil {
		return nil, err
	}
	switch place.Backend {
	case "openai":
		return describeOpenAI(ctx, name, open.Options{Store: models})
	case "ollama":
		return describeServed(ctx, name, place.Name)
	}
	found := place.File
	i, err := gguf.Describe(found.Path)
	if err != nil {
		return nil, err
	}
	d := &described{
		Name: name, Architecture: i.Architecture, Parameters: i.Parameters, Quantization: i.Quantization,
		Vocabulary: i.Vocabulary, Context: i.Context, AddBOS: i.AddBOS, BOS: i.BOS, Path: found.Path,
		Size: i.Size, Licence: found.Licence, Source: found.Source,
		Backend: "gguf", Reads: "the whole vocabulary, in this program",
	}
	if i.ExactReason != "" {
		d.Reads += ", native precision by default (" + i.ExactReason + ")"
	} else {
		d.Reads += ", exact precision (float32) by default"
	}
	if d.Digest, err = models.Digest(ctx, found.Path); err != nil {
		return nil, err
	}
	return d, nil
}

func describeServed(ctx context.Context, name, model string) (*described, error) {
	m, err := ollama.Open(ctx, model, ollama.Options{})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	i := m.Info()
	d := &described{
		Name: name, Architecture: i.Architecture, Parameters: i.Parameters, Quantization: i.Quantization,
		Vocabulary: i.Vocabulary, Context: i.Context, AddBOS: i.AddBOS, Path: i.Path, Digest: i.Digest,
		Backend: "ollama", Reads: "the 20 most probable tokens, sure intervals for the others",
	}
	if i.AddBOS {
		d.BOS = string(m.Piece(i.BOS))
	}
	return d, nil
}

// describeOpenAI describes a model of servers that speak OpenAI's protocol, which tell what they do.
func describeOpenAI(ctx context.Context, name string, o open.Options) (*described, error) {
	opened, err := open.Model(ctx, name, o)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	m, ok := opened.(*openai.Model)
	if !ok {
		return nil, fmt.Errorf("the model %q was not opened by the backend openai", name)
	}
	i := m.Info()
	d := &described{
		Name: name, Parameters: i.Parameters, Quantization: i.Quantization, Vocabulary: i.Vocabulary, Context: i.Context,
		AddBOS: i.AddBOS, Path: i.Path, Backend: "openai",
	}
	switch err := m.Readable(); {
	case err != nil:
		d.Reads = fmt.Sprintf("it only writes: %v", err)
	case i.Whole:
		d.Reads = i.Revision + ", the whole vocabulary"
	default:
		d.Reads = fmt.Sprintf("%s, up to %d of the most probable tokens, sure intervals for the others", i.Revision, m.Listed())
	}
	if i.AddBOS {
		d.BOS = string(m.Piece(i.BOS))
	}
	return d, nil
}

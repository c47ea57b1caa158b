//go:build cgo

package open_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm/gguf"
	"github.com/modellog/modellog/lm/gguf/header"
	"github.com/modellog/modellog/lm/open"
)

// A model opened by name is the one of its file.
func TestModel(t *testing.T) {
	ctx := t.Context()
	r := modeltest.SmolLM
	path := r.Path(t)
	home := machine(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	own := put(t, string(whole), home, "data/models", r.Name+".gguf")
	theirs := pulled(t, home, "smol", string(whole))
	for name, file := range map[string]string{r.Name: own, "smol": theirs, "gguf:" + path: path} {
		want, err := gguf.Open(ctx, file, gguf.Options{Name: name, Digest: r.SHA256, Precision: gguf.Native})
		if err != nil {
			t.Fatal(err)
		}
		m, err := open.Model(ctx, name, open.Options{Precision: "native"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want.Info(), m.Info()); diff != "" {
			t.Errorf("%s (-file +name):\n%s", name, diff)
		}
		if err := errors.Join(m.Close(), want.Close()); err != nil {
			t.Error(err)
		}
	}
	if _, err := open.Model(ctx, r.Name, open.Options{Precision: "rough"}); err == nil || !strings.Contains(err.Error(), `precision "rough"`) {
		t.Errorf("an unknown precision: %v", err)
	}
}

// A model that the engine lacks the architecture for is read by Ollama's server, which has it;
// one that is not Ollama's is not.
func TestUnsupported(t *testing.T) {
	ctx := t.Context()
	whole, err := os.ReadFile(modeltest.SmolLM.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	unknown := string(bytes.ReplaceAll(whole, []byte("llama"), []byte("qalam")))
	home := machine(t)
	put(t, unknown, home, "data/models/own.gguf")
	pulled(t, home, "theirs", unknown)

	var warnings []string
	o := open.Options{Precision: "native", Warn: func(w string) { warnings = append(warnings, w) }}
	lacks := func(name string) {
		t.Helper()
		if m, err := open.Model(ctx, name, o); m != nil || !errors.Is(err, gguf.ErrUnsupported) || len(warnings) != 0 {
			t.Errorf("%s: %v, %v, warnings %q", name, m, err, warnings)
		}
	}
	lacks("own")
	lacks("theirs") // there is no server
	serve(t, "own:latest", "theirs:latest")
	lacks("own")
	if _, err := open.Model(ctx, "theirs", o); err == nil || !strings.Contains(err.Error(), "the server was asked") {
		t.Errorf("the server was not asked: %v", err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "the Ollama server reads it, of which only the 20 most probable tokens are seen") {
		t.Errorf("the warnings are %q", warnings)
	}
}

func TestNoModel(t *testing.T) {
	home := machine(t)
	text := put(t, "This is not a model.\n", home, "readme")
	put(t, "Nor is this.\n", home, "data/models/text.gguf")
	for name, want := range map[string]error{
		"gguf:" + text:           header.ErrNotGGUF,
		"text":                   header.ErrNotGGUF,
		"gguf:" + text + ".gone": os.ErrNotExist,
		"gguf:":                  os.ErrNotExist,
	} {
		if m, err := open.Model(t.Context(), name, open.Options{}); m != nil || !errors.Is(err, want) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

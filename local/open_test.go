//go:build cgo

package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/modellog/modellog"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm/gguf"
	"github.com/modellog/modellog/lm/store"
	"github.com/modellog/modellog/lm/store/readings"
	"github.com/modellog/modellog/local"
)

// A session on a name says of a formula what one on the same file says, keeps its readings for
// the next, and is over when it is closed.
func TestOpen(t *testing.T) {
	ctx := t.Context()
	r := modeltest.SmolLM
	m, err := gguf.Open(ctx, r.Path(t), gguf.Options{Name: r.Name, Digest: r.SHA256, Precision: gguf.Native, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f := Implies(M("A sparrow is a kind of", "fish"), M("A sparrow is a kind of", "bird"))
	want, err := local.New(m).Evaluate(ctx, f)
	if err != nil {
		t.Fatal(err)
	}

	options := local.Options{CacheDir: t.TempDir(), Precision: "native", Threads: 1}
	var kept int64 // rows in the cache of readings
	for range 2 {
		s, err := local.Open(ctx, r.Name, options)
		if err != nil {
			t.Fatal(err)
		}
		info, ok, err := s.Model(ctx)
		if err != nil || !ok || info.Name != r.Name || info.Backend != "gguf" || info.Digest != r.SHA256 || info.Precision != "native" {
			t.Errorf("the model is %+v, %v, %v", info, ok, err)
		}
		got, err := s.Evaluate(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		if got.WMC != want.WMC || got.Loss != want.Loss {
			t.Errorf("WMC %v and loss %v, not %v and %v", got.WMC, got.Loss, want.WMC, want.Loss)
		}

		results, err := s.Eval(ctx, "%models")
		if err != nil || len(results) != 1 || !strings.Contains(results[0].String(), r.Name) {
			t.Errorf("the models are %v, %v", results, err)
		}
		if _, err := s.Eval(ctx, "%model gguf:"+r.Path(t)); err != nil {
			t.Error(err)
		}
		if info, _, _ := s.Model(ctx); info.Path != r.Path(t) {
			t.Errorf("the other model is %+v", info)
		}
		for range 2 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		cache, err := readings.Open(ctx, options.CacheDir, readings.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if stats, err := cache.Stats(ctx); err != nil || stats.Rows == 0 || kept != 0 && stats.Rows != kept {
			t.Errorf("of the same readings %d rows were kept, and now %+v, %v", kept, stats, err)
		} else {
			kept = stats.Rows
		}
		if err := cache.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Evaluate(ctx, f); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("a closed session evaluates: %v", err)
		}
		if _, err := s.Names(ctx); err == nil {
			t.Error("a closed session has names")
		}
		if _, _, err := s.Model(ctx); err == nil {
			t.Error("a closed session has a model")
		}
	}
}

func TestOpenUnknown(t *testing.T) {
	for name, want := range map[string][]string{
		"quite another":  {`"quite another"`, "modellog models list", "modellog models get NAME"},
		"gemma3:270m":    {`did you mean "gemma3:270m-pt"`, "modellog models list", "modellog models get NAME"},
		"gemma3:270m-pt": {"fetch it with: modellog models get gemma3:270m-pt"},
	} {
		s, err := local.Open(t.Context(), name, local.Options{CacheDir: t.TempDir()})
		if _, ok := errors.AsType[*store.NotFoundError](err); !ok || s != nil {
			t.Errorf("%s: %v, %v", name, s, err)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v; it does not say %q", name, err, w)
			}
		}
	}

	// What cannot be opened for another reason says so.
	path := filepath.Join(t.TempDir(), "text.gguf")
	if err := os.WriteFile(path, []byte("no model"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"gguf:" + path:           "not a GGUF file",
		"gguf:" + path + ".gone": "no such file",
		"ollama:gemma3":          "ollama serve",
		"openai:nowhere":         "openai:http://127.0.0.1:8000/v1#NAME",
	} {
		if _, err := local.Open(t.Context(), name, local.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

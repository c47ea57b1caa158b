package open_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/open"
	"github.com/modellog/modellog/lm/store"
)

// machine is a machine with nothing on it: no models, no server.
func machine(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	t.Setenv("MODELLOG_HOME", filepath.Join(home, "data"))
	t.Setenv("MODELLOG_CACHE", filepath.Join(home, "cache"))
	t.Setenv("OLLAMA_MODELS", filepath.Join(home, "ollama"))
	t.Setenv("OLLAMA_HOST", "127.0.0.1:1") // where nothing listens
	return home
}

func put(t *testing.T, content string, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// pulled makes a model that Ollama has pulled, and returns where its weights are.
func pulled(t *testing.T, home, name, weights string) string {
	t.Helper()
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(weights)))
	put(t, `{"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:`+digest+`"}]}`,
		home, "ollama/manifests/registry.ollama.ai/library", name, "latest")
	return put(t, weights, home, "ollama/blobs/sha256-"+digest)
}

// serve runs a server that speaks as much of Ollama's protocol as looking for a name takes.
func serve(t *testing.T, names ...string) {
	t.Helper()
	reply := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) { reply(w, map[string]string{"version": "0.17.4"}) })
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
		models := []any{}
		for _, n := range names {
			models = append(models, map[string]string{"name": n, "model": n, "digest": strings.Repeat("a", 64)})
		}
		reply(w, map[string]any{"models": models})
	})
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"error":"the server was asked"}`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Setenv("OLLAMA_HOST", server.URL)
}

// A name stands for the first of those that have it.
func TestFind(t *testing.T) {
	ctx := t.Context()
	home := machine(t)
	own := put(t, "weights", home, "data/models/both.gguf")
	shadowed := pulled(t, home, "both", "other weights")
	inPlace := pulled(t, home, "apart", "weights apart")
	serve(t, "both:latest", "apart:latest", "far:latest", "far:1b")

	for name, want := range map[string]open.Place{
		"both":            {Backend: "gguf", Name: "both", File: store.Model{Origin: store.Own, Path: own}},
		"both:latest":     {Backend: "gguf", Name: "both:latest", File: store.Model{Origin: store.Ollama, Path: shadowed}},
		"apart":           {Backend: "gguf", Name: "apart", File: store.Model{Origin: store.Ollama, Path: inPlace}},
		"far":             {Backend: "ollama", Name: "far"},
		"far:1b":          {Backend: "ollama", Name: "far:1b"},
		"ollama:apart":    {Backend: "ollama", Name: "apart"},
		"gguf:" + inPlace: {Backend: "gguf", Name: "gguf:" + inPlace, File: store.Model{Path: inPlace}},
		"gguf:both":       {Backend: "gguf", Name: "gguf:both", File: store.Model{Path: "both"}},
		"openai:http://localhost:8000/v1#org/model":  {Backend: "openai", Name: "org/model", Address: "http://localhost:8000/v1"},
		"openai:http://a:8000/v1+http://b:8000/v1#m": {Backend: "openai", Name: "m", Address: "http://a:8000/v1+http://b:8000/v1"},
		"openai:http://localhost:8000/v1":            {Backend: "openai", Address: "http://localhost:8000/v1"},
	} {
		got, err := open.Find(ctx, name, open.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got.File = store.Model{Origin: got.File.Origin, Path: got.File.Path}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	var names []string
	found, err := open.Names(ctx, open.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range found {
		names = append(names, n.Backend+" "+n.Name)
	}
	want := []string{"gguf both", "gguf apart:latest", "gguf both:latest", "ollama far:latest", "ollama far:1b"}
	if !slices.Equal(names, want) {
		t.Errorf("the names are %q, not %q", names, want)
	}
}

func TestUnknown(t *testing.T) {
	ctx := t.Context()
	home := machine(t)
	put(t, "weights", home, "data/models/llama.gguf")
	check := func(name string, want ...string) {
		t.Helper()
		m, err := open.Model(ctx, name, open.Options{})
		missing, ok := errors.AsType[*store.NotFoundError](err)
		if !ok || m != nil || missing.Name != name {
			t.Errorf("%q: %v, %v", name, m, err)
			return
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %v; it does not say %q", name, err, w)
			}
		}
		if _, found := open.Find(ctx, name, open.Options{}); found == nil || found.Error() != err.Error() {
			t.Errorf("%q: %v, and to be found %v", name, err, found)
		}
	}
	for range 2 { // without a server, and with one that has another model
		check("quite another", "modellog models list", "modellog models get NAME")
		check("lama", `did you mean "llama"?`, "modellog models list", "modellog models get NAME")
		check("gemma3:270m-pt", "modellog models get gemma3:270m-pt")
		check("", "modellog models list", "modellog models get NAME")
		check("./Some.GGUF", "as in gguf:./Some.GGUF")
		serve(t, "far:latest")
	}
	for name, want := range map[string]string{"ollama:near": "the server was asked", "far": "the server was asked"} {
		if m, err := open.Model(ctx, name, open.Options{}); m != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

// A server that stumbles over its list hides nothing that is on this machine.
func TestNamesOfFaultyServer(t *testing.T) {
	home := machine(t)
	put(t, "weights", home, "data/models/llama.gguf")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/api/version" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprint(w, `{"version":"0.17.4"}`)
	}))
	defer server.Close()
	t.Setenv("OLLAMA_HOST", server.URL)
	names, err := open.Names(t.Context(), open.Options{})
	if err != nil || len(names) != 1 || names[0] != (lm.ModelName{Name: "llama", Backend: "gguf", Detail: "7 B"}) {
		t.Errorf("the names are %+v, %v", names, err)
	}
}

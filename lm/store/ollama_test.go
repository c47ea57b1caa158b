package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ollamaStore makes models as Ollama keeps them.
type ollamaStore struct {
	t   *testing.T
	dir string
}

func (o ollamaStore) blob(sep, content string) (digest string) {
	o.t.Helper()
	digest = hexSum([]byte(content))
	put(o.t, filepath.Join(o.dir, "blobs", "sha256"+sep+digest), content)
	return digest
}

func (o ollamaStore) manifest(name, digest string, size int) string {
	o.t.Helper()
	type layer struct {
		MediaType string `json:"mediaType"`
		Digest    string `json:"digest"`
		Size      int    `json:"size"`
	}
	data, err := json.Marshal(map[string]any{
		"schemaVersion": 2,
		"mediaType":     "application/vnd.docker.distribution.manifest.v2+json",
		"config":        layer{"application/vnd.docker.container.image.v1+json", "sha256:" + hexSum([]byte("config")), 6},
		"layers": []layer{
			{"application/vnd.ollama.image.license", "sha256:" + hexSum([]byte("licence")), 7},
			{"application/vnd.ollama.image.model", digest, size},
		},
	})
	if err != nil {
		o.t.Fatal(err)
	}
	path := filepath.Join(o.dir, "manifests", filepath.FromSlash(name))
	put(o.t, path, string(data))
	return path
}

// What varies between versions of Ollama's store: both ways to name blobs, and
// manifests of every host.
func TestOllamaModels(t *testing.T) {
	ctx := context.Background()
	s, warnings := testStore(t)
	o := ollamaStore{t, s.ollama[0]}
	dash, colon := o.blob("-", "dash weights"), o.blob(":", "colon weights, longer")
	o.manifest("registry.ollama.ai/library/gemma3/latest", "sha256:"+dash, 12)
	o.manifest("registry.ollama.ai/library/gemma3/270m", "sha256-"+colon, 21)
	o.manifest("registry.ollama.ai/someone/tuned/v1.0", "sha256:"+colon, 21)
	o.manifest("hf.co/Org/Model-GGUF/Q4_K_M", "sha256:"+strings.ToUpper(dash), 12)
	o.manifest("localhost:5000/library/private/latest", "sha256:"+colon, 21)
	// The same without a size, as hand-made manifests have it, and with a
	// byte-order mark.
	put(t, filepath.Join(o.dir, "manifests/registry.ollama.ai/library/marked/latest"), "\ufeff"+
		`{"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:`+dash+`"}]}`)
	// What file managers leave.
	put(t, filepath.Join(o.dir, "manifests/.DS_Store"), "x")
	put(t, filepath.Join(o.dir, "manifests/registry.ollama.ai/library/gemma3/.DS_Store"), "x")

	models, err := s.Models(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ollama gemma3:270m", "ollama gemma3:latest", "ollama hf.co/Org/Model-GGUF:Q4_K_M", "ollama localhost:5000/library/private:latest",
		"ollama marked:latest", "ollama someone/tuned:v1.0",
	}
	if got := names(models); !slices.Equal(got, want) {
		t.Errorf("models %q, want %q", got, want)
	}
	if len(*warnings) > 0 {
		t.Errorf("warnings %v", *warnings)
	}
	for _, m := range models {
		content, err := os.ReadFile(m.Path)
		if err != nil || hexSum(content) != m.Digest || int64(len(content)) != m.Size {
			t.Errorf("%+v: %v", m, err)
		}
		if d, err := s.Digest(ctx, m.Path); err != nil || d != m.Digest {
			t.Errorf("%s: digest %s, %v", m.Name, d, err)
		}
	}

	for name, digest := range map[string]string{
		"gemma3":         dash,
		"gemma3:latest":  dash,
		"Gemma3":         dash,
		"GEMMA3:LATEST":  dash,
		"library/gemma3": dash,
		"registry.ollama.ai/library/gemma3:latest":  dash,
		"https://registry.ollama.ai/library/gemma3": dash,
		"gemma3:270m":                          colon,
		"gemma3:270M":                          colon,
		"someone/tuned:v1.0":                   colon,
		"Someone/Tuned:V1.0":                   colon,
		"hf.co/Org/Model-GGUF:Q4_K_M":          dash,
		"hf.co/org/model-gguf:q4_k_m":          dash,
		"localhost:5000/library/private":       colon,
		"marked":                               dash,
		"someone/tuned":                        "", // its tag is not latest
		"tuned:v1.0":                           "",
		"gemma3:":                              "",
		"gemma":                                "",
		"hf.co/Org/Model-GGUF":                 "",
		"registry.ollama.ai/library/gemma3:..": "",
		"x/registry.ollama.ai/library/gemma3":  "",
		"../library/gemma3:latest":             "",
		"gemma3:../../library/gemma3/latest":   "",
	} {
		m, err := s.Lookup(ctx, name)
		if digest == "" {
			if !errors.As(err, new(*NotFoundError)) {
				t.Errorf("%q: %+v, %v", name, m, err)
			}
			continue
		}
		if err != nil || m.Digest != digest || m.Origin != Ollama {
			t.Errorf("%q: %+v, %v", name, m, err)
		}
	}

	// Modellog's own comes first, and only by its exact name.
	put(t, filepath.Join(s.ModelsDir(), "gemma3.gguf"), "own weights")
	if m, err := s.Lookup(ctx, "gemma3"); err != nil || m.Origin != Own {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := s.Lookup(ctx, "Gemma3"); err != nil || m.Origin != Ollama {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestOllamaCase(t *testing.T) {
	s, _ := testStore(t)
	o := ollamaStore{t, s.ollama[0]}
	a, b := o.blob("-", "a"), o.blob("-", "b")
	o.manifest("registry.ollama.ai/library/Model/latest", "sha256:"+a, 1)
	o.manifest("registry.ollama.ai/library/model/latest", "sha256:"+b, 1)
	if fi, err := os.ReadDir(filepath.Join(o.dir, "manifests/registry.ollama.ai/library")); err != nil || len(fi) != 2 {
		t.Skip("the file system does not tell case apart")
	}
	for name, digest := range map[string]string{"Model": a, "model": b} {
		if m, err := s.Lookup(context.Background(), name); err != nil || m.Digest != digest {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

func TestOllamaTwoFolders(t *testing.T) {
	s, _ := testStore(t)
	second := filepath.Join(t.TempDir(), "service")
	s.ollama = append(s.ollama, second)
	for i, dir := range s.ollama {
		o := ollamaStore{t, dir}
		d := o.blob("-", fmt.Sprint(i))
		o.manifest("registry.ollama.ai/library/both/latest", "sha256:"+d, 1)
		o.manifest(fmt.Sprintf("registry.ollama.ai/library/only%d/latest", i), "sha256:"+d, 1)
	}
	models, err := s.Models(context.Background())
	if want := []string{"ollama both:latest", "ollama only0:latest", "ollama only1:latest"}; err != nil || !slices.Equal(names(models), want) {
		t.Errorf("models %q, %v", names(models), err)
	}
	for name, digest := range map[string]string{"both": hexSum([]byte("0")), "only1": hexSum([]byte("1"))} {
		if m, err := s.Lookup(context.Background(), name); err != nil || m.Digest != digest {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	// A model that is broken in the first folder is found in the second.
	if err := os.RemoveAll(filepath.Join(s.ollama[0], "blobs")); err != nil {
		t.Fatal(err)
	}
	if m, err := s.Lookup(context.Background(), "both"); err != nil || m.Digest != hexSum([]byte("1")) {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestOllamaBrokenManifests(t *testing.T) {
	ctx := context.Background()
	weights := func(digest string) string {
		return `{"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"` + digest + `","size":7}]}`
	}
	for name, test := range map[string]struct {
		content string
		want    string
	}{
		"empty":            {"", "is not the JSON it should be"},
		"cut":              {`{"layers":[{"mediaType":`, "ollama pull broken:latest mends it"},
		"not an object":    {`[1, 2]`, "is not the JSON it should be"},
		"wrong types":      {`{"layers":"none"}`, "is not the JSON it should be"},
		"deep":             {strings.Repeat("[", 1_000_000), "is not the JSON it should be"},
		"huge":             {`{"layers":[` + strings.Repeat(" ", maxManifest) + `]}`, "longer than"},
		"NUL bytes":        {strings.Repeat("\x00", 4096), "is not the JSON it should be"},
		"no layers":        {`{}`, "names no weights in GGUF"},
		"cloud":            {`{"layers":[],"config":{"digest":"sha256:0"}}`, "names no weights in GGUF"},
		"no digest":        {weights(""), "is no SHA-256"},
		"path as digest":   {weights("sha256:../../../../etc/passwd"), "is no SHA-256"},
		"digest and path":  {weights("sha256:" + strings.Repeat("a", 64) + "/../x"), "is no SHA-256"},
		"other algorithm":  {weights("md5:" + strings.Repeat("a", 32)), "is no SHA-256"},
		"blob not there":   {weights("sha256:" + strings.Repeat("a", 64)), "are not in"},
		"blob cut short":   {weights("sha256:" + hexSum([]byte("cut"))), "has 3 bytes and should have 7"},
		"blob is a folder": {weights("sha256:" + strings.Repeat("b", 64)), "is not a file"},
	} {
		s, warnings := testStore(t)
		o := ollamaStore{t, s.ollama[0]}
		o.manifest("registry.ollama.ai/library/fine/latest", "sha256:"+o.blob("-", "weights"), 7)
		o.blob("-", "cut")
		put(t, filepath.Join(o.dir, "blobs", "sha256-"+strings.Repeat("b", 64), "file"), "x")
		put(t, filepath.Join(o.dir, "manifests/registry.ollama.ai/library/broken/latest"), test.content)
		models, err := s.Models(ctx)
		if err != nil || !slices.Equal(names(models), []string{"ollama fine:latest"}) {
			t.Errorf("%s: models %q, %v", name, names(models), err)
		}
		if len(*warnings) != 1 || !strings.Contains((*warnings)[0].Error(), test.want) || !strings.Contains((*warnings)[0].Error(), "broken:latest") || len((*warnings)[0].Error()) > 1000 {
			t.Errorf("%s: warnings %v", name, *warnings)
		}
		// Asked for by name, it says why it cannot be had.
		if _, err := s.Lookup(ctx, "broken"); err == nil || errors.As(err, new(*NotFoundError)) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: Lookup: %v", name, err)
		}
		if m, err := s.Lookup(ctx, "fine"); err != nil || m.Size != 7 {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

func TestOllamaFolderIsNotWritten(t *testing.T) {
	s, _ := testStore(t)
	if _, err := s.Models(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.ollama[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("looking made Ollama's folder: %v", err)
	}
	put(t, s.ollama[0], "a file in place of the folder")
	if models, err := s.Models(context.Background()); err != nil || len(models) != 0 {
		t.Errorf("%v, %v", models, err)
	}
}

func TestContextEndsListing(t *testing.T) {
	s, _ := testStore(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Models(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Models: %v", err)
	}
	if _, err := s.Lookup(ctx, "m"); !errors.Is(err, context.Canceled) {
		t.Errorf("Lookup: %v", err)
	}
}

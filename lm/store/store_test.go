package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFolders(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the folders are those of Linux")
	}
	home := t.TempDir()
	t.Chdir(home)
	set := func(own, xdg string) {
		t.Setenv("HOME", home)
		for kind, name := range map[string]string{"MODELLOG_HOME": own, "MODELLOG_CACHE": own, "XDG_DATA_HOME": xdg, "XDG_CACHE_HOME": xdg} {
			t.Setenv(kind, name)
		}
	}
	for _, test := range []struct{ own, xdg, data, cache string }{
		{"", "", home + "/.local/share/modellog", home + "/.cache/modellog"},
		{"", "/xdg", "/xdg/modellog", "/xdg/modellog"},
		{"", "relative", home + "/.local/share/modellog", home + "/.cache/modellog"},
		{"/own", "/xdg", "/own", "/own"},
		{"here", "", home + "/here", home + "/here"},
	} {
		set(test.own, test.xdg)
		data, err1 := DataDir()
		cache, err2 := CacheDir()
		if data != test.data || cache != test.cache || err1 != nil || err2 != nil {
			t.Errorf("own %q, XDG %q: %q, %q, %v, %v", test.own, test.xdg, data, cache, err1, err2)
		}
	}
	set("", "")
	t.Setenv("HOME", "")
	if _, err := DataDir(); err == nil || !strings.Contains(err.Error(), "set MODELLOG_HOME") {
		t.Errorf("without HOME: %v", err)
	}
	if _, err := New(Options{}); err == nil {
		t.Error("New without HOME")
	}
	t.Setenv("HOME", home)
	t.Setenv("OLLAMA_MODELS", "")
	if got, want := OllamaDirs(), []string{home + "/.ollama/models", "/usr/share/ollama/.ollama/models"}; !slices.Equal(got, want) {
		t.Errorf("Ollama's folders %q", got)
	}
	t.Setenv("OLLAMA_MODELS", ` "/models" `)
	if got := OllamaDirs(); !slices.Equal(got, []string{"/models"}) {
		t.Errorf("Ollama's folders %q", got)
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func names(models []Model) []string {
	var all []string
	for _, m := range models {
		all = append(all, string(m.Origin)+" "+m.Name)
	}
	return all
}

func TestOwnModels(t *testing.T) {
	ctx := context.Background()
	s, warnings := testStore(t)
	if models, err := s.Models(ctx); err != nil || len(models) != 0 {
		t.Errorf("without folders: %v, %v", models, err)
	}
	dir := s.ModelsDir()
	put(t, filepath.Join(dir, "mine.gguf"), "weights")
	put(t, filepath.Join(dir, "with:record.gguf"), "weights")
	// A byte-order mark is no fault.
	put(t, filepath.Join(dir, "with:record.json"), "\ufeff"+`{"name":"with:record","size":7,"licence":"MIT","source":"here"}`)
	put(t, filepath.Join(dir, "not-a-model.txt"), "text")
	put(t, filepath.Join(dir, ".hidden.gguf"), "text")
	put(t, filepath.Join(dir, ".with:record.part"), "half")
	if err := os.Symlink("mine.gguf", filepath.Join(dir, "linked.gguf")); err != nil {
		t.Fatal(err)
	}
	models, err := s.Models(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(models), []string{"modellog linked", "modellog mine", "modellog with:record"}; !slices.Equal(got, want) {
		t.Errorf("models %q, want %q", got, want)
	}
	if len(*warnings) > 0 {
		t.Errorf("warnings %v", *warnings)
	}
	m, err := s.Lookup(ctx, "with:record")
	if err != nil || m.Licence != "MIT" || m.Source != "here" || m.Size != 7 {
		t.Errorf("%+v, %v", m, err)
	}

	for name, test := range map[string]struct{ file, content, want string }{
		"record that is no JSON":      {"mine.json", "{", "is not the JSON it should be"},
		"record of another file":      {"mine.json", `{"size":8,"licence":"MIT"}`, "no longer the file that was fetched"},
		"record that is too long":     {"mine.json", strings.Repeat(" ", maxRecord+1), "longer than"},
		"name that is no name":        {"my model.gguf", "weights", "a model's name has only"},
		"link that leads nowhere":     {"gone.gguf", "", ""},
		"folder with a model's name":  {"folder.gguf/file", "x", "is not a file"},
		"folder in place of a record": {"linked.json/file", "x", "is not a file"},
	} {
		*warnings = nil
		if name == "link that leads nowhere" {
			if err := os.Symlink("nowhere", filepath.Join(dir, test.file)); err != nil {
				t.Fatal(err)
			}
		} else {
			put(t, filepath.Join(dir, test.file), test.content)
		}
		models, err := s.Models(ctx)
		if err != nil || len(models) != 3 {
			t.Errorf("%s: %q, %v", name, names(models), err)
		}
		if test.want != "" && !strings.Contains(errors.Join(*warnings...).Error(), test.want) {
			t.Errorf("%s: warnings %v", name, *warnings)
		}
		if m, err := s.Lookup(ctx, "mine"); err != nil || m.Licence != "" {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		if err := os.RemoveAll(filepath.Join(dir, strings.Split(test.file, "/")[0])); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNotFound(t *testing.T) {
	ctx := context.Background()
	s, _ := testStore(t)
	put(t, filepath.Join(s.ModelsDir(), "llama.gguf"), "weights")
	put(t, filepath.Join(s.data, "secret.gguf"), "outside the folder")
	for name, want := range map[string]string{
		"gemma3:270m-pt":         "fetch it with: modellog models get gemma3:270m-pt",
		"gemma3":                 `did you mean "gemma3:270m-pt"? modellog models list shows`,
		"gemma3:270m":            `did you mean "gemma3:270m-pt"?`,
		"gemma3:27m-instruct":    `did you mean "gemma3:270m-pt"?`,
		"lama":                   `did you mean "llama"?`,
		"LLAMA":                  `did you mean "llama"?`,
		"quite another":          "modellog models list shows those that are here or can be fetched, modellog models get NAME fetches one",
		"":                       "modellog models list",
		"../secret":              "modellog models list",
		"models/../../secret":    "modellog models list",
		"/etc/passwd":            "modellog models list",
		"..":                     "modellog models list",
		"a\x00b":                 "modellog models list",
		"\xff\xfe":               "modellog models list",
		"host/ns/../../m:t":      "modellog models list",
		strings.Repeat("x", 1e6): "…",
		strings.Repeat("/", 1e5): "…",
		strings.Repeat(":", 1e5): "…",
	} {
		m, err := s.Lookup(ctx, name)
		var missing *NotFoundError
		if !errors.As(err, &missing) || missing.Name != name || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %+v, %v", name, m, err)
		}
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("%.40q: a message of %d bytes", name, len(err.Error()))
		}
	}
	if m, err := s.Lookup(ctx, "llama"); err != nil || m.Origin != Own {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestDigest(t *testing.T) {
	ctx := context.Background()
	s, _ := testStore(t)
	path := filepath.Join(t.TempDir(), "w.gguf")
	put(t, path, "weights")
	old := time.Now().Add(-time.Hour)
	settle := func() {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	// A context that has ended lets through what is remembered, and nothing
	// that must be worked out.
	ended, cancel := context.WithCancel(ctx)
	cancel()
	check := func(what, content string, remembered bool) {
		t.Helper()
		d, err := s.Digest(ended, path)
		if remembered && (err != nil || d != hexSum([]byte(content))) {
			t.Errorf("%s: not remembered: %q, %v", what, d, err)
		}
		if !remembered && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: remembered: %q, %v", what, d, err)
		}
		if d, err := s.Digest(ctx, path); err != nil || d != hexSum([]byte(content)) {
			t.Errorf("%s: %q, %v", what, d, err)
		}
	}
	check("new file", "weights", false)
	check("file written a moment ago", "weights", false)
	settle()
	check("file with an old time", "weights", false)
	check("second look", "weights", true)

	again, err := New(Options{Data: s.data, Cache: s.cache})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := again.Digest(ended, path); err != nil || d != hexSum([]byte("weights")) {
		t.Errorf("another process: %q, %v", d, err)
	}

	put(t, path, "longer weights")
	settle()
	check("other size", "longer weights", false)
	if runtime.GOOS == "linux" {
		check("remembered again", "longer weights", true)
		time.Sleep(20 * time.Millisecond) // the file system's clock is that coarse
		put(t, path, "lunger weights")
		settle()
		check("same size, time set back", "lunger weights", false)
	}

	check("remembered again", "lunger weights", true)
	put(t, s.digestPath(path), "{ broken")
	check("broken memory", "lunger weights", false)
	put(t, s.digestPath(path), `{"path":"/another","stamp":"","sha256":""}`)
	check("memory of another file", "lunger weights", false)

	// Without a cache folder it is worked out each time.
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, "")
	s.cache = file
	check("no cache folder", "lunger weights", false)
	check("no cache folder, again", "lunger weights", false)

	if _, err := s.Digest(ctx, filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := s.Digest(ctx, t.TempDir()); err == nil {
		t.Error("a folder has a digest")
	}
}

package gguf

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Where no graphics processor is found, the error says what is wrong with the folders it was looked for in.
func TestNoGPU(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the names of libraries are Linux's")
	}
	dir := t.TempDir()
	folder := func(parts ...string) string {
		path := filepath.Join(append([]string{dir}, parts...)...)
		if err := os.MkdirAll(path, 0o777); err != nil {
			t.Fatal(err)
		}
		return path
	}
	elsewhere, empty, broken := folder("elsewhere"), folder("lib", "ollama"), folder("lib", "ollama", "cuda_v12")
	if err := os.WriteFile(filepath.Join(broken, "libggml-cuda.so"), []byte(strings.Repeat("no library\n", 100)), 0o666); err != nil {
		t.Fatal(err)
	}
	for folders, want := range map[string]string{
		"":                   "OLLAMA_LIBRARY_PATH is not set",
		elsewhere:            "the engine takes no libraries from " + elsewhere + ", whose path is without lib/ollama; no folder",
		empty:                "no folder in OLLAMA_LIBRARY_PATH has a library for graphics processors",
		empty + ":" + broken: "a library does not load: " + broken + "/libggml-cuda.so: invalid ELF header: the engine finds no",
	} {
		err := noGPU(folders)
		if !errors.Is(err, ErrNoGPU) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", folders, err)
		}
	}
}

//go:build unix

package cuc_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modellog/modellog/evals/cuc"
)

// A pipe that nobody writes to is refused, and not waited for.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := func(name string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
		return path
	}
	examples := pipe("examples.csv")
	for _, kind := range []cuc.Kind{cuc.Plain, cuc.FOLIO, cuc.LogiQA} {
		if _, err := cuc.Read(kind, examples); err == nil || !strings.Contains(err.Error(), examples+" is no regular file") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	prompt := pipe(cuc.PlainFile)
	if _, err := cuc.ReadPrompts(dir); err == nil || !strings.Contains(err.Error(), prompt+" is no regular file") {
		t.Errorf("prompts: %v", err)
	}
}

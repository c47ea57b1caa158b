//go:build unix

package preference_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modellog/modellog/evals/preference"
)

// A pipe that nobody writes to is refused, and not waited for.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := func(name string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
		return path
	}
	items := pipe("items.jsonl")
	for _, kind := range []preference.Kind{preference.Plain, preference.NovelEval, preference.Newsroom, preference.SummEval, preference.Feedback} {
		if _, _, err := preference.Read(kind, items, preference.ReadOptions{}); err == nil || !strings.Contains(err.Error(), "is no regular file") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	pipe("stories/1.ann")
	if _, _, err := preference.Read(preference.CaTeRS, filepath.Join(dir, "stories"), preference.ReadOptions{}); err == nil {
		t.Error("a story that is a pipe was read")
	}
	pipe("general/plain.txt")
	if _, err := preference.ReadPrompts(dir, preference.General); err == nil || !strings.Contains(err.Error(), "plain.txt is no regular file") {
		t.Errorf("prompts: %v", err)
	}
}

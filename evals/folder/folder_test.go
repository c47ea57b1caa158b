package folder_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/manifest"
)

// What Make has made goes again while it is empty; what was there, and what has something, stays.
func TestMake(t *testing.T) {
	exists := func(path string, want bool) {
		t.Helper()
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", path, err, want)
		}
	}
	make := func(dir string) func() {
		t.Helper()
		undo, err := folder.Make(dir)
		if err != nil {
			t.Fatal(err)
		}
		exists(dir, true)
		return undo
	}
	root := t.TempDir()

	make(filepath.Join(root, "a", "b", "c"))()
	exists(filepath.Join(root, "a"), false)
	exists(root, true)

	there := filepath.Join(root, "there")
	if err := os.Mkdir(there, 0o755); err != nil {
		t.Fatal(err)
	}
	make(there)()
	make(filepath.Join(there, "in"))()
	exists(filepath.Join(there, "in"), false)
	exists(there, true)

	undo := make(filepath.Join(root, "run", "1"))
	if err := os.WriteFile(filepath.Join(root, "run", "1", "rows-m.jsonl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	undo()
	exists(filepath.Join(root, "run", "1", "rows-m.jsonl"), true)

	t.Chdir(root)
	make("relative")()
	exists("relative", false)

	if _, err := folder.Make(filepath.Join(root, "run", "1", "rows-m.jsonl", "x")); err == nil {
		t.Error("a folder within a file was made")
	}
}

// A folder has one run at a time, and the next when that has ended, however it ended.
func TestClaimOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "run")
	claim := func() (*folder.Claimed, error) {
		return folder.Claim(dir, &manifest.Manifest{}, []manifest.Kind{manifest.OfOption})
	}
	first, err := claim()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claim(); err == nil || !strings.Contains(err.Error(), "another run is writing") {
		t.Errorf("the folder was claimed twice: %v", err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the second claim took the first one's folder away: %v", err)
	}
	first.End(nil)
	second, err := claim()
	if err != nil {
		t.Fatal(err)
	}
	second.End(errors.New("failed"))
	if third, err := claim(); err != nil {
		t.Error(err)
	} else {
		third.End(nil)
	}
}

// The error of a run of which models failed names each, and how many are left.
func TestPartial(t *testing.T) {
	if err := folder.Partial("run", 2, nil); err != nil {
		t.Error(err)
	}
	broken := errors.New("broken")
	if err := folder.Partial("run", 1, []error{broken}); !errors.Is(err, broken) || strings.Contains(err.Error(), "other") {
		t.Errorf("of one model: %v", err)
	}
	if err := folder.Partial("run", 3, []error{broken, errors.New("away")}); !errors.Is(err, broken) || !strings.Contains(err.Error(), "away\nrun is of the other 1 of 3 models") {
		t.Errorf("of three: %v", err)
	}
}

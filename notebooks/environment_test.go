package notebooks

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// tree is a source tree with what a notebook's environment is made from. Its requirements are
// of no packages, which pip installs without a network.
type tree struct {
	root, home string
}

func newTree(t *testing.T, home, modellog string) tree {
	t.Helper()
	x := tree{filepath.Join(t.TempDir(), "a tree"), home}
	text, err := os.ReadFile(filepath.Join("jupyter", "environment.py"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(modellog)
	if err != nil {
		t.Fatal(err)
	}
	x.write(t, "notebooks/jupyter/environment.py", text)
	x.write(t, "notebooks/requirements.txt", []byte("# none\n"))
	x.write(t, "bin/modellog", program)
	return x
}

func (x tree) write(t *testing.T, name string, data []byte) {
	t.Helper()
	path := filepath.Join(x.root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
}

// environment makes the tree's environment, and returns its folder and what was said.
func (x tree) environment(python string) (folder, said string, err error) {
	cmd := exec.Command(python, filepath.Join(x.root, "notebooks", "jupyter", "environment.py"))
	// Without Go in PATH no tools are built for Go cells.
	var path []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := exec.LookPath(filepath.Join(dir, "go")); err != nil {
			path = append(path, dir)
		}
	}
	cmd.Env = append(os.Environ(), "PATH="+strings.Join(path, string(filepath.ListSeparator)), "HOME="+x.home, "MODELLOG_HOME="+filepath.Join(x.home, "data"),
		"MODELLOG_CACHE="+filepath.Join(x.home, "cache"), "PIP_NO_INDEX=1", "PYTHONDONTWRITEBYTECODE=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), stderr.String(), err
}

// TestEnvironment: source trees share an environment, each with a kernel of its own, also when both
// make it at once; what exists is used, what is broken is made anew, and of another tree's
// requirements nothing is taken away.
func TestEnvironment(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	if out, err := exec.Command(python, "-c", "import ensurepip, fcntl, venv").CombinedOutput(); err != nil {
		t.Skipf("python3 makes no virtual environments: %s", out)
	}
	modellog := filepath.Join(t.TempDir(), "modellog")
	if out, err := exec.Command("go", "build", "-o", modellog, "../cmd/modellog").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	home := t.TempDir()
	trees := []tree{newTree(t, home, modellog), newTree(t, home, modellog)}
	folders, said := make([]string, 2), make([]string, 2)
	var wait sync.WaitGroup
	for i, x := range trees {
		wait.Go(func() {
			var err error
			if folders[i], said[i], err = x.environment(python); err != nil {
				t.Errorf("%v\n%s", err, said[i])
			}
		})
	}
	wait.Wait()
	if t.Failed() {
		return
	}
	if folders[0] != folders[1] {
		t.Errorf("two environments of the same requirements: %q", folders)
	}
	both := said[0] + said[1]
	if strings.Count(both, "Making a virtual environment") != 1 || !strings.Contains(both, "waiting for it") {
		t.Errorf("said was\n%s", both)
	}
	for _, x := range trees {
		b, err := os.ReadFile(filepath.Join(x.root, "bin", "jupyter", "share", "jupyter", "kernels", "modellog", "kernel.json"))
		var spec struct{ Argv []string }
		if err == nil {
			err = json.Unmarshal(b, &spec)
		}
		if want := filepath.Join(x.root, "bin", "modellog"); err != nil || len(spec.Argv) == 0 || spec.Argv[0] != want {
			t.Errorf("the kernel runs %v, want %s (%v)", spec.Argv, want, err)
		}
	}
	if t.Failed() {
		return
	}

	again := func(x tree, made bool) string {
		t.Helper()
		folder, said, err := x.environment(python)
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		if strings.Contains(said, "Making a virtual environment") != made {
			t.Errorf("made anew: %v, want %v; said was\n%s", !made, made, said)
		}
		if out, err := exec.Command(filepath.Join(folder, "bin", "python"), "-c", "").CombinedOutput(); err != nil {
			t.Errorf("its Python does not run: %v\n%s", err, out)
		}
		return folder
	}
	again(trees[0], false)
	links, err := filepath.Glob(filepath.Join(folders[0], "bin", "python*"))
	if err != nil || len(links) == 0 {
		t.Fatal(links, err)
	}
	for _, link := range links {
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	again(trees[0], true)

	trees[1].write(t, "notebooks/requirements.txt", []byte("# other ones\n"))
	if other := again(trees[1], true); other == folders[0] {
		t.Errorf("an environment of other requirements took the place of %s", other)
	}
	if folder := again(trees[0], false); folder != folders[0] {
		t.Errorf("the environment was %s and is %s", folders[0], folder)
	}
}

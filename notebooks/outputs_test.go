package notebooks

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asked skips tests that need an environment with JupyterLab, and minutes, unless
// the variable is set.
func asked(t *testing.T, variable, target string) {
	t.Helper()
	if os.Getenv(variable) == "" {
		t.Skipf("this takes minutes; run it by make %s, which sets %s", target, variable)
	}
}

// environment is the folder of the virtual environment with JupyterLab and the
// kernel, which is made where it is missing.
func environment(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("python3", append([]string{filepath.Join("jupyter", "environment.py")}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("making the virtual environment: %v\n%s", err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// TestOutputs executes every notebook from a clean state: a new kernel, no cached
// readings, a copy of the folder. What comes out must be what is shipped.
func TestOutputs(t *testing.T) {
	asked(t, "MODELLOG_TEST_NOTEBOOKS", "test-notebooks")
	python := filepath.Join(environment(t), "bin", "python")
	for _, path := range shipped(t) {
		name := strings.TrimSuffix(path, ".ipynb")
		t.Run(name, func(t *testing.T) {
			to := t.TempDir()
			cmd := exec.Command(python, filepath.Join("jupyter", "execute.py"), "--to", to, "--cache", t.TempDir(), name)
			// A kernelspec or settings of the user's must not count.
			cmd.Env = append(os.Environ(), "JUPYTER_DATA_DIR="+t.TempDir(), "JUPYTER_CONFIG_DIR="+t.TempDir())
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
			for _, fault := range compare(read(t, path), read(t, filepath.Join(to, path))) {
				t.Error(fault)
			}
		})
	}
}

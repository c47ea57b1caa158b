package notebooks

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// chromium is the browser, or "".
func chromium() string {
	for _, name := range []string{os.Getenv("MODELLOG_TEST_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// TestBrowser uses a copy of the notebooks in JupyterLab as a reader does, in a real
// browser: reads, runs all cells, completes, inspects, interrupts, restarts. It keeps
// its screenshots where it fails, or in the folder that MODELLOG_TEST_SCREENSHOTS
// names.
func TestBrowser(t *testing.T) {
	asked(t, "MODELLOG_TEST_BROWSER", "test-browser")
	browser := chromium()
	if browser == "" {
		t.Skip("there is no Chromium; on Debian it is the package chromium (apt-get install chromium)")
	}
	python := filepath.Join(environment(t, "browser"), "bin", "python")
	folder := t.TempDir()
	for _, path := range shipped(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, path), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shots := os.Getenv("MODELLOG_TEST_SCREENSHOTS")
	if shots == "" {
		var err error
		if shots, err = os.MkdirTemp("", "modellog-screenshots-"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("the screenshots are in %s", shots)
				return
			}
			os.RemoveAll(shots)
		})
	}
	cmd := exec.Command(python, filepath.Join("testdata", "browser.py"), folder, shots)
	cmd.Env = append(os.Environ(), "MODELLOG_TEST_CHROMIUM="+browser)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("\n%s", out)
}

package readings_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/modellog/modellog/lm/store/readings"
)

// A disk that is really full.
func TestFullDisk(t *testing.T) {
	for _, size := range []string{"64k", "200k", "1m"} {
		dir := t.TempDir()
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
			t.Skipf("no file system can be mounted here (%v); TestFilesMayNotGrow does the same with a limit", err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		})
		out, err := child(t, "try", dir).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", size, err, out)
		}
		if n := strings.Count(string(out), "warning:"); n != 1 || !strings.Contains(string(out), "writable false") {
			t.Errorf("%s: %d warnings\n%s", size, n, out)
		}
		// Filled to the last byte by somebody else, before it is opened.
		if f, err := os.Create(filepath.Join(dir, "other")); err == nil {
			io.Copy(f, zeros{})
			f.Close()
		}
		if out, err := child(t, "try", dir).CombinedOutput(); err != nil || strings.Count(string(out), "warning:") != 1 {
			t.Errorf("%s, full: %v\n%s", size, err, out)
		}
		if err := os.Remove(filepath.Join(dir, "other")); err != nil {
			t.Error(err)
		}
		c := open(t, dir, readings.Options{})
		for n := range 200 {
			checkNoLies(t, c, batch(0, n))
		}
		c.Close()
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

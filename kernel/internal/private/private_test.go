//go:build unix

package private

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

func TestDir(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	first, err := Dir()
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(first); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", st, err)
	}
	// A process that is gone for certain.
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(os.TempDir(), prefix+strconv.Itoa(cmd.Process.Pid)+"-1")
	other := filepath.Join(os.TempDir(), prefix+"x")
	for _, dir := range []string{dead, other} {
		if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Dir(); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{first: true, dead: false, other: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", dir, err == nil, want)
		}
	}
}

//go:build linux

package private

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// holdFolder makes the test program one that makes a folder, tells its path, and waits to be killed.
const holdFolder = "hold-folder"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == holdFolder {
		f, err := New()
		if err != nil {
			panic(err)
		}
		os.WriteFile(filepath.Join(f.Path, "file"), nil, 0o600)
		os.Stdout.WriteString(f.Path + "\n")
		select {}
	}
	os.Exit(m.Run())
}

// hold starts a process that has a folder, in a container of its own if that is asked for.
func hold(t *testing.T, container bool) (*exec.Cmd, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, holdFolder)
	if container {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		if container {
			t.Skipf("no container can be made: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line)
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	mine, err := New()
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(mine.Path); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", st, err)
	}
	other := filepath.Join(os.TempDir(), prefix+"x")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	living, lived := hold(t, false)
	for _, dir := range []string{mine.Path, other, lived} {
		if !isThere(dir) {
			t.Errorf("%s is gone", dir)
		}
	}
	living.Process.Kill()
	living.Wait()
	second, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{mine.Path: true, second.Path: true, other: true, lived: false} {
		if isThere(dir) != want {
			t.Errorf("%s is there: %v, want %v", dir, !want, want)
		}
	}
	for _, f := range []*Folder{mine, second} {
		if err := f.Remove(); err != nil || isThere(f.Path) {
			t.Errorf("%s is there: %v", f.Path, err)
		}
	}
}

// TestContainer has somebody in a container, who does not see this process, share the folders.
func TestContainer(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	mine, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Remove()
	_, theirs := hold(t, true)
	third, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer third.Remove()
	if !isThere(mine.Path) || !isThere(theirs) {
		t.Errorf("mine is there: %v; theirs: %v", isThere(mine.Path), isThere(theirs))
	}
}

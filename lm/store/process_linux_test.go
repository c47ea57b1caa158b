package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary runs itself as another process: these are what it then does
// with a folder, by the value of an environment variable.
var children = map[string]func(dir string) error{"fetch": childFetch, "list": childList}

const childVariable = "STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if run, ok := children[os.Getenv(childVariable)]; ok {
		if err := run(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(t *testing.T, what, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, dir)
	cmd.Env = append(os.Environ(), childVariable+"="+what)
	return cmd
}

func childFetch(dir string) error {
	var e Entry
	if err := readJSON(filepath.Join(dir, "entry.json"), maxRecord, &e); err != nil {
		return err
	}
	s, err := New(Options{Data: filepath.Join(dir, "data"), Cache: filepath.Join(dir, "cache")})
	if err != nil {
		return err
	}
	_, err = s.fetch(context.Background(), e, GetOptions{Notice: func(n string) { fmt.Println(n) }})
	return err
}

// A process that is killed in the middle of a download leaves a state that the
// next goes on from.
func TestKilledFetch(t *testing.T) {
	x := newIndex(t)
	e, weights := x.publish("killed", 2, 500_000)
	s, _ := testStore(t)
	dir := filepath.Dir(s.data)
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "entry.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "fetch", dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	started := make(chan struct{})
	x.serving(func(w http.ResponseWriter, name string, data []byte) {
		if name == wheelName(e.Packages[1]) {
			w.Write(data[:len(data)/2])
			w.(http.Flusher).Flush()
			<-started
			cmd.Process.Kill()
			time.Sleep(300 * time.Millisecond)
			panic(http.ErrAbortHandler)
		}
		w.Write(data)
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	close(started)
	if err := cmd.Wait(); err == nil {
		t.Fatalf("the process was not killed\n%s", out.String())
	}
	x.serving(nil)
	x.count(e.Packages[0])
	m, err := s.fetch(context.Background(), e, GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	checkFetched(t, s, m, e, weights)
	if x.count(e.Packages[0]) != 0 {
		t.Error("a finished package was downloaded again")
	}
}

// childList lists the models of a user who is not root.
func childList(dir string) error {
	if err := unix.Setuid(65534); err != nil {
		return err
	}
	s, err := New(Options{
		Data: filepath.Join(dir, "data"), Cache: filepath.Join(dir, "cache"), Ollama: []string{filepath.Join(dir, "ollama")},
		Warn: func(err error) { fmt.Println("warning:", err) },
	})
	if err != nil {
		return err
	}
	models, err := s.Models(context.Background())
	fmt.Println(names(models))
	return err
}

func TestModelsWithoutPermission(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become a user without permission")
	}
	for _, test := range []struct{ closed, want string }{
		{"ollama/manifests/registry.ollama.ai/library/closed/latest", "[ollama fine:latest]"},
		{"ollama/manifests/registry.ollama.ai/library/closed", "[ollama fine:latest]"},
		{"ollama", "[]"},
		{"data/models", "[ollama closed:latest ollama fine:latest]"},
	} {
		// Not t.TempDir, whose parent is root's alone.
		dir, err := os.MkdirTemp("", "store")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		o := ollamaStore{t, filepath.Join(dir, "ollama")}
		for _, name := range []string{"closed", "fine"} {
			o.manifest("registry.ollama.ai/library/"+name+"/latest", "sha256:"+o.blob("-", "weights"), 7)
		}
		put(t, filepath.Join(dir, "data/models/own.json"), "{}")
		if err := os.Chmod(filepath.Join(dir, test.closed), 0); err != nil {
			t.Fatal(err)
		}
		out, err := child(t, "list", dir).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte(test.want)) || bytes.Count(out, []byte("warning:")) != 1 || !bytes.Contains(out, []byte("permission denied")) {
			t.Errorf("%s: %v\n%s", test.closed, err, out)
		}
	}
}

// A pipe in place of a file would be waited for without end.
func TestPipesArePassedOver(t *testing.T) {
	s, warnings := testStore(t)
	o := ollamaStore{t, s.ollama[0]}
	digest := o.blob("-", "weights")
	o.manifest("registry.ollama.ai/library/fine/latest", "sha256:"+digest, 7)
	o.manifest("registry.ollama.ai/library/blob/latest", "sha256:"+hexSum(nil), 0)
	put(t, filepath.Join(s.ModelsDir(), "own.gguf"), "x")
	for _, path := range []string{
		filepath.Join(o.dir, "manifests/registry.ollama.ai/library/fine/pipe"),
		filepath.Join(o.dir, "blobs/sha256-"+hexSum(nil)),
		filepath.Join(s.ModelsDir(), "pipe.gguf"),
		filepath.Join(s.ModelsDir(), "own.json"),
	} {
		if err := unix.Mkfifo(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	models, err := s.Models(context.Background())
	if got := fmt.Sprint(names(models)); err != nil || got != "[modellog own ollama fine:latest]" {
		t.Errorf("models %s, %v", got, err)
	}
	if len(*warnings) != 4 {
		t.Errorf("warnings %v", *warnings)
	}
	if _, err := s.Digest(context.Background(), filepath.Join(s.ModelsDir(), "pipe.gguf")); err == nil {
		t.Error("a pipe has a digest")
	}
}

// smallDisk mounts a small disk for a store.
func smallDisk(t *testing.T, size string) *Store {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	s, err := New(Options{Data: dir, Cache: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fill(t *testing.T, s *Store) (free func()) {
	path := filepath.Join(s.data, "other")
	f, err := os.Create(path)
	if err != nil {
		t.Error(err)
		return
	}
	io.Copy(f, zeros{})
	f.Close()
	return func() { os.Remove(path) }
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestTooLittleSpace(t *testing.T) {
	x := newIndex(t)
	e, _ := x.publish("big", 1, 1_000_000)
	s := smallDisk(t, "2m")
	_, err := s.fetch(context.Background(), e, GetOptions{})
	wantError(t, err, ErrNoSpace, "too little space", "needs 4 MB", "are free", "MODELLOG_HOME")
	if x.count(e.Packages[0]) != 0 {
		t.Error("the download was begun")
	}
}

func TestDiskFullWhileDownloading(t *testing.T) {
	x := newIndex(t)
	e, weights := x.publish("big", 1, 1_000_000)
	s := smallDisk(t, "8m")
	var free func()
	x.serving(func(w http.ResponseWriter, name string, data []byte) {
		if name == wheelName(e.Packages[0]) {
			free = fill(t, s)
		}
		w.Write(data)
	})
	_, err := s.fetch(context.Background(), e, GetOptions{})
	wantError(t, err, ErrNoSpace, "disk is full", "test-big-part1", "MODELLOG_HOME")
	x.serving(nil)
	if free == nil {
		t.Fatal("the download was not begun")
	}
	free()
	if _, err := s.fetch(context.Background(), e, GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(s.modelPath("big", ".gguf")); !bytes.Equal(got, weights) {
		t.Error("the weights are not those that were published")
	}
}

func TestDiskFullWhileAssembling(t *testing.T) {
	x := newIndex(t)
	e, _ := x.publish("big", 1, 1_000_000)
	s := smallDisk(t, "8m")
	var free func()
	last := filepath.Join(s.data, "downloads", "big", "test-big-part1-1.0.0.whl")
	_, err := s.fetch(context.Background(), e, GetOptions{Progress: func(p Progress) {
		// The last package is in place, and the assembly begins next.
		if _, err := os.Stat(last); err == nil && free == nil {
			free = fill(t, s)
		}
	}})
	wantError(t, err, ErrNoSpace, "disk is full", "MODELLOG_HOME")
	if got := files(t, s.ModelsDir()); len(got) > 1 {
		t.Errorf("left %q", got)
	}
	if free == nil {
		t.Fatal("the download did not end")
	}
	free()
	x.count(e.Packages[0])
	if _, err := s.fetch(context.Background(), e, GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if x.count(e.Packages[0]) != 0 {
		t.Error("the package was downloaded again")
	}
}

package foldertest

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/manifest"
)

// Killed runs a program in three ways: once alone, into the folder whole; and with a cache of readings of its own at
// random moments killed and started again, until it has ended, into the folder resumed. It fails where one folder
// differs from the other in a file or in what its manifest says, and where a killed run leaves a manifest that is
// not whole. The program is the test that calls it, which sees from what env returns, a variable of its environment,
// that it is to run, with its readings in the folder cache, and to write the folder out. The files of the run that was
// left alone are returned.
func Killed(t *testing.T, env func(cache, out string) string) map[string][]byte {
	t.Helper()
	start := func(cache, out string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), env(cache, out))
		return cmd
	}
	run := func(cache, out string) {
		t.Helper()
		if said, err := start(cache, out).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
	}
	whole, resumed := filepath.Join(t.TempDir(), "run"), ""
	began := time.Now()
	run(t.TempDir(), whole)
	takes := time.Since(began)

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d; a run takes %v", seed, takes)
	random := rand.New(rand.NewPCG(seed, 0))
	kills := 0
	// A run that ended before it could be killed says that the machine has become faster: the next is killed sooner.
	for range 6 {
		cache := t.TempDir()
		resumed = filepath.Join(t.TempDir(), "run")
		for kills < 4 && killedWithin(t, start(cache, resumed), takes/4+time.Duration(random.Int64N(int64(takes/2))), resumed) {
			kills++
		}
		if kills > 0 {
			run(cache, resumed)
			break
		}
		takes /= 2
	}
	if kills == 0 {
		t.Fatal("every run ended before it could be killed")
	}
	t.Logf("%d kills", kills)
	want, got := Files(t, whole), Files(t, resumed)
	if len(want) != len(got) {
		t.Errorf("%d files, and %d after %d kills", len(want), len(got), kills)
	}
	for name, text := range want {
		if !bytes.Equal(got[name], text) {
			t.Errorf("%s is not the same after %d kills", name, kills)
		}
	}
	a, err := manifest.Load(filepath.Join(whole, folder.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	b, err := manifest.Load(filepath.Join(resumed, folder.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range manifest.Compare(a, b) {
		t.Errorf("the manifests differ: %s", d.Text)
	}
	return want
}

// killedWithin starts a program and kills it after a time. It is false where the program's run of the folder out had
// ended by then: the process may still be there, for the manifest is written before it leaves.
func killedWithin(t *testing.T, program *exec.Cmd, after time.Duration, out string) bool {
	t.Helper()
	var said bytes.Buffer
	program.Stdout, program.Stderr = &said, &said
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { program.Process.Kill() })
	defer timer.Stop()
	err := program.Wait()
	exited := program.ProcessState.Exited()
	if exited && err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	switch _, missing := manifest.Load(filepath.Join(out, folder.ManifestFile)); {
	case missing == nil:
		return false
	case !errors.Is(missing, fs.ErrNotExist):
		t.Fatalf("a killed run leaves part of a manifest: %v", missing)
	case exited:
		t.Fatal("a run that ended has no manifest")
	}
	return true
}

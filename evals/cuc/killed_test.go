package cuc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/folder/foldertest"
	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/internal/modeltest"
)

// killedRun is set in the process that TestKilled starts and kills: the folder of its cache of readings, its data
// and the run's folder.
const killedRun = "MODELLOG_TEST_KILLED_CUC"

// A run that is killed at random moments and started again writes, byte for byte, what one writes that is left
// alone.
func TestKilled(t *testing.T) {
	if args := strings.Split(os.Getenv(killedRun), "\n"); len(args) == 3 {
		d, err := Read(Plain, args[1])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Run(context.Background(), machine(t, readingsCache(t, args[0]), nil), []string{modeltest.SmolLM.Name}, []*Data{d}, args[2], Options{Version: "test"}); err != nil {
			t.Fatal(err)
		}
		return
	}
	modeltest.SmolLM.Path(t)
	var rows strings.Builder
	rows.WriteString("premises,phi,not_phi,label\n")
	labels := []string{"true", "false", "uncertain"}
	for i := range 8 {
		fmt.Fprintf(&rows, "House %d is old. All old houses are cold.,House %d is cold.,House %d is not cold.,%s\n", i, i, i, labels[i%3])
	}
	rows.WriteString("It rains.,The street is dry.,,perhaps\n")
	path := write(t, "own.csv", rows.String())
	start := func(cache, out string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), killedRun+"="+strings.Join([]string{cache, path, out}, "\n"))
		return cmd
	}
	whole := filepath.Join(t.TempDir(), "run")
	began := time.Now()
	if said, err := start(t.TempDir(), whole).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	takes := time.Since(began)

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d; a run takes %v", seed, takes)
	random := rand.New(rand.NewPCG(seed, 0))
	cache, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	kills := 0
	for range 4 {
		cmd := start(cache, out)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case <-done:
		case <-time.After(takes/4 + time.Duration(random.Int64N(int64(takes/2)))):
			kills++
			cmd.Process.Kill()
			<-done
			// It may have ended while it was being killed: then its manifest is whole.
			if _, err := manifest.Load(filepath.Join(out, folder.ManifestFile)); err == nil {
				kills--
			} else if !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("a killed run leaves part of a manifest: %v", err)
			} else {
				continue
			}
		}
		break
	}
	if kills == 0 {
		t.Skip("every run ended before it could be killed")
	}
	t.Logf("%d kills", kills)
	if said, err := start(cache, out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	want, got := foldertest.Files(t, whole), foldertest.Files(t, out)
	if len(want) < 7 || len(want) != len(got) {
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
	b, err := manifest.Load(filepath.Join(out, folder.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range manifest.Compare(a, b) {
		t.Errorf("the manifests differ: %s", d.Text)
	}
}

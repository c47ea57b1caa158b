//go:build cgo

package local_test

import (
	"fmt"
	"os"
	"testing"

	. "github.com/modellog/modellog"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/local"
)

// The weights, 98 MB, leave the memory with the session.
func TestCloseFreesModel(t *testing.T) {
	ctx := t.Context()
	modeltest.SmolLM.Path(t)
	s, err := local.Open(ctx, modeltest.SmolLM.Name, local.Options{CacheDir: t.TempDir(), Precision: "native", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Evaluate(ctx, M("A sparrow is a kind of", "bird")); err != nil {
		t.Fatal(err)
	}
	before := resident(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if freed := before - resident(t); freed < 80<<20 {
		t.Errorf("of %d MB, %d are free", before>>20, freed>>20)
	}
}

// resident is how much memory the process has, in bytes.
func resident(t *testing.T) (n int) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size int
	if _, err := fmt.Sscan(string(data), &size, &n); err != nil {
		t.Fatal(err)
	}
	return n * os.Getpagesize()
}

package local_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm/store"
)

// TestMain gives the tests a store of their own, with the small model by its name, no readings,
// and no Ollama. The example that opens the model cannot skip itself where it is missing.
func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "modellog")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	weights, err := userWeights()
	if err != nil {
		return 0, err
	}
	for _, d := range []string{"models", "cache"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o777); err != nil {
			return 0, err
		}
	}
	r := modeltest.SmolLM
	if path := r.Find(); path != "" {
		if err := os.Symlink(path, filepath.Join(dir, "models", r.Name+".gguf")); err != nil {
			return 0, err
		}
		if err := os.Symlink(weights, filepath.Join(dir, "cache", "weights")); err != nil {
			return 0, err
		}
	} else {
		fmt.Fprintf(os.Stderr, "ExampleOpen is skipped: the model %s is not here; get it with: modellog models get %s\n", r.Name, r.Name)
		if err := flag.Set("test.skip", "^ExampleOpen$"); err != nil {
			return 0, err
		}
	}
	for variable, value := range map[string]string{
		"MODELLOG_HOME": dir, "MODELLOG_CACHE": filepath.Join(dir, "cache"), "OLLAMA_MODELS": filepath.Join(dir, "ollama"),
		"OLLAMA_HOST": "127.0.0.1:1", // where nothing listens
	} {
		if err := os.Setenv(variable, value); err != nil {
			return 0, err
		}
	}
	return m.Run(), nil
}

// userWeights is the folder of the user's dequantised weights, which take long to make.
func userWeights() (string, error) {
	cache, err := store.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "weights")
	return dir, os.MkdirAll(dir, 0o777)
}

// Package modeltest finds what tests need and the project
// does not contain: the two small models, and the reference readings of them.
// A test that needs what is not there is skipped with a message that says what
// is missing and how to get it.
//
// The reference readings are for tests that compare numbers with them. A test that
// needs something to ask a model about takes the [Prompts], which are part of the
// project.
package modeltest

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/adrg/xdg"

	"github.com/modellog/modellog/lm"
)

// Reference is a model that tests may use.
type Reference struct {
	Name   string // as modellog calls it
	SHA256 string
	Oracle string // name of the file of reference readings

	size int64 // of the file, by which it is found
}

// The two models of which there are reference readings.
var (
	Gemma = Reference{
		Name: "gemma3:270m-pt", SHA256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
		Oracle: "gemma3-270m-pt.jsonl", size: 253113024,
	}
	SmolLM = Reference{
		Name: "smollm2:135m-instruct", SHA256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
		Oracle: "smollm2-135m-instruct.jsonl", size: 98362432,
	}
	All = []Reference{Gemma, SmolLM}
)

// Path returns the model's file. It looks in the folder that
// $MODELLOG_TEST_MODELS names or else in modellog's own store
// ($MODELLOG_HOME/models or the user's data folder), at all depths.
func (r Reference) Path(t testing.TB) string {
	t.Helper()
	if path := r.Find(); path != "" {
		return path
	}
	t.Skipf("the model %s is not in %s; get it with: modellog models get %s", r.Name, folder(), r.Name)
	return ""
}

func folder() string {
	if dir := os.Getenv("MODELLOG_TEST_MODELS"); dir != "" {
		return dir
	}
	if dir := os.Getenv("MODELLOG_HOME"); dir != "" {
		return filepath.Join(dir, "models")
	}
	return filepath.Join(xdg.DataHome, "modellog", "models")
}

var files = sync.OnceValue(func() map[int64]string {
	bySize := map[int64]string{}
	// What cannot be looked into is as good as not there.
	_ = filepath.WalkDir(folder(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			bySize[info.Size()] = path
		}
		return nil
	})
	return bySize
})

// Find returns the model's file, or "" where it is missing.
func (r Reference) Find() string { return files()[r.size] }

// Reading is one line of a file of reference readings: natural logarithms,
// computed in float32 over the dequantised weights.
type Reading struct {
	Prefix    string     `json:"prefix"`
	PrefixIDs []lm.Token `json:"prefix_ids"`
	Targets   []struct {
		Text    string   `json:"text"`
		ID      lm.Token `json:"id"`
		LogProb float64  `json:"logprob"`
	} `json:"targets"`
	Entropy float64 `json:"entropy"`
	Nucleus map[string]struct {
		Size    float64 `json:"size"`
		Entropy float64 `json:"entropy"`
	} `json:"nucleus"`
	Top [][2]float64 `json:"top"` // id and log-probability, descending
}

// Readings reads the reference readings of the model.
func (r Reference) Readings(t testing.TB) []Reading {
	t.Helper()
	f, err := os.Open(Shared(t, filepath.Join("oracle", r.Oracle)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var readings []Reading
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var reading Reading
		if err := json.Unmarshal(lines.Bytes(), &reading); err != nil {
			t.Fatalf("%s: %v", r.Oracle, err)
		}
		readings = append(readings, reading)
	}
	if err := lines.Err(); err != nil || len(readings) == 0 {
		t.Fatalf("%s: %d readings, %v", r.Oracle, len(readings), err)
	}
	return readings
}

// Shared returns the path of a file of test data: in the folder that
// $MODELLOG_SHARED names, or else in ../shared from the project's root.
func Shared(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("MODELLOG_SHARED")
	if dir == "" {
		root, err := filepath.Abs(".")
		for err == nil {
			if _, statErr := os.Stat(filepath.Join(root, "go.sum")); statErr == nil {
				break
			}
			if root == filepath.Dir(root) {
				t.Fatal("the project's root (the folder with go.sum) is not above the test's folder")
			}
			root = filepath.Dir(root)
		}
		dir = filepath.Join(root, "..", "shared")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is missing: %v; set MODELLOG_SHARED to the folder that has it", name, err)
	}
	return path
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modellog/modellog/lang"
)

// A program is refused at the size at which the language refuses it, before all of it is read.
func TestProgramSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.logic")
	for _, test := range []struct {
		size int
		ok   bool
	}{{lang.MaxSource, true}, {lang.MaxSource + 1, false}} {
		if err := os.WriteFile(path, bytes.Repeat([]byte("\n"), test.size), 0o600); err != nil {
			t.Fatal(err)
		}
		_, src, err := (&evalCmd{File: path}).read(t.Context(), streams{})
		if test.ok && (err != nil || len(src) != test.size) {
			t.Errorf("%d bytes: %d read, %v", test.size, len(src), err)
		}
		if !test.ok && (err == nil || !strings.Contains(err.Error(), "more than 32 MB")) {
			t.Errorf("%d bytes: %v", test.size, err)
		}
	}
}

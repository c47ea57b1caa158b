//go:build !cgo

package open_test

import (
	"strings"
	"testing"

	"github.com/modellog/modellog/lm/open"
)

// Without cgo there are servers only, and the message says so.
func TestNoEngine(t *testing.T) {
	home := machine(t)
	put(t, "weights", home, "data/models/own.gguf")
	pulled(t, home, "theirs", "weights")
	for _, name := range []string{"own", "theirs", "gguf:own"} {
		m, err := open.Model(t.Context(), name, open.Options{})
		if m != nil || err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=1") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	serve(t, "theirs:latest")
	if _, err := open.Model(t.Context(), "theirs", open.Options{}); err == nil || !strings.Contains(err.Error(), "the server was asked") {
		t.Errorf("the server was not asked: %v", err)
	}
}

//go:build !cgo

package open

import (
	"context"
	"errors"
	"fmt"

	"github.com/modellog/modellog/lm"
)

var errNoEngine = errors.New("this program was built without cgo, and so without the engine that reads model files; " +
	"build it with CGO_ENABLED=1 and a C++ compiler, or ask a running Ollama server (ollama:NAME)")

func embedded(_ context.Context, p Place, _ Options) (lm.Model, error) {
	return nil, fmt.Errorf("opening model %q: %w", p.Name, errNoEngine)
}

func unsupported(err error) bool { return errors.Is(err, errNoEngine) }

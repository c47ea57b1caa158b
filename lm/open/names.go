package open

import (
	"context"

	"github.com/dustin/go-humanize"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/ollama"
)

// Names lists the models on this machine and those of the Ollama server that runs, each name
// once, in the order in which they are tried. The backend is "gguf" or "ollama", the detail the size of the
// weights where it is known.
func Names(ctx context.Context, o Options) ([]lm.ModelName, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	models, err := o.Store.Models(ctx)
	if err != nil {
		return nil, err
	}
	var out []lm.ModelName
	seen := make(map[string]bool)
	for _, m := range models {
		if !seen[m.Name] {
			seen[m.Name] = true
			out = append(out, lm.ModelName{Name: m.Name, Backend: "gguf", Detail: humanize.Bytes(uint64(m.Size))})
		}
	}
	if _, _, err := ollama.Reachable(ctx); err == nil {
		served, err := ollama.Names(ctx)
		if err != nil {
			return out, nil // a server that stumbles hides none of the others
		}
		for _, name := range served {
			if !seen[name] {
				seen[name] = true
				out = append(out, lm.ModelName{Name: name, Backend: "ollama"})
			}
		}
	}
	return out, nil
}

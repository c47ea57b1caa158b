package open

import (
	"context"

	"github.com/dustin/go-humanize"

	"github.com/modellog/modellog/lm/ollama"
)

// Name is a name that [Model] opens.
type Name struct {
	Name    string
	Backend string // "gguf" or "ollama"
	Detail  string // the size of the weights, for people; "" where it is not known
}

// Names lists the models on this machine and those of the Ollama server that runs, each name
// once, in the order in which they are tried.
func Names(ctx context.Context, o Options) ([]Name, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	models, err := o.Store.Models(ctx)
	if err != nil {
		return nil, err
	}
	var out []Name
	seen := make(map[string]bool)
	for _, m := range models {
		if !seen[m.Name] {
			seen[m.Name] = true
			out = append(out, Name{Name: m.Name, Backend: "gguf", Detail: humanize.Bytes(uint64(m.Size))})
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
				out = append(out, Name{Name: name, Backend: "ollama"})
			}
		}
	}
	return out, nil
}

package published

import (
	"regexp"
	"strings"
	"unicode"
)

// Families returns the families of models of all tables, in the order in which they are met.
func Families() ([]string, error) {
	t, err := load()
	if err != nil {
		return nil, err
	}
	var out []string
	seen := map[string]bool{"": true}
	for _, name := range t.names {
		for _, f := range t.figures[name] {
			if !seen[f.Family] {
				seen[f.Family] = true
				out = append(out, f.Family)
			}
		}
	}
	return out, nil
}

// FamilyOf returns the family among some that a model's name begins with, by their [PlainName], the longest of
// several: "Gemma-3" for gemma3:270m-pt. A model of none of them is of a family called as
// its name is up to the colon or the size: "SmolLM2" for SmolLM2-135M-Instruct-Q4_1. Of a name with a scheme, of a
// path and of a server's address, what names the model counts: "Gemma-3" for gguf:/models/gemma-3-1b.gguf.
func FamilyOf(model string, families []string) string {
	if address, name, ok := strings.Cut(model, "#"); ok && strings.HasPrefix(address, "openai:") {
		model = name
	}
	for _, scheme := range []string{"gguf:", "ollama:"} {
		model = strings.TrimPrefix(model, scheme)
	}
	model = model[strings.LastIndexAny(model, `/\`)+1:]
	if strings.HasSuffix(strings.ToLower(model), ".gguf") {
		model = model[:len(model)-len(".gguf")]
	}
	plain, best := PlainName(model), ""
	for _, f := range families {
		if p := PlainName(f); p != "" && strings.HasPrefix(plain, p) && len(p) > len(PlainName(best)) {
			best = f
		}
	}
	if best != "" {
		return best
	}
	name, _, _ := strings.Cut(model, ":")
	if at := size.FindStringIndex(name); at != nil && at[0] > 0 {
		name = name[:at[0]]
	}
	return name
}

// size is a number of parameters within a name, with the sign before it.
var size = regexp.MustCompile(`(?i)[-_ ]\d+(?:\.\d+)?[mb](?:[-_. ]|$)`)

// PlainName is a name without what people write differently: case, spaces and signs.
func PlainName(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

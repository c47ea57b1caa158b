package published

import (
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
// its name is up to the colon.
func FamilyOf(model string, families []string) string {
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
	return name
}

// PlainName is a name without what people write differently: case, spaces and signs.
func PlainName(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

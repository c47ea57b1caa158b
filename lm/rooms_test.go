package lm_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Backends know of lm and of what they are built on, and not of each other.
func TestRooms(t *testing.T) {
	const module = "github.com/modellog/modellog/"
	allowed := map[string][]string{
		".":           nil,
		"tokens":      {"lm"},
		"chat":        {"lm", "lm/tokens"},
		"ollama":      {"lm", "lm/chat", "lm/tokens"},
		"openai":      {"lm"},
		"gguf":        {"lm", "lm/chat", "lm/tokens", "lm/gguf/header"},
		"gguf/header": nil,
		"open":        {"lm", "lm/gguf", "lm/gguf/header", "lm/ollama", "lm/openai", "lm/store"},
	}
	files := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		may, checked := allowed[path.Dir(filepath.ToSlash(name))]
		if err != nil || !checked || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		files++
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if own, ok := strings.CutPrefix(imported, module); err == nil && ok && !slices.Contains(may, own) {
				t.Errorf("%s imports %s", name, own)
			}
		}
		return err
	})
	if err != nil || files < len(allowed) {
		t.Errorf("%d files, %v", files, err)
	}
}

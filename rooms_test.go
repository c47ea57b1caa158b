package modellog_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What each room may import of the project, besides internal and its own folders that are no rooms. Data
// flow one way, and a room knows nothing of those after it; backends know of lm and of what they are built on,
// and not of each other. notebooks/published is the papers' figures as data with their reader, imports nothing of the project,
// and may be shown beside measured ones everywhere from lang on. A folder below a room is the room's, unless it
// is one itself.
var rooms = map[string][]string{
	"logic":               nil,
	"calibrate":           nil,
	"plots":               nil,
	"notebooks/published": nil,
	"internal":            {"lm"},

	"internal/modeltest/engine": {"lm/gguf", "lm/store"},

	"lm":             nil,
	"lm/tokens":      {"lm"},
	"lm/chat":        {"lm", "lm/tokens"},
	"lm/gguf":        {"lm", "lm/chat", "lm/tokens", "lm/gguf/header"},
	"lm/gguf/header": nil,
	"lm/listed":      {"lm", "lm/tokens"},
	"lm/ollama":      {"lm", "lm/chat", "lm/listed", "lm/tokens"},
	"lm/openai":      {"lm", "lm/chat", "lm/listed", "lm/tokens"},
	"lm/store":       nil,
	"lm/serve":       {"lm"},
	"lm/open":        {"lm", "lm/gguf", "lm/gguf/header", "lm/ollama", "lm/openai", "lm/store", "lm/tokens"},

	"event":       {"calibrate", "lm"},
	"lang/syntax": nil,
	"lang":        {"calibrate", "event", "lang/syntax", "lm", "logic", "notebooks/published", "plots"},
	"repl":        {"lang"},

	"kernel":                {"kernel/connect", "lang", "lang/syntax"},
	"kernel/connect":        {"lang/syntax"},
	"kernel/internal/bench": {"kernel", "lm/store"},

	"evals/wordnet":           nil,
	"evals/bootstrap":         nil,
	"evals/manifest":          {"calibrate", "lm"},
	"evals/table":             {"notebooks/published"},
	"evals/folder":            {"evals/manifest", "evals/table", "lm", "plots"},
	"evals/folder/foldertest": {"evals/folder", "evals/manifest", "notebooks/published"},
	"evals":                   {"calibrate", "evals/bootstrap", "evals/folder", "evals/manifest", "evals/table", "evals/wordnet", "event", "lang", "lang/syntax", "lm", "lm/chat", "logic", "notebooks/published", "plots"},

	".":     {"calibrate", "kernel/connect", "lang/syntax", "lm", "logic"}, // without the engine, and light to link
	"local": {".", "kernel/connect", "lang", "lm", "lm/open", "lm/store"},

	"bench":        {"evals", "evals/manifest", "evals/wordnet", "event", "lang", "lm", "lm/gguf", "lm/store", "logic"},
	"cmd/modellog": {"*"},
}

// roomOf is the room that a package is in: the innermost of the folders that it is in.
func roomOf(path string) string {
	for at := path; at != "."; {
		if _, ok := rooms[at]; ok {
			return at
		}
		i := strings.LastIndexByte(at, '/')
		if i < 0 {
			break
		}
		at = at[:i]
	}
	if path == "." {
		return "."
	}
	return ""
}

func TestRooms(t *testing.T) {
	const module = "github.com/modellog/modellog"
	own := func(path string) (string, bool) {
		if path == module {
			return ".", true
		}
		return strings.CutPrefix(path, module+"/")
	}
	out, err := exec.Command("go", "list", "-e", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		path, ok := own(words[0])
		if !ok {
			t.Fatalf("%s is not of the project", words[0])
		}
		room := roomOf(path)
		if room == "" {
			if len(words) > 1 && slices.ContainsFunc(words[1:], func(w string) bool { _, ok := own(w); return ok }) {
				t.Errorf("%s is in no room; give it a line in the table", path)
			}
			continue
		}
		seen[room] = true
		for _, w := range words[1:] {
			imported, ok := own(w)
			if !ok {
				continue
			}
			to := roomOf(imported)
			if to != room && to != "internal" && !slices.Contains(rooms[room], to) && !slices.Contains(rooms[room], "*") {
				t.Errorf("%s imports %s, and %s may not know of %s", path, imported, room, to)
			}
		}
	}
	for room := range rooms {
		if !seen[room] {
			t.Errorf("the table has %s, where there is no package", room)
		}
	}
}

package chat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modellog/modellog/lm"
)

func load(t testing.TB, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func conversations(t testing.TB) (all [][]lm.Message) {
	t.Helper()
	load(t, "testdata/conversations.json", &all)
	return all
}

// What transformers' Jinja makes of the templates and conversations, as
// testdata/render.py recorded it.
type recorded struct {
	Own    map[string][]rendered
	Module [][]rendered
}

type rendered struct {
	text    string // or its SHA-256
	refused bool
}

func (r *rendered) UnmarshalJSON(data []byte) error {
	if r.refused = data[0] == '{'; r.refused {
		return nil
	}
	return json.Unmarshal(data, &r.text)
}

var values = Values{BOS: "<BOS>", EOS: "<EOS>"}

func compare(t *testing.T, source string, want []rendered, digest bool) (same, refused int) {
	t.Helper()
	template, err := Parse(source)
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	for i, c := range conversations(t) {
		got, err := template.Render(t.Context(), c, values)
		switch {
		case want[i].refused && err != nil:
			refused++
			continue
		case want[i].refused:
			t.Errorf("conversation %d: %q, want a refusal", i, got)
			continue
		case err != nil:
			t.Errorf("conversation %d: %v", i, err)
			continue
		}
		compared := got
		if digest {
			sum := sha256.Sum256([]byte(got))
			compared = hex.EncodeToString(sum[:])
		}
		if compared != want[i].text {
			t.Errorf("conversation %d:\n%q, want\n%q", i, got, want[i].text)
			continue
		}
		same++
	}
	return same, refused
}

// The templates of testdata cover what is in use.
func TestOwnTemplates(t *testing.T) {
	var want recorded
	load(t, "testdata/rendered.json", &want)
	var sources map[string]string
	load(t, "testdata/templates.json", &sources)
	for name, source := range sources {
		t.Run(name, func(t *testing.T) { compare(t, source, want.Own[name], false) })
	}
}

// The templates of many models, which come with the engine's module.
func TestModelsTemplates(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/ollama/ollama").Output()
	if err != nil {
		t.Skipf("the folder of the module github.com/ollama/ollama cannot be found: %v", err)
	}
	var want recorded
	load(t, "testdata/rendered.json", &want)
	var index []struct{ Name, Template string }
	load(t, filepath.Join(strings.TrimSpace(string(dir)), "template", "index.json"), &index)
	if len(index) != len(want.Module) {
		t.Fatalf("%d templates, want %d: record them again", len(index), len(want.Module))
	}
	same, refused := 0, 0
	for i, entry := range index {
		t.Run(entry.Name, func(t *testing.T) {
			s, r := compare(t, entry.Template, want.Module[i], true)
			same, refused = same+s, refused+r
		})
	}
	t.Logf("%d templates: %d renderings as Jinja's, %d refusals", len(index), same, refused)
}

var _ = context.Background
var _ = errors.New
var _ = time.Second

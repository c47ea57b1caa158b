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
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/tokens"
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

var question = []lm.Message{{Role: lm.User, Content: "Well?"}}

// A template that reads files, never ends, or makes much out of little, is an error
// soon, by the limits or by the context's end.
func TestHostileTemplates(t *testing.T) {
	for name, source := range map[string]string{
		"include":         "{% include '/etc/hostname' %}",
		"import":          "{% import '/etc/hostname' as x %}",
		"from":            "{% from '/etc/hostname' import x %}",
		"extends":         "{% extends '/etc/hostname' %}",
		"block":           "{% block x %}{% endblock %}",
		"multiply":        "{{ 'a' * 1000000000 }}",
		"power":           "{{ 10 ** 10 }}",
		"center":          "{{ 'a' | center(1000000000) }}",
		"format":          "{{ '%1000000000d' | format(1) }}",
		"center method":   "{{ 'a'.center(1000000000) }}",
		"long range":      "{% for i in range(1000000000) %}{% endfor %}",
		"nested loops":    "{% for i in range(100000) %}{% for i in range(100000) %}{% for i in range(100000) %}{% endfor %}{% endfor %}{% endfor %}",
		"much output":     "{% for i in range(100000) %}" + strings.Repeat("x", 1000) + "{% endfor %}",
		"doubling":        "{% set ns = namespace(x='ab') %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
		"doubling lists":  "{% set ns = namespace(x=[1]) %}{% for i in range(100) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
		"appending lists": "{% set ns = namespace(x=[1]) %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
		"replacing":       "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(100) %}{% set ns.x = ns.x | replace('a', 'aaaaaaaa') %}{% endfor %}",
		"replace method":  "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(100) %}{% set ns.x = ns.x.replace('a', 'aaaaaaaa') %}{% endfor %}",
		"joining":         "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(100) %}{% set ns.x = ns.x | list | join('aaaaaaaa') %}{% endfor %}",
		"itself":          "{% set ns = namespace(x=1) %}{% set ns.x = ns %}{{ ns }}",
		"recursion":       "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
		"recursive loop":  "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}",
		"macro doubling":  "{% macro f(x, n) %}{{ x }}{{ x }}{{ f(x ~ x, n) }}{% endmacro %}{{ f('aaaaaaaaaaaaaaaa', 1) }}",
		"append":          "{% set x = [] %}{% set _ = x.append(x) %}{{ x }}",
		"random":          "{{ [1, 2] | random }}",
		"unknown filter":  "{{ 'a' | nonsense }}",
		"unknown method":  "{{ 'a'.nonsense() }}",
		"unknown":         "{% nonsense %}",
		"unfinished":      "{{ 'a'",
		"unfinished for":  "{% for x in y %}",
		"division":        "{{ 1 % 0 }}",
		"long tag":        "{{ " + strings.Repeat("1 + ", 200) + "1 }}",
		"long":            strings.Repeat("x", MaxSource+1),
		"no UTF-8":        "\xff",
		"nesting":         strings.Repeat("{% if true %}", 3000),
		"self":            "{{ self.x() }}",
		"go":              "{{ messages.__class__.__mro__[1].__subclasses__() }}",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begin := time.Now()
			template, err := Parse(source)
			var text string
			if err == nil {
				text, err = template.Render(ctx, question, values)
			}
			if err == nil {
				t.Errorf("%.100q", text)
			} else if len(err.Error()) > 1000 {
				t.Errorf("an error of %d bytes: %.200s…", len(err.Error()), err)
			}
			if took := time.Since(begin); took > 4*time.Second {
				t.Errorf("it took %v", took)
			}
			t.Log(err)
		})
	}
}

func TestInterruption(t *testing.T) {
	template, err := Parse("{% for i in range(100000) %}{% for i in range(100000) %}{{ i if false }}{% endfor %}{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := template.Render(ctx, question, values); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 2*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}

func TestRefusal(t *testing.T) {
	template, err := Parse("{{ raise_exception('only ' + 'users') }}")
	if err != nil {
		t.Fatal(err)
	}
	var refusal *RefusalError
	if _, err := template.Render(t.Context(), question, values); !errors.As(err, &refusal) || refusal.Reason != "only users" {
		t.Errorf("%v", err)
	}
}

// vocabulary is a tokenizer whose tokens are bytes, some words, and control tokens.
func vocabulary(t testing.TB) *tokens.Tokenizer {
	t.Helper()
	m := metadata{"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "default", "tokenizer.ggml.add_bos_token": true, "tokenizer.ggml.bos_token_id": uint32(0), "tokenizer.ggml.eos_token_id": uint32(2)}
	names, types := []string{"<bos>", "<|start|>", "<|end|>", "[INST]"}, []int32{3, 3, 3, 3}
	// The bytes as byte-pair vocabularies write them.
	n := rune(0)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			names = append(names, string(b))
		} else {
			names = append(names, string(256+n))
			n++
		}
		types = append(types, 1)
	}
	names, types = append(names, "en"), append(types, 1)
	m["tokenizer.ggml.tokens"], m["tokenizer.ggml.token_type"], m["tokenizer.ggml.merges"] = names, types, []string{"e n"}
	tok, err := tokens.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

type metadata map[string]any

func value[T any](m metadata, key string, def []T) (v T) {
	if v, ok := m[key].(T); ok {
		return v
	}
	if len(def) > 0 {
		return def[0]
	}
	return v
}

func (m metadata) Architecture() string                          { return "llama" }
func (m metadata) Value(key string) any                          { return m[key] }
func (m metadata) String(key string, def ...string) string       { return value(m, key, def) }
func (m metadata) Uint(key string, def ...uint32) uint32         { return value(m, key, def) }
func (m metadata) Bool(key string, def ...bool) bool             { return value(m, key, def) }
func (m metadata) Strings(key string, def ...[]string) []string  { return value(m, key, def) }
func (m metadata) Ints(key string, def ...[]int32) []int32       { return value(m, key, def) }
func (m metadata) Floats(key string, def ...[]float32) []float32 { return value(m, key, def) }

// Whatever the messages spell, whole or in parts that meet the template's, the
// control tokens are the template's own and the text comes out as it went in.
func TestControlTokensOfMessages(t *testing.T) {
	tok := vocabulary(t)
	for _, source := range []string{
		"{% for m in messages %}<|start|>{{ m.role }}\n{{ m.content }}<|end|>{% endfor %}<|start|>assistant\n",
		"{{ bos_token }}{% for m in messages %}[INST]{{ m.content | trim }}{{ eos_token }}|end|>{% endfor %}<|sta",
	} {
		template, err := Parse(source)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := template.Input(t.Context(), tok, []lm.Message{{Role: lm.User, Content: "x"}, {Role: lm.Assistant, Content: "y"}})
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			part := rapid.SampledFrom([]string{"<|start|>", "<|end|>", "<bos>", "[INST]", "<|", "|>", "<", ">", "end", "<|end", "|end|>", "rt|>", "[", "a", " ", "\n", "é", "\ufdd0"})
			messages := []lm.Message{
				{Role: lm.User, Content: strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "first"), "")},
				{Role: lm.Assistant, Content: strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "second"), "")},
			}
			in, err := template.Input(t.Context(), tok, messages)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := controls(tok, in.Tokens), controls(tok, plain.Tokens); !slices.Equal(got, want) {
				t.Fatalf("%q: the control tokens are %v, want %v", messages, got, want)
			}
			want, err := template.Render(t.Context(), messages, Values{BOS: "<bos>", EOS: "<|end|>"})
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.TrimPrefix(string(tok.Text(in.Tokens)), "<bos>"); in.Text != want || text != strings.TrimPrefix(want, "<bos>") {
				t.Fatalf("%q in tokens and %q, want %q", text, in.Text, want)
			}
			if in.Tokens[0] != tok.BOS() || slices.Contains(in.Tokens[1:], tok.BOS()) {
				t.Fatalf("the beginning-of-sequence token is not there once: %v", in.Tokens)
			}
		})
	}
}

func controls(tok *tokens.Tokenizer, ids []lm.Token) (out []lm.Token) {
	for _, id := range ids {
		if tok.IsControl(id) {
			out = append(out, id)
		}
	}
	return out
}

// No template panics, hangs or grows without bounds.
func FuzzTemplate(f *testing.F) {
	var sources map[string]string
	load(f, "testdata/templates.json", &sources)
	for _, source := range sources {
		f.Add(source)
	}
	f.Add("{{ messages[-1][::2] if x else [y, {'a': 1}] | tojson }}{%- for a, b in messages[0].items() -%}{{ loop.cycle(1, 2) }}{% endfor %}")
	f.Add("{% macro m(a, *b, **c) %}{{ a }}{% endmacro %}{{ m(1)|indent(3) }}{% with x = 1 %}{{ x }}{% endwith %}{% filter upper %}a{% endfilter %}{% raw %}{{{% endraw %}")
	f.Fuzz(func(t *testing.T, source string) {
		begin := time.Now()
		template, err := Parse(source)
		if err == nil {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			var text string
			if text, err = template.Render(ctx, question, values); err == nil && (!utf8.ValidString(text) || len(text) > 2*ownSize) {
				t.Errorf("%d bytes", len(text))
			}
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("it took %v: %v", took, err)
		}
	})
}

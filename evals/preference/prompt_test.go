package preference

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Every task has a question, ten paraphrases and their negations, all different, in prompts that fill all holes.
func TestDefaultPrompts(t *testing.T) {
	for _, task := range Tasks {
		p, err := DefaultPrompts(task)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Questions) != 11 {
			t.Errorf("%s: %d wordings", task, len(p.Questions))
		}
		seen := map[string]bool{}
		for _, w := range p.Questions {
			for _, q := range []Question{Relation, Negated} {
				text := w.of(q)
				if seen[text] {
					t.Errorf("%s: %q twice", task, text)
				}
				seen[text] = true
				if !strings.Contains(text, "A") || !strings.Contains(text, "B") {
					t.Errorf("%s: %q does not name both labels", task, text)
				}
			}
		}
		for name, prompt := range map[string]string{PlainFile: p.Plain, ChatFile: p.Chat, CoTFile: p.CoT} {
			got := fill(prompt, "The source.", "The first.", "The second.", "The question?")
			at := -1
			for _, part := range []string{"The source.", "The first.", "The second.", "The question?"} {
				next := strings.Index(got, part)
				if next <= at || strings.Count(got, part) != 1 {
					t.Errorf("%s/%s: %q stands at %d, behind %d", task, name, part, next, at)
				}
				at = next
			}
			if strings.ContainsAny(got, "{}") {
				t.Errorf("%s/%s: %s", task, name, got)
			}
		}
		if !strings.HasSuffix(p.Plain, ":") {
			t.Errorf("%s: the plain prompt ends in %q", task, p.Plain[len(p.Plain)-10:])
		}
	}
	if _, err := DefaultPrompts("beauty"); err == nil || !strings.Contains(err.Error(), "coherence, relevance") {
		t.Error(err)
	}
}

func TestFill(t *testing.T) {
	const prompt = "Story:\n{source}\n\nA: {first}\nB: {second}\n\n{question}"
	if got := fill(prompt, "{first}", "{second}", "{question}", "Which?"); got != "Story:\n{first}\n\nA: {second}\nB: {question}\n\nWhich?" {
		t.Errorf("%q", got)
	}
	if got := fill(prompt, "", "x", "y", "Which?"); got != "A: x\nB: y\n\nWhich?" {
		t.Errorf("without a source: %q", got)
	}
}

func TestReadPrompts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	if err := WritePrompts(dir); err != nil {
		t.Fatal(err)
	}
	for _, task := range Tasks {
		p, err := ReadPrompts(dir, task)
		want, _ := DefaultPrompts(task)
		if err != nil || !reflect.DeepEqual(p, want) || p.digest() != want.digest() {
			t.Errorf("%s: what was written is not what is read, %v", task, err)
		}
	}
	if err := WritePrompts(dir); err == nil {
		t.Error("prompts are written over")
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "general", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := DefaultPrompts(General)
	write(ChatFile, "\ufeff{first} or {second}?\r\n{question}\r\n\r\n")
	p, err := ReadPrompts(dir, General)
	if err != nil || p.Chat != "{first} or {second}?\n{question}" || p.Plain != before.Plain || p.digest() == before.digest() {
		t.Errorf("%+v, %v", p, err)
	}
	for _, x := range []struct{ name, text, want string }{
		{ChatFile, "{first} and {second}", "chat.txt: the prompt has no {question}"},
		{ChatFile, "{second} {question}", "no {first}"},
		{ChatFile, "\xff{first}{second}{question}", "UTF-8"},
		{ChatFile, strings.Repeat("x", maxPrompt+1), "at most"},
		{QuestionsFile, "Which, A or B?\tWhich not, A or B?\n", "line 1: the heading"},
		{QuestionsFile, "relation\tnegated", "line 1"},
		{QuestionsFile, "relation\tnegated\nWhich?\n", "line 2: a line has a question"},
		{QuestionsFile, "relation\tnegated\nWhich?\tNot?\tMore?\n", "line 2"},
		{QuestionsFile, "relation\tnegated\nWhich?\t \n", "line 2: a question is empty"},
		{QuestionsFile, "relation\tnegated\nWhich?\tWhich?\n", "is the question itself"},
		{QuestionsFile, "relation\tnegated\na\tb\na\tb\n", "line 3: the same questions"},
	} {
		write(ChatFile, before.Chat)
		write(QuestionsFile, "relation\tnegated\na\tb\n")
		write(x.name, x.text)
		if _, err := ReadPrompts(dir, General); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s, %.40q: %v, want %q", x.name, x.text, err, x.want)
		}
	}
	if _, err := ReadPrompts(t.TempDir(), General); err == nil || !strings.Contains(err.Error(), "has none of") {
		t.Error(err)
	}
}

func FuzzParseQuestions(f *testing.F) {
	for _, s := range []string{"relation\tnegated\na\tb", "relation\tnegated\n\t", "relation", "", "relation\tnegated\na\tb\n\nc\td"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parseQuestions(text)
		if err == nil && len(all) == 0 {
			t.Fatal("no questions and no error")
		}
		for _, w := range all {
			if w.Relation == "" || w.Negated == "" || w.Relation == w.Negated || strings.ContainsAny(w.Relation+w.Negated, "\t\n") {
				t.Fatalf("%q", w)
			}
		}
	})
}

package cuc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A prompt that no model should be given is refused, however long its file is.
func TestPromptsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"{premises} {statement}" + strings.Repeat("x", maxPromptBytes): "at most 64 KiB",
		"{premises} {statement} \xff":                                  "in UTF-8",
		"{premises} {statement} \x00":                                  "the prompt has at byte 24 the control character U+0000",
		"{statement}":                                                  "no {premises}",
		"":                                                             "no {premises}",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ChatFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPrompts(dir); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ChatFile) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	dir := t.TempDir()
	if err := os.Symlink("/dev/zero", filepath.Join(dir, PlainFile)); err != nil {
		t.Skip(err)
	}
	if _, err := ReadPrompts(dir); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a file without end: %v", err)
	}
	// Tabs and lines are text; half-written prompts name the file that is in the way.
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ChatFile), []byte("{premises}\t\r\n{statement}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err := ReadPrompts(dir); err != nil || p.Chat != "{premises}\t\n{statement}" {
		t.Errorf("%q, %v", p.Chat, err)
	}
	if err := WritePrompts(dir, DefaultPrompts()); err == nil || !strings.Contains(err.Error(), ChatFile+" is there already") {
		t.Error(err)
	}
}

// A file's name is its data set's, and figures' too.
func TestNames(t *testing.T) {
	for _, name := range []string{".csv", "a\nb.csv", "a\x1bb.csv", strings.Repeat("x", maxNameBytes+1) + ".csv"} {
		if _, err := Read(Plain, filepath.Join(t.TempDir(), name)); err == nil || !strings.Contains(err.Error(), "rename the file") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

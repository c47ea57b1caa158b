package cuc

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/modellog/modellog/evals/answers"
	"github.com/modellog/modellog/internal/regular"
	"github.com/modellog/modellog/lm"
)

// Format is how the two answers are called.
type Format struct {
	Name    string // "yes-no"
	Yes, No string // "YES", "NO"
}

// Formats are the paper's three, the first of which is its default.
var Formats = []Format{{"yes-no", "YES", "NO"}, {"true-false", "True", "False"}, {"entailed-refuted", "Entailed", "Refuted"}}

func (f Format) String() string { return f.Yes + "/" + f.No }

// ParseFormat finds a format by its name.
func ParseFormat(name string) (Format, error) {
	var names []string
	for _, f := range Formats {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Format{}, fmt.Errorf("%.40q is no format of answers; they are %s", name, strings.Join(names, ", "))
}

// Prompts are what a model is asked, with {premises}, {statement}, {yes} and {no} for what an example and a
// format put there. The statement should come last: what two questions begin with alike is read once.
type Prompts struct {
	Plain string // for a model that continues a text; ends where the answer begins
	Chat  string // for a model with a chat template: the user's message
}

//go:embed prompts/plain.txt
var plainPrompt string

//go:embed prompts/chat.txt
var chatPrompt string

// The names of the prompts' files.
const (
	PlainFile = "plain.txt"
	ChatFile  = "chat.txt"
)

// DefaultPrompts are the prompts in the folder prompts of this package.
func DefaultPrompts() Prompts {
	return Prompts{Plain: withoutLineEnd(plainPrompt), Chat: withoutLineEnd(chatPrompt)}
}

func withoutLineEnd(s string) string {
	return strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
}

// ReadPrompts reads plain.txt and chat.txt from a folder; one that is missing is the default's. Line ends
// at the end of a file do not count.
func ReadPrompts(dir string) (Prompts, error) {
	p := DefaultPrompts()
	found := false
	for _, x := range []struct {
		name string
		to   *string
	}{{PlainFile, &p.Plain}, {ChatFile, &p.Chat}} {
		name, to := x.name, x.to
		b, err := readSome(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return p, fmt.Errorf("reading prompts: %w", err)
		}
		found = true
		*to = withoutLineEnd(strings.TrimPrefix(string(b), "\xef\xbb\xbf"))
		if err := checkPrompt(*to); err != nil {
			return p, fmt.Errorf("reading prompts: %s: %w", filepath.Join(dir, name), err)
		}
	}
	if !found {
		return p, fmt.Errorf("reading prompts: %s has neither %s nor %s; modellog cuc prompts writes them, to be changed", dir, PlainFile, ChatFile)
	}
	return p, nil
}

// maxPromptBytes bounds a prompt.
const maxPromptBytes = 64 << 10

// readSome reads a file as far as is needed to see that it is too long for a prompt.
func readSome(path string) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxPromptBytes+16))
}

func checkPrompt(text string) error {
	if len(text) > maxPromptBytes || !utf8.ValidString(text) {
		return errors.New("a prompt is a text in UTF-8 of at most 64 KiB")
	}
	if err := checkText("prompt", strings.ReplaceAll(text, "\t", " ")); err != nil {
		return err
	}
	for _, hole := range []string{"{premises}", "{statement}"} {
		if !strings.Contains(text, hole) {
			return fmt.Errorf("the prompt has no %s, which each example fills", hole)
		}
	}
	return nil
}

// WritePrompts writes the prompts into a folder, which is made. Files that are there stay.
func WritePrompts(dir string, p Prompts) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing prompts: %w", err)
	}
	for _, x := range [][2]string{{PlainFile, p.Plain}, {ChatFile, p.Chat}} {
		name, text := x[0], x[1]
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("writing prompts: %s is there already; name another folder, or take it away", filepath.Join(dir, name))
		}
		if err != nil {
			return fmt.Errorf("writing prompts: %w", err)
		}
		_, err = f.WriteString(text + "\n")
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("writing prompts: %w", err)
		}
	}
	return nil
}

// digest tells one pair of prompts from another.
func (p Prompts) digest() string {
	sum := sha256.Sum256([]byte(p.Plain + "\x00" + p.Chat))
	return hex.EncodeToString(sum[:])
}

// Fill puts an example's texts into a prompt. Holes within those texts stay what they are.
func Fill(prompt, premises, statement string, f Format) string {
	return strings.NewReplacer("{premises}", premises, "{statement}", statement, "{yes}", f.Yes, "{no}", f.No).Replace(prompt)
}

// Style is which prompt a model gets.
type Style = answers.Style

// The styles.
const (
	AutoStyle  = answers.Auto  // Chat where the model has a chat template
	PlainStyle = answers.Plain // a text to continue
	ChatStyle  = answers.Chat  // a conversation
)

// asker puts questions into the form that a model reads.
type asker struct {
	*answers.Asker
	prompts Prompts
}

func newAsker(ctx context.Context, m lm.Model, p Prompts, style Style) (*asker, error) {
	a, err := answers.NewAsker(ctx, m, style, false)
	return &asker{a, p}, err
}

// question is the input for a statement.
func (a *asker) question(ctx context.Context, premises, statement string, f Format) (lm.Input, error) {
	prompt := a.prompts.Plain
	if a.Style == ChatStyle {
		prompt = a.prompts.Chat
	}
	return a.Input(ctx, Fill(prompt, premises, statement, f))
}

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
	f, err := os.Open(path)
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
type Style string

// The styles.
const (
	AutoStyle  Style = "auto"  // Chat where the model has a chat template
	PlainStyle Style = "plain" // a text to continue
	ChatStyle  Style = "chat"  // a conversation
)

// asker puts questions into the form that a model reads.
type asker struct {
	model   lm.Model
	prompts Prompts
	style   Style // PlainStyle or ChatStyle
}

// newAsker decides between the styles. A server that has a chat template and does not tell what it makes of
// a question cannot be asked in a conversation, as its answer's tokens cannot be read there.
func newAsker(ctx context.Context, m lm.Model, p Prompts, style Style) (*asker, error) {
	a := &asker{model: m, prompts: p, style: style}
	if style == PlainStyle {
		return a, nil
	}
	a.style = ChatStyle
	g, ok := m.(lm.Generator)
	var in lm.Input
	err := lm.ErrNoChatTemplate
	if ok {
		in, err = g.Input(ctx, a.request("x"))
	}
	switch {
	case err == nil && len(in.Tokens) > 0:
		return a, nil
	case style == AutoStyle && (err == nil || errors.Is(err, lm.ErrNoChatTemplate)):
		a.style = PlainStyle
		return a, nil
	case err == nil:
		return nil, fmt.Errorf("%s: the server does not tell what its chat template makes of a question, so the answer's probability cannot be read; ask with the plain prompt", m.Info().Name)
	}
	return nil, fmt.Errorf("asking %s: %w", m.Info().Name, err)
}

func (a *asker) request(message string) lm.Request {
	return lm.Request{Messages: []lm.Message{{Role: lm.User, Content: message}}, MaxTokens: 1}
}

// question is the input for a statement.
func (a *asker) question(ctx context.Context, premises, statement string, f Format) (lm.Input, error) {
	if a.style == ChatStyle {
		return a.model.(lm.Generator).Input(ctx, a.request(Fill(a.prompts.Chat, premises, statement, f)))
	}
	text := Fill(a.prompts.Plain, premises, statement, f)
	own, err := a.model.Tokenize(ctx, text)
	if err != nil {
		return lm.Input{}, err
	}
	tokens, err := lm.Prompt(a.model, own)
	return lm.Input{Text: text, Tokens: tokens}, err
}

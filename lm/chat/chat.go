// Package chat puts conversations into a model's chat template, the Jinja text
// that a model's file has for it, as Hugging Face's transformers and llama.cpp do.
//
// # What a template sees
//
// The variables messages (each with role and content), add_generation_prompt
// (true), bos_token and eos_token, and the functions raise_exception, namespace,
// range, dict and strftime_now. Blocks are trimmed as transformers have them. No
// tools and no documents are given. A template that asks for the date is told that
// it is 26 July 2024, the date that those of Llama have for programs that cannot
// tell, so that a prompt is the same on every day.
//
// Gonja interprets the Jinja. Where it does so otherwise than Jinja (conditional
// expressions within others, white space before statements, items counted from the
// end, methods of texts), the template is rewritten before or the method replaced;
// what it does not know is an error and not another prompt.
//
// # Special tokens
//
// A special token's name in the template is the special token. In a message it is
// text, however the template puts the two together ([Template.Input]), so that
// nobody's text can end its own turn and begin another's.
//
// # Trust
//
// A template comes with a file from anywhere. It reads no files: there are no
// statements that would. Its length, the length of each of its tags, the time it
// takes, the depth to which it calls itself, what it writes and each value that it
// makes on the way are bounded, and what goes wrong in the interpreter is an error.
package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
	"github.com/nikolalohinski/gonja/v2/parser"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/tokens"
)

// MaxSource is the longest template that is read, in bytes; the longest in use
// have some 20 thousand.
const MaxSource = 64 << 10

const (
	maxTag      = 256             // tokens between {{ and }}
	maxMessages = 16 << 20        // bytes of a conversation
	maxTime     = 5 * time.Second // of a rendering
	maxDepth    = 64              // of macros that call each other
	maxItems    = 100_000         // of a list, and of a range
	ownSize     = 1 << 20         // bytes of a value, besides twice those of the messages
)

// RefusalError is a template's own refusal, by raise_exception: of a system's
// message, say, or of two messages of the user's in a row.
type RefusalError struct {
	Reason string
}

func (e *RefusalError) Error() string {
	return fmt.Sprintf("the model's chat template refuses the conversation: %s", e.Reason)
}

// Template is a chat template. It is immutable, and may be used from several
// goroutines.
type Template struct {
	source string
}

// Parse checks a template.
func Parse(source string) (*Template, error) {
	if len(source) > MaxSource {
		return nil, fmt.Errorf("the model's chat template has %d bytes, and at most %d are read", len(source), MaxSource)
	}
	if !utf8.ValidString(source) {
		return nil, errors.New("the model's chat template is no valid UTF-8; fetch the model's file again")
	}
	t := &Template{source: source}
	if _, err := t.program(&run{ctx: context.Background(), limit: ownSize, until: time.Now().Add(maxTime)}); err != nil {
		return nil, fmt.Errorf("the model's chat template cannot be used: %w", err)
	}
	return t, nil
}

// String returns the template's source.
func (t *Template) String() string { return t.source }

// jinja is how transformers configure Jinja.
func jinja() *config.Config {
	c := config.New()
	c.TrimBlocks = true
	return c // lex has the other half, lstrip_blocks, as Jinja does it
}

// Values are what a template is told besides the conversation.
type Values struct {
	BOS, EOS string // the names of the special tokens; may be empty
}

// Render writes a conversation as the template has it, ready for the assistant's
// next words. The result is text, in which a message may spell a special token.
func (t *Template) Render(ctx context.Context, messages []lm.Message, v Values) (text string, err error) {
	size := 0
	list := make([]any, len(messages))
	for i, m := range messages {
		size += len(m.Content)
		list[i] = map[string]any{"role": string(m.Role), "content": m.Content}
	}
	if size > maxMessages {
		return "", fmt.Errorf("the messages have %d bytes, and at most %d are rendered; shorten them", size, maxMessages)
	}
	r := &run{ctx: ctx, limit: ownSize + 2*size, until: time.Now().Add(maxTime)}
	p, err := t.program(r)
	if err != nil {
		return "", err
	}
	return p.execute(map[string]any{
		"messages":              list,
		"add_generation_prompt": true,
		"bos_token":             v.BOS,
		"eos_token":             v.EOS,
	})
}

// program is a template made ready for one rendering, since the limits are
// watched by what the interpreter is given to call.
type program struct {
	*run
	renderer *exec.Renderer
}

// program parses the template for a run.
func (t *Template) program(r *run) (p *program, err error) {
	defer recovered(&err)
	cfg := jinja()
	list, err := lex(t.source, cfg)
	if err != nil {
		return nil, err
	}
	structures := r.structures()
	const name = "/template"
	loader, err := loaders.NewMemoryLoader(map[string]string{name: ""})
	if err != nil {
		return nil, err
	}
	root, err := parser.NewParser(name, stream(list), cfg, loader, structures).Parse()
	if err != nil {
		return nil, plain(err)
	}
	environment := r.environment(structures)
	// The interpreter asks its template for a loader and for nothing else.
	empty, err := exec.NewTemplate(name, cfg, loader, environment)
	if err != nil {
		return nil, plain(err)
	}
	p = &program{run: r, renderer: &exec.Renderer{
		Config: cfg, Environment: environment, Loader: loader, Template: empty, RootNode: root, Output: r,
	}}
	return p, nil
}

func (p *program) execute(variables map[string]any) (text string, err error) {
	defer recovered(&err)
	p.renderer.Environment.Context.Update(exec.NewContext(variables))
	if err = p.renderer.Execute(); err == nil {
		err = p.check()
	}
	switch {
	case p.stopped != nil:
		return "", p.stopped // rather than what the interpreter made of it
	case err != nil:
		return "", fmt.Errorf("rendering the model's chat template: %w", plain(err))
	case !utf8.ValidString(p.output.String()):
		return "", errors.New("the model's chat template cuts characters apart")
	}
	return p.output.String(), nil
}

// recovered makes an error of a panic.
func recovered(err *error) {
	if r := recover(); r != nil {
		if stop, ok := r.(*stop); ok {
			*err = stop.err
			return
		}
		*err = fmt.Errorf("the interpreter failed on the model's chat template (%v)", r)
	}
}

// plain shortens an error of the interpreter's, which repeats itself on each level
// and may hold the whole template.
func plain(err error) error {
	const most = 300
	s := strings.Join(strings.Fields(err.Error()), " ")
	if len(s) > most {
		s = strings.ToValidUTF8("…"+s[len(s)-most:], "")
	}
	return errors.New(s)
}

// Input puts a conversation into the template and tokenises it: special tokens'
// names in the template become the tokens, those in the messages stay text. A
// beginning-of-sequence token is put in front where the metadata ask for it and the
// template has not done so.
func (t *Template) Input(ctx context.Context, tok *tokens.Tokenizer, messages []lm.Message) (lm.Input, error) {
	mark, err := unused(t.source, messages)
	if err != nil {
		return lm.Input{}, err
	}
	marked := slices.Clone(messages)
	for i := range marked {
		marked[i].Content = tok.Mark(marked[i].Content, mark)
	}
	bos, eos := tok.Names()
	text, err := t.Render(ctx, marked, Values{BOS: bos, EOS: eos})
	if err != nil {
		return lm.Input{}, err
	}
	ids, err := tok.EncodeExcept(text, mark)
	if err != nil {
		return lm.Input{}, fmt.Errorf("tokenising the rendered conversation: %w", err)
	}
	if tok.AddBOS() && (len(ids) == 0 || ids[0] != tok.BOS()) {
		ids = append([]lm.Token{tok.BOS()}, ids...)
	}
	if len(ids) == 0 {
		return lm.Input{}, errors.New("the model's chat template makes nothing of the conversation")
	}
	return lm.Input{Text: strings.ReplaceAll(text, string(mark), ""), Tokens: ids}, nil
}

// unused returns a character that stands in no message and not in the template:
// one of those that Unicode keeps for a program's own use.
func unused(source string, messages []lm.Message) (rune, error) {
	for r := rune(0xfdd0); r <= 0xfdef; r++ {
		if !strings.ContainsRune(source, r) && !slices.ContainsFunc(messages, func(m lm.Message) bool { return strings.ContainsRune(m.Content, r) }) {
			return r, nil
		}
	}
	return 0, errors.New("the messages have all of the characters U+FDD0 to U+FDEF, which are for a program's own use; leave one out")
}

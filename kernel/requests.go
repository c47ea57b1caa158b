package kernel

import (
	"encoding/json"
	"go/scanner"
	"go/token"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/modellog/modellog/kernel/wire"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lang/syntax"
)

// FileExtension is that of a program of the constraint language.
const FileExtension = ".logic"

// info is the content of a kernel_info_reply.
func (k *Kernel) info() map[string]any {
	return map[string]any{
		"status":                 "ok",
		"protocol_version":       wire.Version,
		"implementation":         "modellog",
		"implementation_version": k.o.Version,
		"banner":                 "modellog " + k.o.Version + " · what a language model should believe, as logic · %help explains, %%go in a cell's first line makes it Go",
		"language_info": map[string]any{
			"name":           "modellog",
			"version":        k.o.Version,
			"mimetype":       "text/x-modellog",
			"file_extension": FileExtension,
			// Comments, texts, numbers, calls and the words of the
			// connectives look the same in Python.
			"pygments_lexer":  "python",
			"codemirror_mode": "python",
			"go_version":      runtime.Version(),
		},
		"help_links": []map[string]string{
			{"text": "modellog", "url": "https://github.com/modellog/modellog"},
			{"text": "The constraint language", "url": "https://github.com/modellog/modellog/blob/main/lang/REFERENCE.md"},
			{"text": "GoNB, for Go cells", "url": "https://github.com/janpfeifer/gonb"},
		},
		"debugger": false,
	}
}

// cursorRequest is the content of a complete_request or inspect_request.
type cursorRequest struct {
	Code   string `json:"code"`
	Cursor *int   `json:"cursor_pos"` // code points; the end by default
}

// cursor reads such a request. The cursor is within the code, also that of a
// front-end that counts in UTF-16.
func cursor(m *wire.Message) (code string, runes []rune, pos int) {
	var r cursorRequest
	// A request that cannot be read is one about nothing.
	_ = json.Unmarshal(m.Content, &r)
	runes = []rune(r.Code)
	pos = len(runes)
	if r.Cursor != nil {
		pos = min(max(*r.Cursor, 0), len(runes))
	}
	return r.Code, runes, pos
}

// complete answers a complete_request.
func (k *Kernel) complete(m *wire.Message) {
	code, runes, pos := cursor(m)
	if isGo(code) {
		k.reply(k.sockets.Shell, m, "complete_reply", k.goCells.complete(m, runes, pos))
		return
	}
	start, candidates := k.session.Complete(code, pos)
	matches, types := []string{}, []map[string]any{}
	for _, c := range candidates {
		matches = append(matches, c.Text)
		types = append(types, map[string]any{"start": start, "end": pos, "text": c.Text, "type": c.Kind, "signature": c.Doc})
	}
	if pos <= len("%%go") && strings.HasPrefix("%%go", string(runes[:pos])) && pos > 0 && pos == len(runes) {
		start = 0
		matches = append(matches, "%%go")
		types = append(types, map[string]any{"start": 0, "end": pos, "text": "%%go", "type": "command", "signature": "makes this a Go cell"})
	}
	k.reply(k.sockets.Shell, m, "complete_reply", map[string]any{
		"status": "ok", "matches": matches, "cursor_start": min(start, pos), "cursor_end": pos,
		"metadata": map[string]any{"_jupyter_types_experimental": types},
	})
}

// inspect answers an inspect_request: what the word at the cursor is.
func (k *Kernel) inspect(m *wire.Message) {
	code, runes, pos := cursor(m)
	if isGo(code) {
		k.reply(k.sockets.Shell, m, "inspect_reply", k.goCells.inspect(m, runes, pos))
		return
	}
	data := map[string]any{}
	if text := k.explain(runes, pos); text != "" {
		data["text/plain"] = text
	}
	k.reply(k.sockets.Shell, m, "inspect_reply", map[string]any{
		"status": "ok", "found": len(data) > 0, "data": data, "metadata": map[string]any{},
	})
}

// explain says what the word or sign at a position is. Inside of a call's parentheses
// that is the function, as front-ends ask for its usage there.
func (k *Kernel) explain(runes []rune, pos int) string {
	if word, end := wordAt(runes, pos); word != "" {
		if text := k.explainWord(runes, word, end); text != "" {
			return text
		}
	}
	depth := 0
	for i := pos - 1; i >= 0 && runes[i] != '\n'; i-- {
		switch runes[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth < 0 {
				if word, end := wordAt(runes, i); word != "" {
					return k.explainWord(runes, word, end)
				}
				return ""
			}
		}
	}
	return ""
}

func (k *Kernel) explainWord(runes []rune, word string, end int) string {
	if text, ok := lang.Help(word); ok {
		return text
	}
	// What the user has defined is known to completion.
	_, candidates := k.session.Complete(string(runes[:end]), end)
	for _, c := range candidates {
		if c.Text == word || c.Text == word+"(" {
			return strings.TrimSpace(c.Kind + "\n" + c.Doc)
		}
	}
	return ""
}

// signs are the characters of connectives.
const signs = "<->|^&!~↔→∨⊕∧¬"

// wordAt returns the name, command or connective at a position or just before it,
// and where it ends.
func wordAt(runes []rune, pos int) (string, int) {
	for _, in := range []func(rune) bool{
		func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) },
		func(r rune) bool { return strings.ContainsRune(signs, r) },
	} {
		start, end := pos, pos
		for start > 0 && in(runes[start-1]) {
			start--
		}
		for end < len(runes) && in(runes[end]) {
			end++
		}
		if start == end {
			continue
		}
		if start > 0 && runes[start-1] == '%' {
			start--
		}
		return string(runes[start:end]), end
	}
	return "", pos
}

// isComplete answers an is_complete_request.
func (k *Kernel) isComplete(m *wire.Message) {
	var r struct {
		Code string `json:"code"`
	}
	// A request that cannot be read asks about nothing, which is complete.
	_ = json.Unmarshal(m.Content, &r)
	answer := map[string]any{"status": "complete"}
	switch {
	case isGo(r.Code):
		if !goComplete(r.Code) {
			answer = map[string]any{"status": "incomplete", "indent": ""}
		}
	case lang.Incomplete(r.Code):
		answer = map[string]any{"status": "incomplete", "indent": "  "}
	default:
		if _, err := syntax.Parse("", r.Code); err != nil {
			answer = map[string]any{"status": "invalid"}
		}
	}
	k.reply(k.sockets.Shell, m, "is_complete_reply", answer)
}

// goComplete reports whether a Go cell typed at a prompt is complete: all its
// brackets are closed and an empty line ends it.
func goComplete(code string) bool {
	_, body, ok := strings.Cut(strings.TrimLeftFunc(code, unicode.IsSpace), "\n")
	if !ok || strings.TrimSpace(body) == "" || !strings.HasSuffix(strings.TrimRight(body, " \t"), "\n") {
		return false
	}
	lines := strings.Split(body, "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "%") || strings.HasPrefix(l, "!")
	})
	src := []byte(strings.Join(lines, "\n"))
	fset := token.NewFileSet()
	var s scanner.Scanner
	unfinished := false
	s.Init(fset.AddFile("", fset.Base(), len(src)), src, func(_ token.Position, msg string) {
		unfinished = unfinished || strings.HasSuffix(msg, "not terminated")
	}, 0)
	depth := 0
	for {
		_, tok, _ := s.Scan()
		switch tok {
		case token.EOF:
			return depth <= 0 && !unfinished
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
		}
	}
}

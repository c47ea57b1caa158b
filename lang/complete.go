package lang

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/modellog/modellog/lang/syntax"
)

// Candidate is a way to complete what has been typed.
type Candidate struct {
	Text string // what replaces the text from start to the cursor
	Kind string // "event", "formula", "schema", "ladder", "hole", "function", "keyword", "command", "model", "file", "folder", "method", "topic", "plot"
	Doc  string // one line about it; may be empty
}

// Complete completes the word that ends at pos. Positions count code points.
// It returns where the word starts, and what it could become: names,
// functions, commands, topics after %help, methods after %calibration, models after
// %model, files after %load, %run and %save. There is nothing to complete inside a text in
// quotes or a comment.
func (s *Session) Complete(src string, pos int) (start int, candidates []Candidate) {
	runes := []rune(src)
	pos = min(max(pos, 0), len(runes))
	before := runes[:pos]
	line := before
	for i := pos - 1; i >= 0; i-- {
		if before[i] == '\n' || before[i] == '\r' {
			line = before[i+1:]
			break
		}
	}
	offset := pos - len(line)

	text := strings.TrimLeftFunc(string(line), unicode.IsSpace)
	if strings.HasPrefix(text, "%") {
		indent := len(line) - len([]rune(text))
		start, candidates = s.completeCommand([]rune(text))
		return offset + indent + start, candidates
	}
	start, candidates = s.completeFormula(line)
	return offset + start, candidates
}

// wordStart is where the name that ends a line starts.
func wordStart(line []rune) int {
	i := len(line)
	for i > 0 && isWordRune(line[i-1]) {
		i--
	}
	return i
}

func isWordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || '₀' <= r && r <= '₉'
}

// inText reports whether a line ends inside a text in quotes or a comment.
func inText(line []rune) bool {
	quote := rune(0)
	for i := 0; i < len(line); i++ {
		switch r := line[i]; {
		case quote != 0 && r == '\\':
			i++
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == 0 && r == '#':
			return true
		}
	}
	return quote != 0
}

// completeFormula completes the name at the end of a line that is no command.
func (s *Session) completeFormula(line []rune) (int, []Candidate) {
	start := wordStart(line)
	if inText(line) || start < len(line) && unicode.IsDigit(line[start]) {
		return len(line), nil
	}
	return start, s.completeNames(string(line[start:]), string(line[:start]))
}

// completeNames lists the names, functions and words that start with a prefix. What stands before
// the word tells a schema's holes.
func (s *Session) completeNames(prefix, before string) []Candidate {
	var out []Candidate
	if head, _, ok := strings.Cut(before, "="); ok {
		if _, holes, ok := strings.Cut(head, "("); ok {
			for _, h := range strings.FieldsFunc(holes, func(r rune) bool { return !isWordRune(r) }) {
				if strings.HasPrefix(h, prefix) && syntax.IsName(h) {
					out = append(out, Candidate{h, "hole", "a hole of this schema"})
				}
			}
		}
	}
	s.mu.RLock()
	for _, name := range s.order {
		if d := s.names[name]; strings.HasPrefix(name, prefix) {
			text := name
			if d.params != nil {
				text += "("
			}
			out = append(out, Candidate{text, d.kind(), cutRight(d.head()+" = "+syntax.Format(d.body, syntax.Unicode), 100)})
		}
	}
	s.mu.RUnlock()
	for _, f := range functions {
		if strings.HasPrefix(f.name, prefix) {
			out = append(out, Candidate{f.name + "(", "function", f.usage + "  " + f.doc})
		}
	}
	for _, k := range syntax.Keywords() {
		if strings.HasPrefix(k, prefix) && prefix != "" {
			out = append(out, Candidate{k, "keyword", ""})
		}
	}
	return out
}

// completeCommand completes a line that starts with "%".
func (s *Session) completeCommand(line []rune) (int, []Candidate) {
	nameEnd := slices.IndexFunc(line, unicode.IsSpace)
	if nameEnd < 0 {
		var out []Candidate
		for _, c := range commands() {
			if strings.HasPrefix("%"+c.name, string(line)) {
				out = append(out, Candidate{"%" + c.name, "command", c.usage + "  " + c.doc})
			}
		}
		return 0, out
	}
	name, rest := string(line[1:nameEnd]), line[nameEnd:]
	if name == "time" {
		start, out := s.Complete(string(rest), len(rest))
		return nameEnd + start, out
	}

	// The word that the cursor is in, and how many come before it.
	start, index, quote := nameEnd, 0, rune(0)
	inWord := false
	for i := nameEnd; i < len(line); i++ {
		r := line[i]
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
		case unicode.IsSpace(r):
			if inWord {
				index++
			}
			inWord = false
			start = i + 1
		case (r == '"' || r == '\'') && line[i-1] == '=':
			quote = r
		case !inWord && (r == '"' || r == '\''):
			quote, inWord, start = r, true, i
		default:
			inWord = true
		}
	}
	word := string(line[start:])
	switch {
	case name == "model" && index == 0:
		return start, s.completeModels(word)
	case name == "calibration" && index == 0:
		return start, only(word, "method", methods()...)
	case name == "help" && index == 0:
		return start, only(word, "topic", topicNames()...)
	case name == "run" && index == 0:
		return start, s.completeSchemas(word)
	case (name == "load" || name == "save") && index == 0 || name == "run" && index == 1:
		return start, s.completeFiles(word)
	case name == "plot" && index == 0:
		return start, only(word, "plot", plotKinds()...)
	case name == "table" && quote == 0 || name == "plot" && strings.HasPrefix(strings.TrimSpace(string(rest)), "scaling") && quote == 0:
		return start, append(s.completeSchemas(word), s.completeFiles(word)...)
	case name == "calc" && quote == 0:
		at, out := s.completeFormula(line)
		return at, append(out, only(string(line[at:]), "function", syntax.NumericFunctions()...)...)
	case name == "plot" && quote == 0:
		at, out := s.completeFormula(line)
		return at, out
	}
	return len(line), nil
}

// completeSchemas lists the schemas that start with a prefix, by their names alone.
func (s *Session) completeSchemas(prefix string) []Candidate {
	var out []Candidate
	for _, c := range s.completeNames(prefix, "") {
		if c.Kind == "schema" {
			c.Text = strings.TrimSuffix(c.Text, "(")
			out = append(out, c)
		}
	}
	return out
}

// only lists those of some words that start with a prefix.
func only(prefix, kind string, words ...string) []Candidate {
	var out []Candidate
	for _, w := range words {
		if strings.HasPrefix(w, prefix) {
			out = append(out, Candidate{Text: w, Kind: kind})
		}
	}
	return out
}

// completeModels lists models, unless looking for them takes too long.
func (s *Session) completeModels(prefix string) []Candidate {
	if s.opts.ModelNames == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	names, err := s.opts.ModelNames(ctx)
	if err != nil {
		return nil
	}
	var out []Candidate
	for _, n := range names {
		if strings.HasPrefix(n.Name, prefix) {
			out = append(out, Candidate{n.Name, "model", strings.TrimSpace(n.Backend + " " + n.Detail)})
		}
	}
	return out
}

// maxFiles is how many files a completion lists.
const maxFiles = 500

// completeFiles lists the files and folders that a path could go on to.
func (s *Session) completeFiles(word string) []Candidate {
	quote := ""
	if word != "" && (word[0] == '"' || word[0] == '\'') {
		quote, word = word[:1], word[1:]
	}
	dir, base := filepath.Split(word)
	path, err := s.abs(dir, s.opts.Dir)
	if err != nil {
		return nil
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	var out []Candidate
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && base == "" {
			continue
		}
		if len(out) == maxFiles {
			break
		}
		c := Candidate{Text: dir + name, Kind: "file"}
		if st, err := os.Stat(filepath.Join(path, name)); err == nil && st.IsDir() {
			c.Text, c.Kind = c.Text+string(filepath.Separator), "folder"
		}
		// A name that would not be one word goes into quotes.
		q := quote
		if q == "" && strings.ContainsFunc(c.Text, func(r rune) bool { return unicode.IsSpace(r) || r == ';' || r == '#' || r == '"' || r == '\'' }) {
			q = `"`
		}
		if q != "" {
			c.Text = q + strings.NewReplacer(`\`, `\\`, q, `\`+q).Replace(c.Text)
			if c.Kind == "file" {
				c.Text += q
			}
		}
		out = append(out, c)
	}
	return out
}

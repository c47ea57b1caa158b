package chat

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nikolalohinski/gonja/v2/config"
	jinja2 "github.com/nikolalohinski/gonja/v2/tokens"
)

// lex splits a template into tokens, refuses what is out of bounds, and rewrites
// what Gonja's parser would not understand.
func lex(source string, cfg *config.Config) ([]*jinja2.Token, error) {
	s := jinja2.LexAll(source, cfg)
	var out, tag []*jinja2.Token
	inTag := false
	for ; ; s.Next() {
		t := s.Current()
		switch {
		case t == nil:
			return out, errors.New("it ends within a tag")
		case t.Type == jinja2.Error:
			return nil, fmt.Errorf("line %d: %s", t.Line, plain(errors.New(t.Val)))
		case t.Type == jinja2.Whitespace:
		case t.Type == jinja2.BlockBegin || t.Type == jinja2.VariableBegin || t.Type == jinja2.CommentBegin:
			if t.Type != jinja2.VariableBegin && !strings.HasSuffix(t.Val, "+") {
				out = stripBefore(out, source)
			}
			inTag, tag = t.Type != jinja2.CommentBegin, nil
			out = append(out, t)
		case t.Type == jinja2.BlockEnd || t.Type == jinja2.VariableEnd:
			inTag = false
			out = append(out, expression(tag, t.Type == jinja2.BlockEnd)...)
			out = append(out, t)
		case inTag && t.Type != jinja2.EOF:
			// Multiplying a text by a number is the one thing that makes
			// much out of little.
			if t.Type == jinja2.Multiply || t.Type == jinja2.Power {
				return nil, fmt.Errorf("line %d: it multiplies, which is not supported", t.Line)
			}
			if tag = append(tag, t); len(tag) > maxTag {
				return nil, fmt.Errorf("line %d: a tag has more than %d parts", t.Line, maxTag)
			}
		default:
			out = append(out, t)
		}
		if t.Type == jinja2.EOF {
			if inTag {
				return nil, errors.New("it ends within a tag")
			}
			return out, nil
		}
	}
}

// stripBefore takes the white space between the beginning of a line and a statement
// away, and none that follows something else in the line.
func stripBefore(list []*jinja2.Token, source string) []*jinja2.Token {
	if len(list) == 0 || list[len(list)-1].Type != jinja2.Data {
		return list
	}
	t := list[len(list)-1]
	line := strings.LastIndexByte(t.Val, '\n') + 1
	if strings.Trim(t.Val[line:], " \t") != "" || line == 0 && t.Pos > 0 && source[t.Pos-1] != '\n' {
		return list
	}
	if line == 0 {
		return list[:len(list)-1]
	}
	short := *t
	short.Val = t.Val[:line]
	return append(list[:len(list)-1], &short)
}

func stream(list []*jinja2.Token) *jinja2.Stream { return jinja2.NewStream(list) }

// expression rewrites the inside of a tag.
func expression(tag []*jinja2.Token, block bool) []*jinja2.Token {
	if block && len(tag) > 0 {
		// The first word is the statement's. What is an if in a for is
		// another thing.
		if tag[0].Val == "for" {
			return append(tag[:1:1], brackets(tag[1:])...)
		}
		return append(tag[:1:1], parts(tag[1:])...)
	}
	return parts(tag)
}

// parts rewrites expressions that commas, colons or equals signs part.
func parts(list []*jinja2.Token) (out []*jinja2.Token) {
	depth, start := 0, 0
	for i, t := range list {
		depth += nesting(t)
		if depth == 0 && (t.Type == jinja2.Comma || t.Type == jinja2.Colon || t.Type == jinja2.Assign) {
			out = append(append(out, conditional(list[start:i])...), t)
			start = i + 1
		}
	}
	return append(out, conditional(list[start:])...)
}

// conditional rewrites "a if c else b", which Gonja's parser knows only where it
// is the whole of a tag, as "((c) and [a] or [b])[0]".
func conditional(list []*jinja2.Token) []*jinja2.Token {
	find := func(word string, from int) int {
		depth := 0
		for i := from; i < len(list); i++ {
			depth += nesting(list[i])
			if depth == 0 && list[i].Type == jinja2.Name && list[i].Val == word {
				return i
			}
		}
		return -1
	}
	at := find("if", 0)
	if at <= 0 || at == len(list)-1 {
		return brackets(list)
	}
	a, c, b := list[:at], list[at+1:], []*jinja2.Token(nil)
	end := find("else", at+1)
	if end >= 0 {
		c, b = list[at+1:end], list[end+1:]
	}
	if len(c) == 0 || end >= 0 && len(b) == 0 {
		return brackets(list) // for the parser to complain about
	}
	mark := func(kind jinja2.Type, val string) *jinja2.Token {
		t := *list[at]
		t.Type, t.Val = kind, val
		return &t
	}
	if end < 0 {
		b = []*jinja2.Token{mark(jinja2.Name, "None")}
	}
	out := []*jinja2.Token{mark(jinja2.LeftParenthesis, "("), mark(jinja2.LeftParenthesis, "(")}
	out = append(out, brackets(c)...)
	out = append(out, mark(jinja2.RightParenthesis, ")"), mark(jinja2.And, "and"), mark(jinja2.LeftBracket, "["))
	out = append(out, brackets(a)...)
	out = append(out, mark(jinja2.RightBracket, "]"), mark(jinja2.Or, "or"), mark(jinja2.LeftBracket, "["))
	out = append(out, conditional(b)...)
	return append(out, mark(jinja2.RightBracket, "]"), mark(jinja2.RightParenthesis, ")"),
		mark(jinja2.LeftBracket, "["), mark(jinja2.Integer, "0"), mark(jinja2.RightBracket, "]"))
}

// brackets rewrites what stands in brackets.
func brackets(list []*jinja2.Token) (out []*jinja2.Token) {
	depth, start := 0, 0
	for i, t := range list {
		before := depth
		depth += nesting(t)
		switch {
		case before == 0 && depth > 0:
			out, start = append(out, t), i+1
		case before > 0 && depth == 0:
			inner := list[start:i]
			if t.Type == jinja2.RightBracket && len(inner) == 2 && inner[0].Type == jinja2.Subtraction && inner[1].Type == jinja2.Integer && isItem(list[:start-1]) {
				out = append(out, fromEnd(inner)...)
			} else {
				out = append(out, parts(inner)...)
			}
			out = append(out, t)
		case before == 0:
			out = append(out, t)
		}
	}
	if depth > 0 {
		out = append(out, list[start:]...)
	}
	return out
}

// isItem says whether a bracket after these tokens is for an item of what they name,
// and does not begin a list.
func isItem(list []*jinja2.Token) bool {
	if len(list) == 0 {
		return false
	}
	switch list[len(list)-1].Type {
	case jinja2.Name, jinja2.String, jinja2.RightParenthesis, jinja2.RightBracket:
		return true
	}
	return false
}

// fromEnd writes an item counted from the end, x[-2], as x[::-1][1]: Gonja does not
// find the first one that way.
func fromEnd(inner []*jinja2.Token) []*jinja2.Token {
	n, err := strconv.Atoi(inner[1].Val)
	if err != nil || n < 1 {
		return inner
	}
	mark := func(kind jinja2.Type, val string) *jinja2.Token {
		t := *inner[0]
		t.Type, t.Val = kind, val
		return &t
	}
	one := *inner[1]
	one.Val = "1"
	return []*jinja2.Token{
		mark(jinja2.Colon, ":"), mark(jinja2.Colon, ":"), inner[0], &one, mark(jinja2.RightBracket, "]"),
		mark(jinja2.LeftBracket, "["), mark(jinja2.Integer, strconv.Itoa(n-1)),
	}
}

func nesting(t *jinja2.Token) int {
	switch t.Type {
	case jinja2.LeftParenthesis, jinja2.LeftBracket, jinja2.LeftBrace:
		return 1
	case jinja2.RightParenthesis, jinja2.RightBracket, jinja2.RightBrace:
		return -1
	}
	return 0
}

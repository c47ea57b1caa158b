package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Source is a program's text with the name that its messages carry.
type Source struct {
	Path string // file name, or "" at a prompt
	text string
}

// region is a part of a source that is read by itself.
type region struct {
	start Pos
	end   int // byte offset
}

// Error is a mistake in a program, with its place.
type Error struct {
	Path       string // file name, or "" at a prompt
	Start, End Pos    // what is wrong; End is just after it
	Msg        string // what is wrong and how to mend it
	Err        error  // what caused it, or nil

	line string // the line in question, cut to the neighbourhood of the mistake
	from int32  // column of line's first code point
	cut  bool   // line's end was cut off
}

// Error returns "FILE:LINE:COL: message", or "LINE:COL: message" where there
// is no file.
func (e *Error) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%d:%d: %s", e.Start.Line, e.Start.Col, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Start.Line, e.Start.Col, e.Msg)
}

func (e *Error) Unwrap() error { return e.Err }

// Lines returns the line with the mistake, and a line with carets under it, each at
// most width columns wide (80 for width ≤ 0). Tabs are shown as four spaces
// and characters that would move the cursor as "·".
func (e *Error) Lines(width int) (line, carets string) {
	if width <= 0 {
		width = 80
	}
	width = max(width, 20)

	// One cell for each code point: what is shown, and how wide.
	type cell struct {
		text  string
		width int
	}
	var cells []cell
	for _, r := range e.line {
		switch w := runewidth.RuneWidth(r); {
		case r == '\t':
			cells = append(cells, cell{"    ", 4})
		case r == utf8.RuneError || r < ' ' || r == 0x7f:
			cells = append(cells, cell{"·", 1})
		default:
			cells = append(cells, cell{string(r), w})
		}
	}
	first := min(max(int(e.Start.Col-e.from), 0), len(cells))
	last := len(cells)
	if e.End.Line == e.Start.Line {
		last = min(max(int(e.End.Col-e.from), first), len(cells))
	}

	sum := func(cs []cell) (n int) {
		for _, c := range cs {
			n += c.width
		}
		return n
	}
	// Cut what does not fit: first on the left until the caret is
	// in the left half, then on the right.
	left, right := 0, len(cells)
	if sum(cells) > width || e.from > 1 || e.cut {
		for left < first && sum(cells[left:first]) > width/2 {
			left++
		}
		n := 0
		for i := left; i < len(cells); i++ {
			if n += cells[i].width; n > width-2 {
				right = i
				break
			}
		}
	}
	var l, c strings.Builder
	if left > 0 || e.from > 1 {
		l.WriteString("…")
		c.WriteString(" ")
	}
	for i := left; i < right; i++ {
		l.WriteString(cells[i].text)
		switch {
		case i < first:
			c.WriteString(strings.Repeat(" ", cells[i].width))
		case i < last:
			c.WriteString(strings.Repeat("^", cells[i].width))
		}
	}
	if right < len(cells) || e.cut {
		l.WriteString("…")
	}
	carets = c.String()
	if !strings.Contains(carets, "^") {
		carets += "^"
	}
	return strings.TrimRight(l.String(), " "), carets
}

// Message returns the message as Error does, broken at spaces into lines of at
// most width columns; words that are longer stay whole. With width ≤ 0 it is one line.
func (e *Error) Message(width int) string {
	text := e.Error()
	if width <= 0 || runewidth.StringWidth(text) <= width {
		return text
	}
	var b strings.Builder
	column := 0
	for i, word := range strings.Split(text, " ") {
		w := runewidth.StringWidth(word)
		switch {
		case i == 0:
		case column+1+w > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += w
	}
	return b.String()
}

// Detail returns the message with the line and the carets below it.
func (e *Error) Detail() string {
	line, carets := e.Lines(78)
	return e.Error() + "\n  " + line + "\n  " + carets
}

// maxMessage is how long a message is at most, whatever it quotes.
const maxMessage = 2000

// Errorf makes an error about a node of this source. A %w verb's operand
// becomes the cause.
func (s *Source) Errorf(n Node, format string, args ...any) *Error {
	start, end := n.Span()
	return s.errorf(start, end, format, args...)
}

func (s *Source) errorf(start, end Pos, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	e := &Error{Path: s.Path, Start: start, End: end, Msg: trim(err.Error(), maxMessage)}
	if u, ok := err.(interface{ Unwrap() error }); ok {
		e.Err = u.Unwrap()
	}
	e.line, e.from, e.cut = s.neighbourhood(start)
	return e
}

// neighbourhood returns the line around a position, of a very long line only
// the part near it.
func (s *Source) neighbourhood(p Pos) (line string, from int32, cut bool) {
	const reach = 500 // code points kept on either side
	off := min(p.off, len(s.text))
	i, from := off, p.Col
	for n := 0; i > 0 && n < reach; n++ {
		r, size := utf8.DecodeLastRuneInString(s.text[:i])
		if r == '\n' || r == '\r' || (r == bom && i == size) {
			break
		}
		i -= size
		from--
	}
	j, n := off, 0
	for j < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[j:])
		if r == '\n' || r == '\r' {
			break
		}
		if n++; n > reach {
			cut = true
			break
		}
		j += size
	}
	return s.text[i:j], from, cut
}

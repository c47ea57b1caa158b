package cuc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// The bounds of a file of examples. One that is beyond the first three is read no further; a line or a text
// that is too long is a bad row.
const (
	maxFileBytes = 256 << 20
	maxLines     = 16 << 20
	maxRows      = 1 << 20
	maxLineBytes = 4 << 20 // of a line, and of a row of a table with all its lines
	maxNameBytes = 100     // of a file without its ending, of which figures are called too
	maxTextBytes = 1 << 20 // of the premises and the two conclusions of a row together
)

// line is a line of a file, with its end. Of one that is too long there is no text. The text is the reader's own,
// until the next line is read.
type line struct {
	number int // from 1
	text   []byte
	long   bool
}

// lineReader reads a file by lines, and holds no more than one of them.
type lineReader struct {
	in    *bufio.Reader
	long  []byte // a line that the buffer has no room for
	n     int    // lines read
	bytes int64  // bytes read
}

// newLineReader leaves out a byte-order mark, and fails for one that is not of UTF-8.
func newLineReader(r io.Reader) (*lineReader, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	mark, err := in.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case string(mark) == "\xef\xbb\xbf":
		in.Discard(3)
	case bytes.HasPrefix(mark, []byte("\xff\xfe")), bytes.HasPrefix(mark, []byte("\xfe\xff")):
		return nil, errors.New("the file is in UTF-16; convert it to UTF-8")
	}
	return &lineReader{in: in}, nil
}

// next returns the next line, or io.EOF.
func (l *lineReader) next() (line, error) {
	out := line{number: l.n + 1}
	if l.n == maxLines {
		return line{}, fmt.Errorf("the file has more than %d lines, which are as many as are read; split it", maxLines)
	}
	for {
		part, err := l.in.ReadSlice('\n')
		if l.bytes += int64(len(part)); l.bytes > maxFileBytes {
			return line{}, fmt.Errorf("line %d: the file is longer than %d MiB, which is as much as is read; split it", out.number, maxFileBytes>>20)
		}
		switch {
		case out.long:
		case len(out.text)+len(part) > maxLineBytes:
			out.text, out.long = nil, true
		case out.text == nil && err == nil:
			out.text = part
		default:
			l.long = append(l.long[:len(out.text)], part...)
			out.text = l.long
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(out.text) > 0 || out.long):
			// The last line, without its end.
		case err != nil:
			return line{}, err
		}
		l.n++
		return out, nil
	}
}

// tableReader puts a table's lines together to rows.
type tableReader struct {
	lines *lineReader
	comma byte
	again []line // read before, behind a quote that was not closed
}

// errOpenQuote is of a row that does not end. The lines behind its first are read as rows of their own.
var errOpenQuote = errors.New(`a quote opens a field and is not closed, or text follows behind the closing one; write a quote within a quoted field twice`)

// errLongLine is of a line or row that is too long.
var errLongLine = fmt.Errorf("the row is longer than %d MiB", maxLineBytes>>20)

func (t *tableReader) next() (line, error) {
	if len(t.again) > 0 {
		l := t.again[0]
		t.again = t.again[1:]
		return l, nil
	}
	return t.lines.next()
}

// row returns the text of the next row that is not empty and the line it begins on. Of a row that is bad for how
// it is quoted, why says so.
func (t *tableReader) row() (text []byte, number int, why, err error) {
	first, err := t.next()
	for err == nil && !first.long && len(bytes.TrimSpace(first.text)) == 0 {
		first, err = t.next()
	}
	if err != nil {
		return nil, 0, nil, err
	}
	if first.long {
		return nil, first.number, errLongLine, nil
	}
	open, ok := t.quoted(first.text, false)
	text = first.text
	if ok && open {
		text = slices.Clone(text)
	}
	var behind []line
	for ok && open {
		l, err := t.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, nil, err
		}
		if err == nil {
			l.text = slices.Clone(l.text)
			behind = append(behind, l)
		}
		if err != nil || l.long || len(text)+len(l.text) > maxLineBytes {
			ok = false
			break
		}
		text = append(text, l.text...)
		open, ok = t.quoted(l.text, true)
	}
	if !ok {
		t.again = append(behind, t.again...)
		return nil, first.number, errOpenQuote, nil
	}
	return text, first.number, nil, nil
}

// quoted follows the quotes of a line, which begins within a quoted field or not. It reports whether the line ends
// within one, and whether the quotes stand where they may.
func (t *tableReader) quoted(text []byte, open bool) (stillOpen, ok bool) {
	text = bytes.TrimRight(text, "\r\n")
	fieldBegins := !open
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case open && c == '"' && i+1 < len(text) && text[i+1] == '"':
			i++
		case open && c == '"':
			open = false
			if i+1 < len(text) && text[i+1] != t.comma {
				return false, false
			}
		case open:
		case c == '"' && fieldBegins:
			open = true
		case c == '"':
			return false, false
		default:
			fieldBegins = c == t.comma
			continue
		}
		fieldBegins = false
	}
	return open, true
}

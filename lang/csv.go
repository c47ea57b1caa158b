package lang

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// records reads the records of a CSV or TSV file (RFC 4180), also those that it cannot use: one
// that is too long or malformed is a *rowError with the line where it begins, and the next one
// follows it. A quote that is never closed takes the rest of the file, in constant memory.
type records struct {
	b     *bufio.Reader
	comma byte
	lazy  bool // quotes within a field stand for themselves
	line  int  // lines read so far
}

// next returns a record's fields and the line where it begins. Empty lines are skipped.
func (r *records) next() ([]string, int, error) {
	const (
		fieldStart = iota
		plain
		quoted
		quoteSeen // within quotes: the end of the field, or the first of two
		skip      // to the line's end, after a mistake
	)
	var (
		fields []string
		field  []byte
		state  = fieldStart
		start  = r.line + 1
		opened int // the line of the last opening quote
		size   int
		bad    string
	)
	add := func(c byte) {
		if size++; size <= maxRow {
			field = append(field, c)
		}
	}
	endField := func() {
		fields = append(fields, string(field))
		field = field[:0]
		size++ // so that a record of commas alone has its bound too
	}
	for {
		c, err := r.b.ReadByte()
		if err != nil && err != io.EOF {
			return nil, start, err
		}
		end := err == io.EOF
		if c == '\r' && !end {
			if after, _ := r.b.Peek(1); len(after) == 0 || after[0] == '\n' {
				continue
			}
		}
		if end && state == quoted {
			why := "the quote that opens here is never closed"
			if opened != start {
				why = fmt.Sprintf("the quote that opens at line %d is never closed", opened)
			}
			return nil, start, &rowError{start, why}
		}
		if end || c == '\n' && state != quoted {
			if !end {
				r.line++
			}
			if state == fieldStart && len(fields) == 0 {
				if end {
					return nil, start, io.EOF
				}
				start = r.line + 1
				continue
			}
			endField()
			switch {
			case bad != "":
				return nil, start, &rowError{start, bad}
			case size > maxRow:
				return nil, start, &rowError{start, fmt.Sprintf("it is longer than %d KB", maxRow>>10)}
			}
			return fields, start, nil
		}
		switch state {
		case fieldStart, plain:
			switch {
			case c == r.comma:
				if size <= maxRow {
					endField()
				}
				state = fieldStart
			case c == '"' && state == fieldStart:
				state, opened = quoted, r.line+1
			case c == '"' && !r.lazy:
				bad, state = "a quote stands within a field that does not begin with one; put the field in quotes, and double those in it", skip
			default:
				add(c)
				state = plain
			}
		case quoted:
			switch c {
			case '"':
				state = quoteSeen
			case '\n':
				r.line++
				add(c)
			default:
				add(c)
			}
		case quoteSeen:
			switch {
			case c == '"':
				add(c)
				state = quoted
			case c == r.comma:
				if size <= maxRow {
					endField()
				}
				state = fieldStart
			case r.lazy:
				add('"')
				add(c)
				state = quoted
			default:
				bad, state = "text follows a closing quote; double the quotes within a field", skip
				if opened <= r.line {
					bad = fmt.Sprintf("the quote that opens at line %d ends at line %d, where text follows it; it may not have been closed", opened, r.line+1)
				}
			}
		}
	}
}

// csvRows reads records. If one of the first one's fields is a hole's name it is a header: it must
// name each hole once, and columns are found by name. Otherwise columns are the holes in
// their order. Each record has as many fields as the first.
func csvRows(b *bufio.Reader, comma byte, holes []string) (next func() ([]string, int, error), columns string, err error) {
	in := &records{b: b, comma: comma, lazy: comma == '\t'}
	first, line, err := in.next()
	if err == io.EOF {
		return func() ([]string, int, error) { return nil, 0, io.EOF }, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("its first row cannot be read: %w", err)
	}
	at, header, err := readHeader(first, holes)
	if err != nil {
		return nil, "", err
	}
	columns = byPosition
	if header {
		columns = byName
	} else if len(first) != len(holes) {
		return nil, "", fmt.Errorf("its columns are %s, and the schema needs %s", strings.Join(quoteAll(first), ", "), strings.Join(quoteAll(holes), ", "))
	}
	pending := !header
	return func() ([]string, int, error) {
		record, l := first, line
		if !pending {
			var err error
			if record, l, err = in.next(); err != nil {
				return nil, l, err
			}
		}
		pending = false
		if len(record) != len(first) {
			return nil, l, &rowError{l, fmt.Sprintf("it has %s, and the first row %s", plural(len(record), "field"), count(len(first)))}
		}
		values := make([]string, len(holes))
		for i, k := range at {
			switch {
			case !utf8.ValidString(record[k]):
				return nil, l, &rowError{l, "it is not UTF-8"}
			case strings.IndexByte(record[k], 0) >= 0:
				return nil, l, &rowError{l, "it has a NUL byte, which is no text"}
			}
			values[i] = record[k]
		}
		return values, l, nil
	}, columns, nil
}

// readHeader tells whether a file's first record is a header, and where the holes' columns are.
func readHeader(first, holes []string) (at []int, header bool, err error) {
	names := make([]string, len(first))
	for i, f := range first {
		names[i] = strings.TrimSpace(f)
		header = header || slices.ContainsFunc(holes, func(h string) bool { return strings.EqualFold(h, names[i]) })
	}
	at = make([]int, len(holes))
	var missing, doubled, unknown []string
	for i, h := range holes {
		at[i] = i
		if !header {
			continue
		}
		n := 0
		for k, name := range names {
			if name == h {
				at[i] = k
				n++
			}
		}
		switch {
		case n == 0:
			missing = append(missing, h)
		case n > 1:
			doubled = append(doubled, h)
		}
	}
	if missing == nil && doubled == nil {
		return at, header, nil
	}
	for _, name := range names {
		if !slices.Contains(holes, name) && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	var wrong []string
	say := func(before string, names []string, after string) {
		if names != nil {
			wrong = append(wrong, before+strings.Join(quoteAll(names), ", ")+after)
		}
	}
	say("lacks ", missing, "")
	say("has ", doubled, " more than once")
	if missing != nil { // one of these may be meant by it
		say("has ", unknown, ", which no hole is called")
	}
	return nil, true, fmt.Errorf("its header %s; it names each of the holes %s once (if the first row is no header, put one above it)", strings.Join(wrong, " and "), strings.Join(quoteAll(holes), ", "))
}

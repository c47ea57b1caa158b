package lang

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxRow is how long a line of a data file may be in bytes.
const maxRow = 1 << 20

// rows reads a data file's rows one by one, in the order of a schema's holes.
type rows struct {
	close func() error
	next  func() (values []string, line int, err error)
	total int // an estimate of how many there are; 0 if unknown

	columns string // how columns were matched to holes: byName, byPosition; "" where each row says it
}

const (
	byName     = "name"
	byPosition = "position"
)

// rowError is a row that cannot be used; the ones after it can.
type rowError struct {
	line int
	msg  string
}

func (e *rowError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.msg) }

// openRows opens a CSV, TSV, JSONL or Parquet file, told apart by the name's ending. In text a
// byte-order mark is skipped, and lines may end in CRLF.
func openRows(path string, holes []string) (*rows, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	r := &rows{close: f.Close}
	if err := r.open(f, path, holes); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *rows) open(f *os.File, path string, holes []string) (err error) {
	ext := strings.ToLower(filepath.Ext(path))
	switch ext {
	case ".jsonl", ".ndjson", ".csv", ".tsv":
	case ".parquet":
		return r.openParquet(f, path, holes)
	default:
		return errors.New("the rows of a run are in a .csv, .tsv, .jsonl or .parquet file")
	}
	if r.total, err = countLines(f); err != nil {
		return fmt.Errorf("reading %s: %w", displayPath(path), err)
	}
	b := bufio.NewReaderSize(f, 64<<10)
	if mark, _ := b.Peek(3); string(mark) == "\xEF\xBB\xBF" {
		b.Discard(3)
	}
	if mark, _ := b.Peek(2); string(mark) == "\xFF\xFE" || string(mark) == "\xFE\xFF" {
		return fmt.Errorf("%s is in UTF-16; save it as UTF-8", displayPath(path))
	}
	switch ext {
	case ".csv":
		r.next, r.columns, err = csvRows(b, ',', holes)
	case ".tsv":
		r.next, r.columns, err = csvRows(b, '\t', holes)
	default:
		r.next = jsonRows(b, holes)
	}
	return err
}

// countLines counts a file's lines and goes back to its start.
func countLines(f *os.File) (int, error) {
	buf := make([]byte, 256<<10)
	n, last := 0, byte('\n')
	for {
		k, err := f.Read(buf)
		if k > 0 {
			n += bytes.Count(buf[:k], []byte{'\n'})
			last = buf[k-1]
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	if last != '\n' {
		n++
	}
	_, err := f.Seek(0, io.SeekStart)
	return n, err
}

// readLine returns the next line without its end; a longer line than maxRow is skipped and
// reported.
func readLine(b *bufio.Reader, line *int) ([]byte, error) {
	var text []byte
	*line++
	for long := false; ; {
		part, err := b.ReadSlice('\n')
		if !long {
			text = append(text, part...)
			long = len(text) > maxRow
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(text) == 0:
			return nil, io.EOF
		case err != nil && err != io.EOF:
			return nil, err
		case long:
			return nil, &rowError{*line, fmt.Sprintf("it is longer than %d KB", maxRow>>10)}
		}
		return bytes.TrimRight(text, "\r\n"), nil
	}
}

// jsonRows reads objects, whose fields are the holes, or arrays in the holes' order.
func jsonRows(b *bufio.Reader, holes []string) func() ([]string, int, error) {
	line := 0
	return func() ([]string, int, error) {
		var text []byte
		for len(bytes.TrimSpace(text)) == 0 {
			var err error
			if text, err = readLine(b, &line); err != nil {
				return nil, line, err
			}
		}
		bad := func(format string, args ...any) ([]string, int, error) {
			return nil, line, &rowError{line, fmt.Sprintf(format, args...)}
		}
		if !utf8.Valid(text) {
			return bad("it is not UTF-8")
		}
		raw := make([]json.RawMessage, len(holes))
		if bytes.TrimSpace(text)[0] == '[' {
			var values []json.RawMessage
			if err := json.Unmarshal(text, &values); err != nil {
				return bad("it is not JSON: %v", err)
			}
			if len(values) != len(holes) {
				return bad("it has %s, and the schema %s", plural(len(values), "value"), plural(len(holes), "hole"))
			}
			raw = values
		} else {
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(text, &fields); err != nil {
				return bad("it is not JSON: %v", err)
			}
			for i, h := range holes {
				v, ok := fields[h]
				if !ok {
					return bad("it has no field %q", h)
				}
				raw[i] = v
			}
		}
		values := make([]string, len(holes))
		for i, v := range raw {
			var s string
			var n json.Number
			switch {
			case json.Unmarshal(v, &s) == nil && v[0] == '"':
				// U+FFFD in its place would be measured as if it were the text.
				if half := unpaired(v); half != "" {
					return bad("%q has %s, half of a surrogate pair, which is no character", holes[i], half)
				}
				values[i] = s
			case json.Unmarshal(v, &n) == nil && v[0] != '"' && n != "":
				values[i] = n.String()
			default:
				return bad("%q is neither a text nor a number", holes[i])
			}
		}
		return values, line, nil
	}
}

// unpaired finds the escape of a surrogate that is not half of a pair in a JSON text.
func unpaired(text []byte) string {
	unit := func(i int) rune { // of an escape \uXXXX at i; -1 where there is none
		if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
			return -1
		}
		n, err := strconv.ParseUint(string(text[i+2:i+6]), 16, 16)
		if err != nil {
			return -1
		}
		return rune(n)
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		u := unit(i)
		switch {
		case u < 0:
			i++ // what it escapes, which may be another backslash
		case !utf16.IsSurrogate(u):
			i += 5
		case utf16.DecodeRune(u, unit(i+6)) == utf8.RuneError:
			return string(text[i : i+6])
		default:
			i += 11
		}
	}
	return ""
}

func quoteAll(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = fmt.Sprintf("%q", w)
	}
	return out
}

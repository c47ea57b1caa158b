package lang

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/modellog/modellog/internal/parquetfile"
)

// openParquet reads the columns of a Parquet file that are called as the holes. A row's
// "line" is its number, from 1.
func (r *rows) openParquet(f *os.File, path string, holes []string) (err error) {
	// The library panics on some damaged files.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading %s: it is damaged (%v)", displayPath(path), p)
		}
	}()
	file, err := parquetfile.Open(f, parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	if err != nil {
		return fmt.Errorf("reading %s: %w", displayPath(path), err)
	}
	hole := map[int]int{} // a column's index → its hole's
	var names, missing []string
	for i, h := range holes {
		leaf, ok := file.Schema().Lookup(h)
		if !ok || !leaf.Node.Leaf() || leaf.MaxRepetitionLevel > 0 {
			missing = append(missing, h)
			continue
		}
		hole[leaf.ColumnIndex] = i
	}
	if missing != nil {
		for _, field := range file.Schema().Fields() {
			names = append(names, field.Name())
		}
		return fmt.Errorf("its columns are %s, and each of the holes %s needs one of texts or numbers", strings.Join(quoteAll(names), ", "), strings.Join(quoteAll(holes), ", "))
	}
	r.total = int(min(file.NumRows(), math.MaxInt32))
	r.next = parquetRows(parquet.MultiRowGroup(file.RowGroups()...).Rows(), hole, len(holes))
	return nil
}

// parquetRows hands over a file's rows; hole tells of a column's index which hole it fills.
func parquetRows(reader parquet.RowReader, hole map[int]int, holes int) func() ([]string, int, error) {
	buffer := make([]parquet.Row, 64)
	var ready []parquet.Row
	var ended error
	line := 0
	return func() (values []string, _ int, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("row %d of the Parquet file cannot be read (%v)", line+1, p)
			}
		}()
		if len(ready) == 0 {
			if ended != nil {
				return nil, line, ended
			}
			n, err := reader.ReadRows(buffer)
			ready = buffer[:n]
			if ended = err; err != nil && err != io.EOF {
				ended = fmt.Errorf("after row %d of the Parquet file: %w", line+n, err)
			}
			if n == 0 {
				if ended == nil {
					ended = io.EOF
				}
				return nil, line, ended
			}
		}
		row := ready[0]
		ready = ready[1:]
		line++
		values = make([]string, holes)
		for _, v := range row {
			i, ok := hole[v.Column()]
			if !ok {
				continue
			}
			text, why := parquetText(v)
			if why != "" {
				return nil, line, &rowError{line, why}
			}
			values[i] = text
		}
		return values, line, nil
	}
}

// parquetText is what a value fills a hole with, or why it cannot.
func parquetText(v parquet.Value) (text, why string) {
	switch v.Kind() {
	case parquet.ByteArray:
		b := v.ByteArray()
		switch {
		case v.IsNull():
			return "", ""
		case len(b) > maxRow:
			return "", fmt.Sprintf("it is longer than %d KB", maxRow>>10)
		case !utf8.Valid(b):
			return "", "it is not UTF-8"
		case strings.IndexByte(string(b), 0) >= 0:
			return "", "it has a NUL byte, which is no text"
		}
		return string(b), ""
	case parquet.Int32:
		return strconv.Itoa(int(v.Int32())), ""
	case parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10), ""
	case parquet.Float:
		return strconv.FormatFloat(float64(v.Float()), 'g', -1, 32), ""
	case parquet.Double:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64), ""
	}
	if v.IsNull() {
		return "", "" // which is an empty hole
	}
	return "", fmt.Sprintf("a value is neither a text nor a number but %s", strings.ToLower(v.Kind().String()))
}

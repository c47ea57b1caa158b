package folder

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/google/renameio/v2"
)

// The bounds of a file of rows that is read.
const (
	maxRowBytes = 1 << 20
	maxRows     = 20_000_000
)

// EncodeRow writes a row as a line of JSON.
func EncodeRow(w io.Writer, row any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(row)
}

// WriteRows writes rows as lines of JSON. The file has its name when it is complete, not before.
func WriteRows[T any](path string, rows []T) error {
	var b bytes.Buffer
	for _, row := range rows {
		if err := EncodeRow(&b, row); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	if err := renameio.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// ReadRows reads what [WriteRows] wrote; check refuses what no run writes. An error names the line.
func ReadRows[T any](path string, check func(*T) error) ([]*T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading a run's rows: %w", err)
	}
	defer f.Close()
	rows, err := DecodeRows(f, check)
	if err != nil {
		return nil, fmt.Errorf("reading a run's rows: %s: %w", path, err)
	}
	return rows, nil
}

// DecodeRows is [ReadRows] of a reader.
func DecodeRows[T any](r io.Reader, check func(*T) error) ([]*T, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxRowBytes)
	var rows []*T
	n := 0
	for lines.Scan() {
		if n++; n > maxRows {
			return nil, fmt.Errorf("line %d: at most %d rows are read", n, maxRows)
		}
		row := new(T)
		if err := json.Unmarshal(lines.Bytes(), row); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if err := check(row); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		rows = append(rows, row)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return rows, nil
}

package cuc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/google/renameio/v2"

	"github.com/modellog/modellog/evals/answers"
)

// MarshalJSON writes a number that is known exactly as one, and others as two.
func (b Bounds) MarshalJSON() ([]byte, error) { return answers.Bounds(b).MarshalJSON() }

// UnmarshalJSON reads what MarshalJSON wrote.
func (b *Bounds) UnmarshalJSON(text []byte) error { return (*answers.Bounds)(b).UnmarshalJSON(text) }

// writeRows writes rows as JSON lines. The file has its name when it is complete, not before.
func writeRows(path string, rows []*Measured) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, row := range rows {
		if err := e.Encode(row); err != nil {
			return fmt.Errorf("writing rows: %w", err)
		}
	}
	if err := renameio.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing rows: %w", err)
	}
	return nil
}

// ReadRows reads a file of rows that a run wrote.
func ReadRows(path string) ([]*Measured, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading a run's rows: %w", err)
	}
	defer f.Close()
	rows, err := decodeRows(f)
	if err != nil {
		return nil, fmt.Errorf("reading a run's rows: %s: %w", path, err)
	}
	return rows, nil
}

func decodeRows(r io.Reader) ([]*Measured, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	var rows []*Measured
	n := 0
	for lines.Scan() {
		n++
		m := new(Measured)
		if err := json.Unmarshal(lines.Bytes(), m); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if m.Status == StatusMeasured && (m.Phi == nil || m.NotPhi == nil || m.WMC == nil || m.Rho == nil) {
			return nil, fmt.Errorf("line %d: a measured row lacks its answers", n)
		}
		rows = append(rows, m)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return rows, nil
}

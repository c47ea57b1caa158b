package lang

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestRecords holds records against encoding/csv, on what that reads too: the fields, and the
// lines where records begin.
func TestRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "é", " ", ",", ",", "\"", "\"\"", "\",\"", "\n", "\r\n", "\r", "\t"}), 0, 40).Draw(t, "text"), "")
		for _, comma := range []byte{',', '\t'} {
			oracle := csv.NewReader(strings.NewReader(text))
			oracle.Comma, oracle.LazyQuotes, oracle.FieldsPerRecord = rune(comma), comma == '\t', -1
			in := &records{b: bufio.NewReaderSize(bytes.NewReader([]byte(text)), 16), comma: comma, lazy: comma == '\t'}
			for {
				want, wantErr := oracle.Read()
				got, line, err := in.next()
				if wantErr != nil && wantErr != io.EOF {
					// It goes on from another place after a mistake. A quote that
					// is never closed is text to it where it is lenient.
					var bad *rowError
					if !errors.As(err, &bad) {
						t.Fatalf("%q: got %q, %v; want %v", text, got, err, wantErr)
					}
					break
				}
				var bad *rowError
				if comma == '\t' && errors.As(err, &bad) && strings.Contains(bad.msg, "never closed") {
					break
				}
				if wantErr != err || !slices.Equal(got, want) {
					t.Fatalf("%q: got %q, %v; want %q, %v", text, got, err, want, wantErr)
				}
				if err == io.EOF {
					break
				}
				if at, _ := oracle.FieldPos(0); line != at {
					t.Fatalf("%q: line %d, want %d", text, line, at)
				}
			}
		}
	})
}

package preference

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/modellog/modellog/evals/folder"
)

// journal is what a run has made so far of one model, line by line, so that one that is broken off loses nothing. Its
// first line says of what settings it is.
type journal struct {
	path string
	f    *os.File
}

// partEnding is the ending of a journal. It is gone when the run is complete, of all models.
const partEnding = ".part"

type journalHead struct {
	Of string `json:"of"`
}

// openJournal opens a journal of the settings of, and returns the lines that it has. A journal of other settings
// is an error. What a killed program has left of a line does not count.
func openJournal(path, of string) (*journal, [][]byte, error) {
	lines, size, err := readJournal(path, of)
	if err != nil {
		return nil, nil, fmt.Errorf("going on with the run: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("beginning the run: %w", err)
	}
	j := &journal{path, f}
	if err = f.Truncate(size); err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err == nil && size == 0 {
		err = j.add(journalHead{of})
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("beginning the run: %w", err)
	}
	return j, lines, nil
}

// readJournal returns a journal's lines after the first, and how many bytes are good.
func readJournal(path, of string) (lines [][]byte, size int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for n := 0; ; n++ {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return lines, size, nil
		}
		if err != nil {
			return nil, 0, err
		}
		if !json.Valid(line) {
			return nil, 0, fmt.Errorf("%s, line %d: it is no JSON; delete the file to begin anew", path, n+1)
		}
		if n == 0 {
			var head journalHead
			if json.Unmarshal(line, &head) != nil || head.Of != of {
				return nil, 0, fmt.Errorf("%s is of an interrupted run with other settings, data or weights; end that one with its own command, delete the file, or choose another folder", path)
			}
		} else {
			lines = append(lines, bytes.TrimSpace(line))
		}
		size += int64(len(line))
	}
}

// add writes a line in one call, so that it is there when the program is killed.
func (j *journal) add(v any) error {
	var b bytes.Buffer
	if err := folder.EncodeRow(&b, v); err != nil {
		return err
	}
	if _, err := j.f.Write(b.Bytes()); err != nil {
		return fmt.Errorf("keeping what was judged: %w", err)
	}
	return nil
}

// close leaves the journal for the next call.
func (j *journal) close() error { return j.f.Close() }

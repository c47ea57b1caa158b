// Package parquetfile opens Parquet files that others wrote, and says of those that cannot be
// read whether they are none or are damaged.
package parquetfile

import (
	"errors"
	"fmt"
	"os"

	"github.com/parquet-go/parquet-go"
)

// magic is what a Parquet file begins and ends with.
const magic = "PAR1"

// Open opens a file, whose name is for the caller to say in an error.
func Open(f *os.File, options ...parquet.FileOption) (file *parquet.File, err error) {
	// The library panics on some damaged files.
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("it is damaged (%v)", p)
		}
	}()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var head, foot [len(magic)]byte
	if st.Size() < 2*int64(len(magic)) {
		return nil, errors.New("it is not a Parquet file")
	}
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return nil, err
	}
	if _, err := f.ReadAt(foot[:], st.Size()-int64(len(foot))); err != nil {
		return nil, err
	}
	switch {
	case string(head[:]) != magic:
		return nil, errors.New("it is not a Parquet file")
	case string(foot[:]) != magic:
		return nil, errors.New("it is damaged: it begins as a Parquet file and has no end")
	}
	if file, err = parquet.OpenFile(f, st.Size(), options...); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	return file, nil
}

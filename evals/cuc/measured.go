package cuc

import (
	"errors"

	"github.com/modellog/modellog/evals/folder"
)

// ReadRows reads a file of rows that a run wrote.
func ReadRows(path string) ([]*Measured, error) { return folder.ReadRows(path, (*Measured).check) }

// check refuses what no run writes.
func (m *Measured) check() error {
	if m.Status == StatusMeasured && (m.Phi == nil || m.NotPhi == nil || m.WMC == nil || m.Rho == nil) {
		return errors.New("a measured row lacks its answers")
	}
	return nil
}

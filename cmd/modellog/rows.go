package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/alecthomas/kong"
)

// rowsFlag is a number of rows from 1 on; 0 where it is not given. What stands after the flag
// is its value also where it begins with a hyphen, so that -1 is refused for what it is.
type rowsFlag int

func (f *rowsFlag) Decode(ctx *kong.DecodeContext) error {
	token := ctx.Scan.Pop()
	if token.IsEOL() {
		return errors.New("expected a number of rows")
	}
	n, err := strconv.Atoi(token.String())
	if err != nil || n < 1 {
		return fmt.Errorf("expected a number of rows, from 1 on, and not %q", token.String())
	}
	*f = rowsFlag(n)
	return nil
}

// checkRunFolder refuses what is no folder of a run before it is looked into.
func checkRunFolder(dir string) error {
	fi, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return usageError{fmt.Errorf("there is no folder %s; name the folder that a run was written into", dir)}
	case err != nil:
		return err
	case !fi.IsDir():
		return usageError{fmt.Errorf("%s is a file; name the folder that a run was written into", dir)}
	}
	return nil
}

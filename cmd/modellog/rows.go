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
	return decodeNumber(ctx, "a number of rows", 1, (*int)(f))
}

// positiveFlag is a number of other things, from 1 on; 0 where it is not given.
type positiveFlag int

func (f *positiveFlag) Decode(ctx *kong.DecodeContext) error {
	return decodeNumber(ctx, "a number", 1, (*int)(f))
}

// countFlag is a number of things of which there may be none.
type countFlag int

func (f *countFlag) Decode(ctx *kong.DecodeContext) error {
	return decodeNumber(ctx, "a number", 0, (*int)(f))
}

func decodeNumber(ctx *kong.DecodeContext, what string, least int, n *int) error {
	token := ctx.Scan.Pop()
	if token.IsEOL() {
		return fmt.Errorf("expected %s", what)
	}
	x, err := strconv.Atoi(token.String())
	if err != nil || x < least {
		return fmt.Errorf("expected %s, from %d on, and not %q", what, least, token.String())
	}
	*n = x
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

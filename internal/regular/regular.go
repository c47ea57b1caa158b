// Package regular opens files of data that a user names.
package regular

import (
	"fmt"
	"os"
)

// Open opens a regular file, and nothing else: a named pipe that nobody writes to would be waited for without end,
// and of one that somebody does nothing would be left for the digest in a manifest.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder; name a file", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file (a pipe or a device); write what it gives into a file, and name that", path)
	}
	return os.Open(path)
}

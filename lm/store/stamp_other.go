//go:build !unix

package store

import (
	"fmt"
	"io/fs"
)

// fileStamp tells versions of a file apart by size and time of modification.
func fileStamp(fi fs.FileInfo) string {
	return fmt.Sprintf("%d %d", fi.Size(), fi.ModTime().UnixNano())
}

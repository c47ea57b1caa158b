//go:build !unix

package store

// freeSpace is not known; a full disk is noticed when it is full.
func freeSpace(string) (int64, bool) { return 0, false }

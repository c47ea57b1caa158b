//go:build !unix

package private

// alive reports whether a process may exist.
func alive(int) bool { return true }

//go:build unix

package store

import "golang.org/x/sys/unix"

// freeSpace is how many bytes this user may still write in a folder's file
// system; false where that cannot be known.
func freeSpace(dir string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

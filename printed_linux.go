package modellog

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// awaitPrinted waits until the notebook has taken what was printed, which goes another way than what is
// shown and could come after it.
func awaitPrinted() {
	deadline := time.Now().Add(200 * time.Millisecond)
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		for time.Now().Before(deadline) {
			left, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ)
			if err != nil || left == 0 { // an error: it is no pipe
				break
			}
			time.Sleep(100 * time.Microsecond)
		}
	}
	time.Sleep(passOn)
}

//go:build !linux

package modellog

import "time"

// awaitPrinted gives the notebook time to take what was printed, which goes another way than what is
// shown and could come after it.
func awaitPrinted() { time.Sleep(passOn) }

//go:build !unix

package inference

import "time"

var started = time.Now()

// processor is how many seconds have passed, where the system has no simple way to tell of those on the processor.
func processor() float64 { return time.Since(started).Seconds() }

//go:build unix

package inference

import "syscall"

// processor is how many seconds this process has been on the processor.
func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // with these arguments there is none
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

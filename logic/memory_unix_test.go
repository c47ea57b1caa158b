//go:build unix

package logic

import (
	"os"
	"runtime"
	"syscall"
)

// peakMemory is the most bytes that a process that has ended had in memory.
func peakMemory(p *os.ProcessState) (int64, bool) {
	u, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, false
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss), true
	}
	return int64(u.Maxrss) << 10, true
}

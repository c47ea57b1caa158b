package bench

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/shirou/gopsutil/v4/process"
)

// processorTime is the seconds that processes and those they started (see sum) have spent on
// processors so far. What a pass adds to it tells of the work on a machine that is busy
// with other things, where the time of day does not; ok is false where the system
// does not tell.
func processorTime(ctx context.Context, pids ...int) (seconds float64, ok bool) {
	return sum(ctx, pids, func(p *process.Process) (float64, bool) {
		times, err := p.TimesWithContext(ctx)
		if err != nil {
			return 0, false
		}
		return times.User + times.System, true
	})
}

// peakMemory is the bytes of physical memory that processes and those they started (see sum) have had at most, each since
// it began or, this one, since [forgetPeak]; ok is false where the system does not tell.
func peakMemory(ctx context.Context, pids ...int) (bytes float64, ok bool) {
	return sum(ctx, pids, func(p *process.Process) (float64, bool) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid))
		if err != nil {
			return 0, false
		}
		for line := range strings.Lines(string(status)) {
			var kB float64
			if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kB); err == nil {
				return kB * 1024, true
			}
		}
		return 0, false
	})
}

// forgetPeak has the most memory that this process has had be what it has now.
func forgetPeak() {
	debug.FreeOSMemory()
	// Linux's way; elsewhere there is no such file, and no peak either.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// sum adds up what is known of processes and of those they started; those that this one started are the other
// contestants and are left out.
func sum(ctx context.Context, pids []int, of func(*process.Process) (float64, bool)) (total float64, ok bool) {
	for _, pid := range pids {
		p, err := process.NewProcessWithContext(ctx, int32(pid))
		if err != nil {
			return 0, false
		}
		x, ok := of(p)
		if !ok {
			return 0, false
		}
		total += x
		if pid == os.Getpid() {
			continue
		}
		children, err := p.ChildrenWithContext(ctx)
		if err != nil {
			continue // it has none
		}
		for _, c := range children {
			// One that has ended meanwhile is left out.
			if x, ok := sum(ctx, []int{int(c.Pid)}, of); ok {
				total += x
			}
		}
	}
	return total, true
}

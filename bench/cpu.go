package bench

import (
	"context"

	"github.com/shirou/gopsutil/v4/process"
)

// processorTime is the seconds that processes and those they started have spent on
// processors so far. What a pass adds to it tells of the work on a machine that is busy
// with other things, where the time of day does not; ok is false where the system
// does not tell.
func processorTime(ctx context.Context, pids ...int) (seconds float64, ok bool) {
	for _, pid := range pids {
		p, err := process.NewProcessWithContext(ctx, int32(pid))
		if err != nil {
			return 0, false
		}
		times, err := p.TimesWithContext(ctx)
		if err != nil {
			return 0, false
		}
		seconds += times.User + times.System
		children, err := p.ChildrenWithContext(ctx)
		if err != nil {
			continue // it has none
		}
		for _, c := range children {
			if s, ok := processorTime(ctx, int(c.Pid)); ok {
				seconds += s
			}
		}
	}
	return seconds, true
}

//go:build unix

package kernel

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// handleSignals interrupts at SIGINT and shuts down at SIGTERM and SIGHUP. It
// returns a function that ends this.
func (k *Kernel) handleSignals() func() {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case sig := <-ch:
				if sig == os.Interrupt {
					k.interruptWith(errInterrupted)
				} else {
					k.stop(errShutdown)
				}
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(ch); close(done) }
}

// parentPoll is how often the kernel looks after the process that started it.
const parentPoll = time.Second

// watchParent shuts down when the process that started the kernel, and that has said so
// (JPY_PARENT_PID), is gone. That this has another parent now is what tells it: in a
// container the parent may well be process 1.
func (k *Kernel) watchParent() func() {
	parent := os.Getppid()
	done := make(chan struct{})
	if said, err := strconv.Atoi(os.Getenv("JPY_PARENT_PID")); err == nil && said == parent {
		go func() {
			tick := time.NewTicker(parentPoll)
			defer tick.Stop()
			for {
				select {
				case <-done:
					return
				case <-tick.C:
				}
				if os.Getppid() != parent {
					k.logf("the process that started the kernel is gone")
					k.stop(errShutdown)
					return
				}
			}
		}()
	}
	return func() { close(done) }
}

//go:build !unix

package kernel

import (
	"os"
	"os/signal"
)

// handleSignals interrupts at Ctrl-C. It returns a function that ends this.
func (k *Kernel) handleSignals() func() {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-ch:
				k.interruptWith(errInterrupted)
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(ch); close(done) }
}

// watchParent does nothing: no process is told here that its parent is gone.
func (k *Kernel) watchParent() func() { return func() {} }

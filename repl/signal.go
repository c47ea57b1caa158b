package repl

import (
	"os"
	"os/signal"
	"syscall"
)

// handleSignals acts on signals until the function that it returns is called.
// All of them go through one goroutine, so that none can overtake another.
func (r *repl) handleSignals() (stop func()) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGCONT, syscall.SIGWINCH)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer signal.Stop(signals)
		for {
			select {
			case sig := <-signals:
				r.handle(sig)
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

func (r *repl) handle(sig os.Signal) {
	switch sig {
	case syscall.SIGINT:
		r.interrupt()
	case syscall.SIGCONT:
		if e, ok := r.lines.(*editor); ok {
			e.resume()
		}
	case syscall.SIGWINCH:
		if e, ok := r.lines.(*editor); ok {
			e.resized.Store(true)
		}
	default:
		select {
		case r.left <- sig:
		default:
		}
		r.lines.Leave()
	}
}

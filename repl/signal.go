package repl

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// handleSignals acts on signals until the function that it returns is called.
// All of them go through one goroutine, so that none can overtake another.
func (r *repl) handleSignals() (stop func()) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGWINCH)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer signal.Stop(signals)
		for {
			select {
			case sig := <-signals:
				r.handle(sig, signals)
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

func (r *repl) handle(sig os.Signal, signals chan os.Signal) {
	switch sig {
	case syscall.SIGINT:
		r.interrupt()
	case syscall.SIGTSTP:
		r.suspend(signals)
	case syscall.SIGCONT:
		r.resume()
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

// suspend gives the terminal back as it was and stops this process as if it did not
// know the signal: the kernel ignores that where no shell could wake it.
func (r *repl) suspend(signals chan os.Signal) {
	if e, ok := r.lines.(*editor); ok {
		e.tty.release()
	}
	signal.Reset(syscall.SIGTSTP)
	syscall.Kill(syscall.Getpid(), syscall.SIGTSTP)
	time.Sleep(20 * time.Millisecond) // another thread may take the signal
	signal.Notify(signals, syscall.SIGTSTP)
	r.resume()
}

// resume takes the terminal again: the shell may have changed its mode.
func (r *repl) resume() {
	if e, ok := r.lines.(*editor); ok {
		e.tty.acquire()
		e.line.Refresh()
	}
}

// Package progress shows on a terminal how far something slow has come.
//
// Nothing is shown of what takes less than two seconds, nor where there is no
// terminal. What is shown takes one line, which goes away at the end and
// before anything else is written; its rate and the time left come from
// schollz/progressbar.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

const (
	patience = 2 * time.Second        // what is over sooner is not worth a line
	refresh  = 150 * time.Millisecond // so that the clock runs between reports
)

// Bar is a line on a terminal. Its methods may be called from any goroutine,
// and on a nil Bar, which shows nothing.
type Bar struct {
	w     io.Writer
	width func() int // columns of the terminal

	mu      sync.Mutex
	line    *progressbar.ProgressBar // nil between tasks
	label   string
	total   int
	bytes   bool // total and done are bytes
	done    int
	waiting string        // the label of Wait, until Clear
	since   time.Time     // when Wait was called
	shownAt time.Time     // when the line may first be seen
	visible bool          // the line is on the screen
	stop    chan struct{} // ends the refreshing of this task
}

// New returns a bar on w, which shows nothing unless w is a terminal that can
// rewrite a line.
func New(w io.Writer) *Bar {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return newBar(f, func() int {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
		return 80
	})
}

func newBar(w io.Writer, width func() int) *Bar { return &Bar{w: w, width: width} }

// Report tells that done of total parts of a task are finished; total is 0
// where it is not known.
// Another label or total, or a smaller done, begins another task in the place
// of the one before, and done == total ends one.
func (b *Bar) Report(label string, done, total int) { b.report(label, done, total, false) }

// ReportBytes is Report of a task whose parts are bytes, which are shown in kB, MB or GB.
func (b *Bar) ReportBytes(label string, done, total int) { b.report(label, done, total, true) }

func (b *Bar) report(label string, done, total int, bytes bool) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if total > 0 && done >= total {
		b.end()
		if b.waiting != "" {
			b.begin(b.waiting, 0, false, b.shownAt)
		}
		return
	}
	if b.line == nil || label != b.label || total != b.total || bytes != b.bytes || done < b.done {
		shownAt := time.Now().Add(patience)
		if b.line != nil {
			shownAt = b.shownAt
		}
		b.end()
		b.begin(label, total, bytes, shownAt)
	}
	b.done = done
	b.line.Set(done)
}

// Wait begins a task that may go on without reports. Reports take its place for
// as long as their own tasks go on; Clear ends it.
func (b *Bar) Wait(label string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.waiting, b.since = label, time.Now()
	b.mu.Unlock()
	b.Report(label, 0, 0)
}

// Clear ends the task and takes its line away.
func (b *Bar) Clear() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = ""
	b.end()
}

// Close is Clear, for what is done with the bar.
func (b *Bar) Close() { b.Clear() }

// Wrap returns a writer to w, the same terminal, before whose output the bar's line goes away.
// The line comes back after output that ends in a newline, if the task still runs.
func (b *Bar) Wrap(w io.Writer) io.Writer {
	if b == nil {
		return w
	}
	return &wrapped{b, w}
}

type wrapped struct {
	b *Bar
	w io.Writer
}

func (x *wrapped) Write(p []byte) (int, error) {
	x.b.mu.Lock()
	defer x.b.mu.Unlock()
	x.b.erase()
	return x.w.Write(p)
}

func (b *Bar) begin(label string, total int, bytes bool, shownAt time.Time) {
	b.label, b.total, b.bytes, b.done, b.shownAt = label, total, bytes, 0, shownAt
	b.stop = make(chan struct{})
	options := []progressbar.Option{
		progressbar.OptionSetWriter(gate{b}),
		progressbar.OptionSetDescription(label),
		progressbar.OptionUseANSICodes(true),
		progressbar.OptionThrottle(refresh - 50*time.Millisecond),
		progressbar.OptionSetWidth(max(10, min(40, b.width()-runewidth.StringWidth(label)-50))),
		progressbar.OptionSetSpinnerChangeInterval(0), // no goroutine of its own
	}
	if total > 0 {
		options = append(options,
			progressbar.OptionShowBytes(bytes),
			progressbar.OptionShowCount(),
			progressbar.OptionSetTheme(progressbar.Theme{Saucer: "█", SaucerPadding: "░"}),
		)
		if !bytes {
			options = append(options, progressbar.OptionShowIts(), progressbar.OptionSetItsString(""))
		}
		b.line = progressbar.NewOptions(total, options...)
	} else {
		options = append(options, progressbar.OptionSpinnerType(14), progressbar.OptionSetElapsedTime(label != b.waiting))
		b.line = progressbar.NewOptions(-1, append(options, progressbar.OptionSetPredictTime(false))...)
	}
	b.line.StartWithoutRender()
	go b.run(b.stop)
}

// run redraws the line until the task ends.
func (b *Bar) run(stop chan struct{}) {
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		b.mu.Lock()
		if b.stop == stop && b.line != nil {
			if b.total == 0 && b.label == b.waiting {
				b.line.Describe(fmt.Sprintf("%s · %s", b.label, time.Since(b.since).Truncate(time.Second)))
			}
			b.line.RenderBlank()
		}
		b.mu.Unlock()
	}
}

func (b *Bar) end() {
	if b.line == nil {
		return
	}
	close(b.stop)
	b.line, b.stop = nil, nil
	b.erase()
}

func (b *Bar) erase() {
	if b.visible {
		io.WriteString(b.w, "\r\x1b[K")
		b.visible = false
	}
}

// gate is what the progress bar writes to. It lets a line through when the task
// has gone on long enough to show one, cut to the terminal's width of the
// moment so that it never wraps.
type gate struct{ b *Bar }

func (g gate) Write(p []byte) (int, error) {
	if time.Now().Before(g.b.shownAt) {
		return len(p), nil
	}
	line := strings.NewReplacer("\r", "", "\x1b[0K", "", "\x1b[2K", "", " /s", "/s", " /min", "/min", " /hr", "/h").Replace(string(p))
	if line == "" {
		return len(p), nil
	}
	line = runewidth.Truncate(strings.TrimRight(line, " "), g.b.width()-1, "…")
	g.b.visible = true
	if _, err := io.WriteString(g.b.w, "\r"+line+"\x1b[K"); err != nil {
		return 0, err
	}
	return len(p), nil
}

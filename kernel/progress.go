package kernel

import (
	"fmt"
	"html"
	"strings"
	"sync"
	"time"

	"github.com/modellog/modellog/kernel/wire"
)

// What is over within slow is not worth a bar; a bar is drawn at most every
// redraw.
const (
	slow   = 2 * time.Second
	redraw = 250 * time.Millisecond
)

// progress is the bar of a cell: a display that is updated while something slow
// goes on, and empty when it is over.
type progress struct {
	o *outputs

	mu      sync.Mutex
	label   string
	done    int
	total   int
	bytes   bool      // done and total are bytes
	began   time.Time // when the first of the cell's slow things began
	started time.Time // when this one did
	id      string    // of the display, once there is one
	shown   string    // what it shows
	timer   *time.Timer
	over    bool
}

// Progress shows how far something slow in the cell that runs has come. A total of
// 0 is one that is not known; done == total is the end.
func (k *Kernel) Progress(label string, done, total int) { k.report(label, done, total, false) }

// ProgressBytes is Progress of what is counted in bytes.
func (k *Kernel) ProgressBytes(label string, done, total int) { k.report(label, done, total, true) }

func (k *Kernel) report(label string, done, total int, bytes bool) {
	k.mu.Lock()
	c := k.running
	k.mu.Unlock()
	if c != nil {
		c.out.progress.report(label, done, total, bytes)
	}
}

func (p *progress) report(label string, done, total int, bytes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	switch {
	case p.over:
		return
	case total > 0 && done >= total:
		p.label = ""
	case label != p.label || total != p.total || done < p.done:
		if p.began.IsZero() {
			p.began = now
		}
		p.started = now
		p.label = label
	}
	p.done, p.total, p.bytes = done, total, bytes
	if p.timer == nil {
		p.timer = time.AfterFunc(max(redraw, slow-now.Sub(p.began)), p.draw)
	}
}

// draw shows the bar as it is now.
func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = nil
	if p.over {
		return
	}
	if p.label == "" {
		p.show("", "")
		p.began = time.Time{}
		return
	}
	p.show(p.text())
	p.timer = time.AfterFunc(redraw, p.draw) // the clock runs on
}

// text is the bar in plain text and in HTML.
func (p *progress) text() (plain, markup string) {
	elapsed := time.Since(p.started)
	if p.total <= 0 {
		plain = fmt.Sprintf("%s · %s", p.label, seconds(elapsed))
		return plain, `<progress></progress> ` + html.EscapeString(plain)
	}
	figures := fmt.Sprintf("%d of %d", p.done, p.total)
	if p.bytes {
		figures = fmt.Sprintf("%d of %d MB", p.done>>20, p.total>>20)
	}
	if p.done > 0 && elapsed > time.Second {
		if left := time.Duration(float64(elapsed) / float64(p.done) * float64(p.total-p.done)); left >= time.Second {
			figures += " · " + seconds(left) + " left"
		}
	}
	const width = 30
	full := int(float64(width) * float64(p.done) / float64(p.total))
	plain = fmt.Sprintf("%s %s%s %s", p.label, strings.Repeat("█", full), strings.Repeat("░", width-full), figures)
	markup = fmt.Sprintf(`<progress value="%d" max="%d"></progress> %s`, p.done, p.total, html.EscapeString(p.label+" · "+figures))
	return plain, markup
}

func seconds(d time.Duration) string { return d.Round(time.Second).String() }

// show makes the display show this, or nothing where there is none yet and nothing
// to show.
func (p *progress) show(plain, markup string) {
	if plain == p.shown {
		return
	}
	p.shown = plain
	msgType := "update_display_data"
	if p.id == "" {
		p.id, msgType = wire.NewID(), "display_data"
		p.o.mu.Lock()
		p.o.flush()
		p.o.mu.Unlock()
	}
	p.o.publish(msgType, map[string]any{
		"data":      map[string]any{"text/plain": plain, "text/html": markup},
		"metadata":  map[string]any{},
		"transient": map[string]any{"display_id": p.id},
	})
}

// clear ends the bar.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.show("", "")
}

package kernel

import (
	"sync"
	"time"

	"github.com/modellog/modellog/lang"
)

// patience is how long a result waits to learn whether it is the cell's last.
const patience = 250 * time.Millisecond

// outputs is what a cell shows.
type outputs struct {
	c        *cell
	progress progress

	mu    sync.Mutex
	next  map[string]string // a result that may be the last
	timer *time.Timer       // shows next when it has waited for long enough
	last  string            // the last result's text
	over  bool
}

func newOutputs(c *cell) *outputs {
	o := &outputs{c: c}
	o.progress.o = o
	return o
}

// publish publishes something of the cell's, unless it is silent.
func (o *outputs) publish(msgType string, content any) {
	if !o.c.silent {
		o.c.k.publish(o.c.request, msgType, content)
	}
}

// result shows a result of the language.
func (o *outputs) result(r lang.Result) error {
	forms, err := lang.Forms(r)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush()
	o.next = forms
	o.last = forms["text/plain"]
	o.timer = time.AfterFunc(patience, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.flush()
	})
	return nil
}

// flush shows the result that waits as one of several. The mutex is held.
func (o *outputs) flush() {
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	if o.next != nil {
		o.publish("display_data", map[string]any{"data": o.next, "metadata": map[string]any{}, "transient": map[string]any{}})
		o.next = nil
	}
}

// stream shows text as a program's output.
func (o *outputs) stream(name, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush()
	o.publish("stream", map[string]any{"name": name, "text": text})
}

// finish shows what is left. Nothing is shown afterwards.
func (o *outputs) finish() {
	o.progress.clear()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	if o.next != nil {
		o.publish("execute_result", map[string]any{"data": o.next, "metadata": map[string]any{}, "execution_count": o.c.count})
		o.next = nil
	}
	o.over = true
}

// Warn shows a warning in the cell that runs, or else in the next.
func (k *Kernel) Warn(message string) {
	const maxHeld = 100
	text := "warning: " + message + "\n"
	k.mu.Lock()
	c := k.running
	if (c == nil || c.silent) && len(k.held) < maxHeld {
		k.held = append(k.held, text)
	}
	k.mu.Unlock()
	if c != nil && !c.silent {
		c.out.stream("stderr", text)
	}
}

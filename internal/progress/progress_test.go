package progress

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
)

// recorder keeps what is written, for a goroutine to look at.
type recorder struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

// wait calls step until the recorder has got a text.
func (r *recorder) wait(t *testing.T, want string, step func()) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !strings.Contains(r.String(), want); {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %q in %q", want, r.String())
		}
		step()
		time.Sleep(20 * time.Millisecond)
	}
}

func TestBar(t *testing.T) {
	var r recorder
	b := newBar(&r, func() int { return 60 })
	begin := time.Now()
	done := 0
	r.wait(t, "reading 600 events", func() { done++; b.Report("reading 600 events", min(done, 599), 600) })
	if took := time.Since(begin); took < patience {
		t.Errorf("the bar was there after %v", took)
	}
	r.wait(t, "/600, ", func() {})
	// Other output goes where the line was.
	b.Wrap(&r).Write([]byte("a result\n"))
	if got := r.String(); !strings.Contains(got, "\r\x1b[Ka result\n") {
		t.Errorf("the line was not taken away: %q", got)
	}
	b.Report("reading 600 events", 600, 600)
	got := r.String()
	if end := got[strings.LastIndex(got, "\n")+1:]; end != "" && !strings.HasSuffix(end, "\r\x1b[K") {
		t.Errorf("the line is still there: %q", end)
	}
	for _, line := range strings.FieldsFunc(got, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if w := runewidth.StringWidth(strings.ReplaceAll(line, "\x1b[K", "")); w > 59 {
			t.Errorf("%d columns of 60 are taken: %q", w, line)
		}
	}
}

// What is counted and what are bytes is said, and not guessed from how many there are.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		report func(*Bar, string, int, int)
		total  int
		want   string
	}{
		{(*Bar).Report, 3_000_000, "1500000/3000000"},
		{(*Bar).ReportBytes, 600, "300/600 B"},
		{(*Bar).ReportBytes, 3_000_000, "1.5/3.0 MB"},
	} {
		var r recorder
		b := newBar(&r, func() int { return 100 })
		c.report(b, "x", c.total/2, c.total)
		b.mu.Lock()
		b.shownAt = time.Now() // without waiting
		b.mu.Unlock()
		r.wait(t, c.want, func() {})
		b.Close()
	}
}

func TestQuickIsSilent(t *testing.T) {
	var r recorder
	b := newBar(&r, func() int { return 80 })
	for i := range 101 {
		b.Report("quick", i, 100)
	}
	b.Wait("waiting")
	b.Report("unknown", 3, 0)
	b.Clear()
	if got := r.String(); got != "" {
		t.Errorf("got %q", got)
	}
}

// TestWait: a task without reports is shown too, also after one with reports.
func TestWait(t *testing.T) {
	var r recorder
	b := newBar(&r, func() int { return 80 })
	b.Wait("working")
	r.wait(t, "working · 2s", func() {})
	b.Report("part", 1, 10)
	r.wait(t, "part", func() { b.Report("part", 5, 10) })
	n := len(r.String())
	b.Report("part", 10, 10)
	r.wait(t, "working · 3s", func() {})
	if !strings.Contains(r.String()[n:], "working") {
		t.Errorf("got %q", r.String()[n:])
	}
	b.Close()
	if !strings.HasSuffix(r.String(), "\r\x1b[K") {
		t.Errorf("the line is still there: %q", r.String())
	}
}

func TestNoTerminal(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var buf bytes.Buffer
	for _, b := range []*Bar{New(f), New(&buf)} {
		b.Wait("x")
		b.Report("x", 1, 2)
		b.Wrap(&buf).Write([]byte("result\n"))
		b.Clear()
		b.Close()
	}
	if info, _ := f.Stat(); info.Size() != 0 || buf.String() != "result\nresult\n" {
		t.Errorf("something was shown: %d bytes, %q", info.Size(), buf.String())
	}
}

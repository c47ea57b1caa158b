package connect

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// echo is a session that answers each line of a program with itself, fails at
// "fail", and waits at "wait".
type echo struct {
	mu      sync.Mutex
	defined []Name
	stopped int
}

func (e *echo) Eval(ctx context.Context, program string, only bool, emit func(Result) error) error {
	for i, line := range strings.Split(program, "\n") {
		switch {
		case line == "fail":
			return &Error{Message: "it failed", Line: i + 1, Column: 1}
		case line == "wait":
			<-ctx.Done()
			e.mu.Lock()
			e.stopped++
			e.mu.Unlock()
			return context.Cause(ctx)
		case only:
			e.mu.Lock()
			e.defined = append(e.defined, Name{Name: line, Kind: "event"})
			e.mu.Unlock()
		}
		own, err := json.Marshal(line)
		if err != nil {
			return err
		}
		if err := emit(Result{JSON: own, Data: map[string]string{"text/plain": line}}); err != nil {
			return err
		}
	}
	return nil
}

func (e *echo) Names() []Name {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Name{}, e.defined...)
}

func (e *echo) Model() (json.RawMessage, error) { return json.RawMessage(`{"name":"echo"}`), nil }

func serve(t *testing.T) (*echo, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{}
	s := Serve(l, e)
	t.Cleanup(func() { s.Close() })
	return e, path
}

func dial(t *testing.T, path string) *Client {
	t.Helper()
	c, err := Dial(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestClient(t *testing.T) {
	_, path := serve(t)
	c := dial(t, path)
	ctx := context.Background()
	var got []string
	take := func(r Result) error { got = append(got, r.Data["text/plain"]+"="+string(r.JSON)); return nil }
	if err := c.Eval(ctx, "a\nb", take); err != nil || fmt.Sprint(got) != `[a="a" b="b"]` {
		t.Errorf("%v %v", got, err)
	}
	got = nil
	var mistake *Error
	if err := c.Eval(ctx, "a\nfail\nb", take); !errors.As(err, &mistake) || mistake.Line != 2 || len(got) != 1 {
		t.Errorf("%v %v", got, err)
	}
	enough := errors.New("enough")
	if err := c.Eval(ctx, "a\nb\nc", func(Result) error { return enough }); err != enough {
		t.Errorf("%v", err)
	}
	if err := c.Define(ctx, "x\ny"); err != nil {
		t.Error(err)
	}
	if names, err := c.Names(ctx); err != nil || fmt.Sprint(names) != "[{x event } {y event }]" {
		t.Errorf("%v %v", names, err)
	}
	if m, err := c.Model(ctx); err != nil || string(m) != `{"name":"echo"}` {
		t.Errorf("%s %v", m, err)
	}
	// Many at once, each with its own answers.
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			var mine string
			err := c.Eval(ctx, fmt.Sprint("n", i), func(r Result) error { mine += r.Data["text/plain"]; return nil })
			if err != nil || mine != fmt.Sprint("n", i) {
				t.Errorf("%d: %q %v", i, mine, err)
			}
		})
	}
	wg.Wait()
}

func TestCancel(t *testing.T) {
	e, path := serve(t)
	c := dial(t, path)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := c.Eval(ctx, "wait", func(Result) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if err := c.Eval(context.Background(), "a", func(Result) error { return nil }); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	// The end of the connection stops what is under way.
	ended := make(chan error, 1)
	go func() { ended <- c.Eval(context.Background(), "wait", func(Result) error { return nil }) }()
	time.Sleep(50 * time.Millisecond)
	c.Close()
	if err := <-ended; err == nil {
		t.Error("no error")
	}
	for range 100 {
		e.mu.Lock()
		n := e.stopped
		e.mu.Unlock()
		if n == 2 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("the session was not stopped")
}

// TestOrder sends requests without waiting for the answers: each sees what those before have done.
func TestOrder(t *testing.T) {
	_, path := serve(t)
	nc, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	const n = 200
	for i := range n {
		fmt.Fprintf(nc, "{\"id\":%d,\"op\":\"define\",\"program\":\"x%d\"}\n{\"id\":%d,\"op\":\"names\"}\n", 2*i+1, i, 2*i+2)
	}
	in := bufio.NewScanner(nc)
	for i := range 2 * n {
		var r Response
		if !in.Scan() || json.Unmarshal(in.Bytes(), &r) != nil || r.ID != int64(i+1) || r.Error != nil || i%2 == 1 && len(r.Names) != i/2+1 {
			t.Fatalf("answer %d is %.200s", i+1, in.Text())
		}
	}
}

// TestNoStaleReply ends contexts while answers are on their way: whoever has gone gets none of them, and who asks
// next gets their own.
func TestNoStaleReply(t *testing.T) {
	_, path := serve(t)
	c := dial(t, path)
	if err := c.Eval(canceled(), "a", func(Result) error { t.Error("a result"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that was done: %v", err)
	}
	long := strings.Repeat("x\n", 200) + "y"
	for i := range 100 {
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		err := c.Eval(ctx, long, func(Result) error {
			if ctx.Err() != nil {
				t.Fatal("a result after the context")
			}
			if n++; n == i%7+1 {
				cancel()
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%v", err)
		}
		var mine string
		if err := c.Eval(context.Background(), fmt.Sprint("own", i), func(r Result) error { mine += r.Data["text/plain"]; return nil }); err != nil || mine != fmt.Sprint("own", i) {
			t.Fatalf("%q %v", mine, err)
		}
	}
	// The last answer and the end of the context, at once.
	for range 500 {
		ctx, cancel := context.WithCancel(context.Background())
		go cancel()
		if err := c.Eval(ctx, "a", func(Result) error { return nil }); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) != 0 {
		t.Errorf("%d requests are still waited for", len(c.waiting))
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestServerGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(l, &echo{})
	c := dial(t, path)
	ended := make(chan error, 1)
	go func() { ended <- c.Eval(context.Background(), "wait", func(Result) error { return nil }) }()
	time.Sleep(50 * time.Millisecond)
	s.Close()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the client waits for ever")
	}
	if _, err := c.Names(context.Background()); err == nil {
		t.Error("no error afterwards")
	}
	if _, err := Dial(context.Background(), path); err == nil {
		t.Error("connected to nobody")
	}
	t.Setenv(SocketVariable, "")
	if _, err := Open(context.Background()); !errors.Is(err, ErrNoKernel) {
		t.Errorf("%v", err)
	}
}

// TestGarbage writes what is no request; the connection goes on where a line's
// end can be found.
func TestGarbage(t *testing.T) {
	_, path := serve(t)
	nc, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	in := bufio.NewScanner(nc)
	for _, c := range []struct{ send, want string }{
		{"nonsense", "reading a request"},
		{"[1]", "reading a request"},
		{`{"id":1,"op":"fly"}`, `there is no operation \"fly\"`},
		{`{"id":"x"}`, "reading a request"},
		{"\x00\xff", "reading a request"},
		{`{"id":3,"op":"names"}`, `"id":3`},
	} {
		fmt.Fprintln(nc, c.send)
		if !in.Scan() || !strings.Contains(in.Text(), c.want) || !strings.Contains(in.Text(), `"end":true`) {
			t.Errorf("%q: %q, want %q", c.send, in.Text(), c.want)
		}
	}
	// The same id twice at a time.
	fmt.Fprintln(nc, `{"id":7,"op":"eval","program":"wait"}`)
	fmt.Fprintln(nc, `{"id":7,"op":"eval","program":"wait"}`)
	if !in.Scan() || !strings.Contains(in.Text(), "under way already") {
		t.Errorf("%q", in.Text())
	}
	fmt.Fprintln(nc, `{"op":"cancel","of":7}`)
	if !in.Scan() || !strings.Contains(in.Text(), "context canceled") {
		t.Errorf("%q", in.Text())
	}
}

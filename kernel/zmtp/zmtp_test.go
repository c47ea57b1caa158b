package zmtp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
)

// listen opens a listener on both transports that Jupyter uses.
func listen(t *testing.T, network string) (net.Listener, string) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	if network == "unix" {
		return l, "ipc://" + address
	}
	return l, "tcp://" + l.Addr().String()
}

func within(t *testing.T, d time.Duration, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatalf("%s: not done after %v", what, d)
	}
}

// TestRouterAgainstZMQ4 has another implementation talk to a Router.
func TestRouterAgainstZMQ4(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			l, url := listen(t, network)
			r := NewRouter(l)
			defer r.Close()
			go func() {
				for {
					msg, err := r.Recv(context.Background())
					if err != nil {
						return
					}
					r.Send(append(msg[:1:1], append([][]byte{[]byte("echo")}, msg[1:]...)...))
				}
			}()
			for _, id := range []string{"ann", "bob"} {
				d := zmq4.NewDealer(context.Background(), zmq4.WithID(zmq4.SocketIdentity(id)))
				defer d.Close()
				if err := d.Dial(url); err != nil {
					t.Fatal(err)
				}
				for _, size := range []int{0, 1, 255, 256, 70_000, 3 << 20} {
					body := bytes.Repeat([]byte(id), size)
					within(t, 20*time.Second, "an answer", func() {
						if err := d.SendMulti(zmq4.NewMsgFrom([]byte(id), nil, body)); err != nil {
							t.Error(err)
							return
						}
						got, err := d.Recv()
						if err != nil || len(got.Frames) != 4 || string(got.Frames[0]) != "echo" ||
							string(got.Frames[1]) != id || len(got.Frames[2]) != 0 || !bytes.Equal(got.Frames[3], body) {
							t.Errorf("%s, %d bytes: %v, %d frames", id, size, err, len(got.Frames))
						}
					})
				}
			}
			if err := r.Send([][]byte{[]byte("nobody"), []byte("x")}); !errors.Is(err, ErrNoPeer) {
				t.Errorf("a message to nobody: %v", err)
			}
		})
	}
}

func TestPubAgainstZMQ4(t *testing.T) {
	l, url := listen(t, "tcp")
	pub := NewPub(l, func(topic string) [][]byte { return [][]byte{[]byte("welcome"), []byte(topic)} })
	defer pub.Close()
	pub.Send([][]byte{[]byte("a"), []byte("nobody listens")})
	sub := zmq4.NewSub(context.Background())
	defer sub.Close()
	if err := sub.Dial(url); err != nil {
		t.Fatal(err)
	}
	if err := sub.SetOption(zmq4.OptionSubscribe, "we"); err != nil {
		t.Fatal(err)
	}
	within(t, 5*time.Second, "the welcome", func() {
		m, err := sub.Recv()
		if err != nil || string(m.Frames[0]) != "welcome" || string(m.Frames[1]) != "we" {
			t.Errorf("%v %q", err, m.Frames)
		}
	})
	pub.Send([][]byte{[]byte("other"), []byte("not asked for")})
	pub.Send([][]byte{[]byte("weather"), []byte("asked for")})
	within(t, 5*time.Second, "the message", func() {
		m, err := sub.Recv()
		if err != nil || string(m.Frames[1]) != "asked for" {
			t.Errorf("%v %q", err, m.Frames)
		}
	})
}

// TestCloseDrains checks that what was sent before Close arrives.
func TestCloseDrains(t *testing.T) {
	for range 20 {
		l, _ := listen(t, "tcp")
		pub := NewPub(l, nil)
		c, err := DialSub(context.Background(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		for pub.Subscribers() == 0 {
			time.Sleep(time.Millisecond)
		}
		const n = 200
		body := make([]byte, 10_000)
		for i := range n {
			pub.Send([][]byte{fmt.Append(nil, i), body})
		}
		closed := make(chan error, 1)
		go func() { closed <- pub.Close() }()
		for i := range n {
			m, err := c.Read()
			if err != nil || string(m[0]) != fmt.Sprint(i) {
				t.Fatalf("message %d: %q, %v", i, m, err)
			}
		}
		if _, err := c.Read(); err != io.EOF {
			t.Fatalf("after the last message: %v", err)
		}
		c.Close()
		within(t, 5*time.Second, "Close", func() { <-closed })
	}
}

// TestSlowSubscriber checks that one who never reads costs the others nothing,
// and is sent away in the end.
func TestSlowSubscriber(t *testing.T) {
	l, _ := listen(t, "tcp")
	pub := NewPub(l, nil)
	defer pub.Close()
	slow, err := DialSub(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fast, err := DialSub(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer fast.Close()
	for pub.Subscribers() < 2 {
		time.Sleep(time.Millisecond)
	}
	body := make([]byte, 1<<20)
	within(t, 30*time.Second, "300 MB to the fast one", func() {
		for i := range 300 {
			pub.Send([][]byte{{byte(i)}, body})
			m, err := fast.Read()
			if err != nil || m[0][0] != byte(i) {
				t.Errorf("message %d: %v", i, err)
				return
			}
		}
	})
	if n := pub.Subscribers(); n != 1 {
		t.Errorf("%d subscribers are left, want 1", n)
	}
}

// TestLossy floods a subscriber that does not read: what may be left out is, and all else comes, in order.
func TestLossy(t *testing.T) {
	l, _ := listen(t, "tcp")
	pub := NewPub(l, nil)
	defer pub.Close()
	slow, err := DialSub(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	for pub.Subscribers() < 1 {
		time.Sleep(time.Millisecond)
	}
	read := func(until byte) (kept []byte, lossy int) {
		within(t, 30*time.Second, "what must come", func() {
			for len(kept) == 0 || kept[len(kept)-1] != until {
				m, err := slow.Read()
				if err != nil {
					t.Error(err)
					return
				}
				if m[0][0] == 'x' {
					lossy++
				} else {
					kept = append(kept, m[0][0])
				}
			}
		})
		return kept, lossy
	}
	body := make([]byte, 1<<20)
	for i := range byte(30) {
		for range 10 {
			pub.SendLossy([][]byte{{'x'}, body})
		}
		pub.Send([][]byte{{i}})
	}
	pub.Send([][]byte{{200}, make([]byte, 16<<20)}) // there is no room for it
	kept, lossy := read(200)
	if lost := pub.Lost(); len(kept) != 31 || !slices.IsSorted(kept) || lost == 0 || lost+lossy != 300 || pub.Lost() != 0 {
		t.Errorf("%v; %d lossy messages came, %d were lost", kept, lossy, lost)
	}
	// Those who are a little behind lose nothing.
	for range 50 {
		pub.SendLossy([][]byte{{'x'}, body})
	}
	pub.Shed()
	pub.Send([][]byte{{1}})
	if _, lossy := read(1); lossy != 50 || pub.Lost() != 0 {
		t.Errorf("%d came of 50", lossy)
	}
	for range 120 {
		pub.SendLossy([][]byte{{'x'}, body})
	}
	pub.Shed()
	pub.Send([][]byte{{1}})
	if _, lossy := read(1); lossy > 30 || pub.Lost() != 120-lossy {
		t.Errorf("%d came of 120", lossy)
	}
}

// TestGarbage sends all kinds of nonsense and checks that a decent peer does not
// notice.
func TestGarbage(t *testing.T) {
	l, url := listen(t, "tcp")
	r := NewRouter(l)
	defer r.Close()
	address := l.Addr().String()
	good, err := DialDealer(context.Background(), "tcp", address, "good")
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()

	greeting := make([]byte, 64)
	greeting[0], greeting[9], greeting[10] = 0xff, 0x7f, 3
	copy(greeting[12:], "NULL")
	ready := func(props ...byte) []byte {
		body := append([]byte("\x05READY"), props...)
		return append(bytes.Clone(greeting), append([]byte{flagCommand, byte(len(body))}, body...)...)
	}
	dealer := ready(property(nil, "Socket-Type", "DEALER")...)
	huge := []byte{flagLong, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	cases := [][]byte{
		nil,
		[]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		bytes.Repeat([]byte{0}, 200),
		greeting,
		append(bytes.Clone(greeting), huge...),
		ready(0xff),                                       // a property longer than there are bytes
		ready(1, 'x', 0xff, 0xff, 0xff, 0xff),             // a value that is longer
		ready(property(nil, "Socket-Type", "PUSH")...),    // whom a ROUTER does not know
		ready(property(nil, "Identity", "who?")...),       // no type at all
		append(bytes.Clone(dealer), huge...),              // a frame of 2⁶⁴ bytes
		append(bytes.Clone(dealer), 0x80, 1, 0),           // flags that do not exist
		append(bytes.Clone(dealer), flagCommand, 0),       // a command without a name
		append(bytes.Clone(dealer), flagCommand, 1, 0xff), // a name longer than the command
		append(bytes.Clone(dealer), flagMore, 0),          // half a message
		append(bytes.Clone(dealer), bytes.Repeat([]byte{flagMore, 0}, maxFrames+10)...),
		append(bytes.Clone(dealer), flagLong, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 'x'), // 16 MB announced, one byte sent
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		b := bytes.Clone(dealer)
		for range 1 + rng.IntN(200) {
			b = append(b, byte(rng.Uint32()))
		}
		cases = append(cases, b)
	}
	var open []net.Conn
	for _, b := range cases {
		nc, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		nc.Write(b)
		open = append(open, nc) // not even closed: nobody waits for its handshake
	}
	defer func() {
		for _, nc := range open {
			nc.Close()
		}
	}()

	// One whose message does not end is sent away, before all memory is its.
	endless, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer endless.Close()
	endless.Write(append(bytes.Clone(dealer), bytes.Repeat([]byte{flagMore, 0}, maxFrames+10)...))
	endless.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.Copy(io.Discard, endless); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a message of too many frames is read on")
	}

	within(t, 10*time.Second, "the decent peer", func() {
		if err := good.Write([][]byte{[]byte("hello")}); err != nil {
			t.Error(err)
			return
		}
		for {
			msg, err := r.Recv(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			if string(msg[0]) == "good" {
				if string(msg[1]) != "hello" {
					t.Errorf("%q", msg)
				}
				break
			}
		}
		if err := r.Send([][]byte{[]byte("good"), []byte("hi")}); err != nil {
			t.Error(err)
		}
		if m, err := good.Read(); err != nil || string(m[0]) != "hi" {
			t.Errorf("%q %v", m, err)
		}
		late := zmq4.NewDealer(context.Background())
		defer late.Close()
		if err := late.Dial(url); err != nil {
			t.Error(err)
		}
	})
}

// TestComeBack checks that a peer which connects anew under its identity gets the
// answers, though its old connection was never closed.
func TestComeBack(t *testing.T) {
	l, _ := listen(t, "tcp")
	r := NewRouter(l)
	defer r.Close()
	var conns []*Conn
	for i := range 3 {
		c, err := DialDealer(context.Background(), "tcp", l.Addr().String(), "me")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, c)
		c.Write([][]byte{fmt.Append(nil, i)})
		msg, err := r.Recv(context.Background())
		if err != nil || string(msg[1]) != fmt.Sprint(i) {
			t.Fatalf("%q %v", msg, err)
		}
		if err := r.Send([][]byte{[]byte("me"), fmt.Append(nil, i)}); err != nil {
			t.Fatal(err)
		}
		if m, err := c.Read(); err != nil || string(m[0]) != fmt.Sprint(i) {
			t.Fatalf("%q %v", m, err)
		}
	}
	within(t, 5*time.Second, "the end of the old connection", func() {
		if _, err := conns[0].Read(); err == nil {
			t.Error("the old connection goes on")
		}
	})
}

func TestEchoAgainstZMQ4(t *testing.T) {
	l, url := listen(t, "tcp")
	e := NewEcho(l)
	defer e.Close()
	req := zmq4.NewReq(context.Background())
	defer req.Close()
	if err := req.Dial(url); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		within(t, 5*time.Second, "an echo", func() {
			if err := req.Send(zmq4.NewMsgString(fmt.Sprint("ping ", i))); err != nil {
				t.Error(err)
			}
			if m, err := req.Recv(); err != nil || string(m.Frames[0]) != fmt.Sprint("ping ", i) {
				t.Errorf("%v %v", m, err)
			}
		})
	}
	c, err := DialReq(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Write([][]byte{{}, []byte("ours")})
	if m, err := c.Read(); err != nil || len(m) != 2 || string(m[1]) != "ours" {
		t.Errorf("%q %v", m, err)
	}
}

func TestDialErrors(t *testing.T) {
	l, _ := listen(t, "tcp")
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	// Somebody listens, but never answers.
	start := time.Now()
	if _, err := DialSub(ctx, "tcp", l.Addr().String()); err == nil || time.Since(start) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	pl, _ := listen(t, "tcp")
	pub := NewPub(pl, nil)
	defer pub.Close()
	if _, err := DialDealer(context.Background(), "tcp", pl.Addr().String(), "x"); err == nil || !strings.Contains(err.Error(), pl.Addr().String()) {
		t.Errorf("a dealer at a PUB socket: %v", err)
	}
}

// FuzzConn reads whatever a peer may send after its greeting.
func FuzzConn(f *testing.F) {
	f.Add([]byte("\x04\x00"))
	f.Add([]byte("\x00\x05hello"))
	f.Add(append([]byte("\x04\x19\x05READY"), property(nil, "Socket-Type", "DEALER")...))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, b := net.Pipe()
		go func() {
			defer b.Close()
			greeting := make([]byte, 64)
			greeting[0], greeting[9], greeting[10] = 0xff, 0x7f, 3
			copy(greeting[12:], "NULL")
			b.Write(greeting)
			b.Write(data)
		}()
		go io.Copy(io.Discard, b)
		defer a.Close()
		c, err := open(a, typeRouter, "")
		if err != nil {
			return
		}
		for {
			msg, err := c.Read()
			if err != nil {
				return
			}
			if len(msg) == 0 || len(msg) > maxFrames {
				t.Fatalf("%d frames", len(msg))
			}
		}
	})
}

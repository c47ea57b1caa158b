package zmtp

import (
	"context"
	"errors"
	"net"
	"slices"
)

// ErrNoPeer is the error of a message to someone who is not (or no longer)
// connected, or who has been disconnected for never reading.
var ErrNoPeer = errors.New("no such peer is connected")

// Router is a ROUTER socket.
type Router struct {
	s  *server
	in chan [][]byte
}

// NewRouter accepts peers at a listener, which it closes in the end.
func NewRouter(l net.Listener) *Router {
	r := &Router{s: newServer(l, typeRouter), in: make(chan [][]byte, 16)}
	r.s.received = func(p *peer, msg [][]byte) {
		select {
		case r.in <- append([][]byte{[]byte(p.id)}, msg...):
		case <-r.s.ctx.Done():
		}
	}
	r.s.start()
	return r
}

// Recv returns the next message; its first frame is the sender's identity. The
// error is net.ErrClosed once the socket is closed.
func (r *Router) Recv(ctx context.Context) ([][]byte, error) {
	select {
	case msg := <-r.in:
		return msg, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-r.s.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Send queues a message to the peer that its first frame names.
func (r *Router) Send(msg [][]byte) error {
	if len(msg) < 2 {
		return errors.New("a message needs an identity and a frame")
	}
	r.s.mu.Lock()
	p := r.s.byID[string(msg[0])]
	r.s.mu.Unlock()
	if p == nil || !p.send(msg[1:], false) {
		return ErrNoPeer
	}
	return nil
}

// Close writes what is queued, waiting for slow peers a short while, and ends all
// connections.
func (r *Router) Close() error { return r.s.close() }

// Pub is a PUB socket.
type Pub struct{ s *server }

// NewPub accepts subscribers at a listener, which it closes in the end. The
// message that welcome returns for a topic goes to whoever subscribes to it,
// before anything else; welcome may be nil.
func NewPub(l net.Listener, welcome func(topic string) [][]byte) *Pub {
	s := newServer(l, typePub)
	subscribe := func(p *peer, topic string) {
		// The lock makes the welcome the first: Send holds it, too.
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(p.topics) >= maxFrames {
			return
		}
		p.topics[topic]++
		if welcome != nil {
			p.send(welcome(topic), false)
		}
	}
	cancel := func(p *peer, topic string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if p.topics[topic]--; p.topics[topic] <= 0 {
			delete(p.topics, topic)
		}
	}
	s.received = func(p *peer, msg [][]byte) {
		if len(msg) != 1 || len(msg[0]) == 0 {
			return
		}
		switch topic := string(msg[0][1:]); msg[0][0] {
		case 1:
			subscribe(p, topic)
		case 0:
			cancel(p, topic)
		}
	}
	s.command = func(p *peer, name string, body []byte) {
		switch name {
		case "SUBSCRIBE":
			subscribe(p, string(body))
		case "CANCEL":
			cancel(p, string(body))
		}
	}
	s.start()
	return &Pub{s}
}

// Send queues a message for all who subscribed to a topic that its first frame
// begins with.
func (b *Pub) Send(msg [][]byte) { b.send(msg, false) }

// SendLossy is as Send, but the message is left out for whoever is far behind, see [Pub.Lost].
func (b *Pub) SendLossy(msg [][]byte) { b.send(msg, true) }

func (b *Pub) send(msg [][]byte, lossy bool) {
	if len(msg) == 0 {
		return
	}
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	for p := range b.s.peers {
		if p.wants(msg[0]) {
			p.send(msg, lossy)
		}
	}
}

// Shed leaves out the lossy messages that wait for those who are more than a few messages behind, so that what comes
// after them comes soon.
func (b *Pub) Shed() {
	const few = 100
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	for p := range b.s.peers {
		p.mu.Lock()
		if len(p.queue) > few {
			p.shed()
		}
		p.mu.Unlock()
	}
}

// Lost returns how many lossy messages were left out since it was called last, for the one who lost most.
func (b *Pub) Lost() int {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	most := 0
	for p := range b.s.peers {
		p.mu.Lock()
		most, p.lost = max(most, p.lost), 0
		p.mu.Unlock()
	}
	return most
}

// Subscribers returns how many peers have subscribed to something.
func (b *Pub) Subscribers() int {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	n := 0
	for p := range b.s.peers {
		if len(p.topics) > 0 {
			n++
		}
	}
	return n
}

// wants reports whether a topic was subscribed to.
func (p *peer) wants(topic []byte) bool {
	for t := range p.topics {
		if len(t) <= len(topic) && string(topic[:len(t)]) == t {
			return true
		}
	}
	return false
}

// Close is as for a Router.
func (b *Pub) Close() error { return b.s.close() }

// Echo is a REP socket that answers each message with itself.
type Echo struct{ s *server }

// NewEcho accepts peers at a listener, which it closes in the end.
func NewEcho(l net.Listener) *Echo {
	s := newServer(l, typeRep)
	s.received = func(p *peer, msg [][]byte) { p.send(slices.Clone(msg), false) }
	s.start()
	return &Echo{s}
}

// Close is as for a Router.
func (e *Echo) Close() error { return e.s.close() }

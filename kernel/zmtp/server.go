package zmtp

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

// Limits of a listening socket.
const (
	maxPeers = 512
	maxQueue = 128 << 20 // bytes that wait for one peer
	maxWait  = 200_000   // messages that wait for one peer
	linger   = 2 * time.Second
)

// server accepts peers at an address and keeps a queue for each.
type server struct {
	l        net.Listener
	typ      string
	joined   func(*peer)                             // after the handshake; may be nil
	received func(p *peer, msg [][]byte)             // in the order of the peer's messages
	command  func(p *peer, name string, body []byte) // may be nil

	ctx    context.Context // done when the socket closes
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	peers   map[*peer]bool
	pending map[net.Conn]bool // in the handshake
	byID    map[string]*peer
	closed  bool
}

// peer is one connection to a server.
type peer struct {
	s    *server
	conn *Conn
	id   string

	mu     sync.Mutex
	queue  []queued
	size   int            // of all in the queue
	lost   int            // messages that were left out since that was asked
	wake   chan struct{}  // capacity 1
	done   bool           // no more messages are taken
	topics map[string]int // guarded by the server's mutex

	written chan struct{} // closed when nothing will be written any more
}

// queued is a message that waits for a peer.
type queued struct {
	msg   [][]byte
	size  int
	lossy bool // it may be left out for a peer that does not keep up
}

func newServer(l net.Listener, typ string) *server {
	s := &server{l: l, typ: typ, peers: map[*peer]bool{}, pending: map[net.Conn]bool{}, byID: map[string]*peer{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// start accepts peers from now on.
func (s *server) start() {
	s.wg.Add(1)
	go s.accept()
}

func (s *server) accept() {
	defer s.wg.Done()
	for {
		nc, err := s.l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || s.ctx.Err() != nil {
				return
			}
			// Out of file descriptors, most likely; it passes.
			select {
			case <-s.ctx.Done():
				return
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		s.mu.Lock()
		if s.closed || len(s.peers)+len(s.pending) >= maxPeers {
			s.mu.Unlock()
			nc.Close()
			continue
		}
		s.pending[nc] = true
		s.wg.Add(1)
		s.mu.Unlock()
		go s.serve(nc)
	}
}

// serve handles a peer from its handshake to its end.
func (s *server) serve(nc net.Conn) {
	defer s.wg.Done()
	defer nc.Close()
	conn, err := open(nc, s.typ, "")
	p := &peer{s: s, conn: conn, wake: make(chan struct{}, 1), topics: map[string]int{}, written: make(chan struct{})}
	s.mu.Lock()
	delete(s.pending, nc)
	if err != nil || s.closed {
		s.mu.Unlock()
		return
	}
	p.id = conn.identity
	if p.id == "" {
		p.id = "\x00" + rand.Text()
	}
	// A peer that comes back under its old identity takes the place of its dead
	// connection.
	if old := s.byID[p.id]; old != nil {
		old.conn.Close()
	}
	s.byID[p.id] = p
	s.peers[p] = true
	s.mu.Unlock()
	go p.write()
	defer s.leave(p)

	conn.command = func(name string, body []byte) error {
		if s.command != nil {
			s.command(p, name, body)
		}
		return nil
	}
	if s.joined != nil {
		s.joined(p)
	}
	for {
		msg, err := conn.Read()
		if err != nil {
			return
		}
		s.received(p, msg)
	}
}

func (s *server) leave(p *peer) {
	s.mu.Lock()
	delete(s.peers, p)
	if s.byID[p.id] == p {
		delete(s.byID, p.id)
	}
	s.mu.Unlock()
	p.conn.SetWriteDeadline(time.Now().Add(linger))
	p.finish()
	<-p.written
}

// send queues a message for a peer. When its queue is full, what is lossy gives way; a peer whose queue is full in
// spite of that is disconnected.
func (p *peer) send(msg [][]byte, lossy bool) bool {
	q := queued{msg: msg, lossy: lossy}
	for _, f := range msg {
		q.size += len(f)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return false
	}
	full := func() bool {
		return len(p.queue) > 0 && (p.size+q.size > maxQueue || len(p.queue) >= maxWait)
	}
	if full() && lossy {
		p.lost++
		return true
	}
	if full() {
		p.shed()
	}
	if full() {
		p.done, p.queue = true, nil
		p.conn.Close()
		return false
	}
	p.queue = append(p.queue, q)
	p.size += q.size
	p.notify()
	return true
}

// shed leaves out what is lossy and waits. The mutex is held.
func (p *peer) shed() {
	p.queue = slices.DeleteFunc(p.queue, func(q queued) bool {
		if q.lossy {
			p.size -= q.size
			p.lost++
		}
		return q.lossy
	})
}

func (p *peer) notify() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// finish takes no more messages; those that wait are still written.
func (p *peer) finish() {
	p.mu.Lock()
	p.done = true
	p.notify()
	p.mu.Unlock()
}

// write writes what is queued until the peer is finished.
func (p *peer) write() {
	defer close(p.written)
	for range p.wake {
		for {
			p.mu.Lock()
			done := p.done
			if len(p.queue) > 0 {
				q := p.queue[0]
				p.queue[0] = queued{}
				p.queue, p.size = p.queue[1:], p.size-q.size
				p.mu.Unlock()
				if err := p.conn.Write(q.msg); err != nil {
					p.conn.Close() // which ends reading, too
					p.mu.Lock()
					p.done, p.queue = true, nil
					p.mu.Unlock()
					return
				}
				continue
			}
			p.mu.Unlock()
			if done {
				// Whoever still sends would turn the end into a
				// reset, which can take the last messages with it.
				if half, ok := p.conn.nc.(interface{ CloseWrite() error }); ok {
					half.CloseWrite()
				}
				return
			}
			break
		}
	}
}

// close stops accepting, writes what is queued, for at most the linger time, and
// ends all connections.
func (s *server) close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for nc := range s.pending {
		nc.Close()
	}
	peers := make([]*peer, 0, len(s.peers))
	for p := range s.peers {
		peers = append(peers, p)
	}
	s.mu.Unlock()
	s.cancel()
	err := s.l.Close()

	deadline := time.Now().Add(linger)
	for _, p := range peers {
		p.conn.SetWriteDeadline(deadline)
		p.conn.nc.SetReadDeadline(time.Now().Add(linger / 4))
		p.finish()
	}
	s.wg.Wait()
	return err
}

// Package zmtp is the part of ZeroMQ that a Jupyter kernel needs: the message
// transport protocol ZMTP 3.0 with the NULL mechanism over TCP and Unix sockets,
// and the three sockets a kernel listens on.
//
// A [Router] receives messages and sends each answer to one peer, a [Pub]
// sends to all who subscribed, an [Echo] returns what it gets. Each keeps a
// bounded queue for every peer, so that a peer that never reads holds up
// nobody else: when its queue is full, it is disconnected (ZeroMQ's own
// sockets then connect anew by themselves). What a peer sends is bounded, too:
// the size and number of frames, the number of peers, and the time a handshake
// may take; garbage ends that peer's connection and nothing else.
//
// [Dial] connects to such a socket elsewhere. A connection is a plain one:
// when the other side goes away, reading ends with an error.
package zmtp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of what a peer may send.
const (
	MaxMessage = 256 << 20 // bytes of all frames of a message
	maxFrames  = 4096      // frames of a message
	maxCommand = 64 << 10  // bytes of a command

	handshakeTimeout = 10 * time.Second
)

// Types of sockets, as the handshake names them.
const (
	typeRouter = "ROUTER"
	typeDealer = "DEALER"
	typePub    = "PUB"
	typeSub    = "SUB"
	typeRep    = "REP"
	typeReq    = "REQ"
)

// Flags of a frame.
const (
	flagMore    = 1
	flagLong    = 2
	flagCommand = 4
)

// compatible lists whom a socket may talk to.
var compatible = map[string][]string{
	typeRouter: {typeDealer, typeReq, typeRouter},
	typeDealer: {typeDealer, typeRep, typeRouter},
	typePub:    {typeSub, "XSUB"},
	typeSub:    {typePub, "XPUB"},
	typeRep:    {typeReq, typeDealer},
	typeReq:    {typeRep, typeRouter},
}

var errProtocol = errors.New("not ZMTP 3.0")

// Conn is a connection whose handshake is done. One goroutine may read and
// others write at the same time.
type Conn struct {
	nc       net.Conn
	r        *bufio.Reader
	peerType string
	identity string // what the peer calls itself; may be empty

	// command is told of commands between messages, except PING.
	command func(name string, body []byte) error

	mu sync.Mutex
	w  *bufio.Writer
}

// open does the handshake.
func open(nc net.Conn, typ, identity string) (*Conn, error) {
	c := &Conn{nc: nc, r: bufio.NewReaderSize(nc, 32<<10), w: bufio.NewWriterSize(nc, 32<<10)}
	if err := nc.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return nil, err
	}
	greeting := make([]byte, 64)
	greeting[0], greeting[9], greeting[10] = 0xff, 0x7f, 3
	copy(greeting[12:], "NULL")
	if _, err := nc.Write(greeting); err != nil {
		return nil, fmt.Errorf("greeting the peer: %w", err)
	}
	// Byte by byte as far as it can be wrong: a peer that speaks something
	// else is not waited for.
	if _, err := io.ReadFull(c.r, greeting[:11]); err != nil {
		return nil, fmt.Errorf("reading the peer's greeting: %w", err)
	}
	if greeting[0] != 0xff || greeting[9]&1 == 0 || greeting[10] < 3 {
		return nil, errProtocol
	}
	if _, err := io.ReadFull(c.r, greeting[11:]); err != nil {
		return nil, fmt.Errorf("reading the peer's greeting: %w", err)
	}
	if strings.TrimRight(string(greeting[12:32]), "\x00") != "NULL" {
		return nil, fmt.Errorf("the peer wants the mechanism %q, not NULL", strings.TrimRight(string(greeting[12:32]), "\x00"))
	}

	ready := property(nil, "Socket-Type", typ)
	ready = property(ready, "Identity", identity)
	if err := c.writeCommand("READY", ready); err != nil {
		return nil, fmt.Errorf("sending READY: %w", err)
	}
	flags, body, err := c.frame(maxCommand)
	if err != nil {
		return nil, fmt.Errorf("reading READY: %w", err)
	}
	name, body, ok := splitCommand(body)
	if flags&flagCommand == 0 || !ok || name != "READY" {
		return nil, errProtocol
	}
	if err := c.properties(body); err != nil {
		return nil, err
	}
	if !slices.Contains(compatible[typ], c.peerType) {
		return nil, fmt.Errorf("a %q socket cannot talk to this %s", c.peerType, typ)
	}
	return c, nc.SetDeadline(time.Time{})
}

// property appends a property of READY.
func property(b []byte, name, value string) []byte {
	b = append(b, byte(len(name)))
	b = append(b, name...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(value)))
	return append(b, value...)
}

// properties reads those of the peer's READY.
func (c *Conn) properties(b []byte) error {
	for len(b) > 0 {
		n := int(b[0])
		if len(b) < 1+n+4 {
			return errProtocol
		}
		name := string(b[1 : 1+n])
		size := binary.BigEndian.Uint32(b[1+n:])
		b = b[1+n+4:]
		if uint64(size) > uint64(len(b)) {
			return errProtocol
		}
		value := string(b[:size])
		b = b[size:]
		switch strings.ToLower(name) {
		case "socket-type":
			c.peerType = value
		case "identity":
			if len(value) > 255 {
				return errProtocol
			}
			c.identity = value
		}
	}
	return nil
}

// splitCommand splits a command's body into name and rest.
func splitCommand(b []byte) (name string, body []byte, ok bool) {
	if len(b) == 0 || len(b) < 1+int(b[0]) {
		return "", nil, false
	}
	return string(b[1 : 1+b[0]]), b[1+b[0]:], true
}

// frame reads a frame of at most limit bytes.
func (c *Conn) frame(limit int) (flags byte, body []byte, err error) {
	flags, err = c.r.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	if flags > flagMore|flagLong|flagCommand || flags&flagMore != 0 && flags&flagCommand != 0 {
		return 0, nil, errProtocol
	}
	var size uint64
	if flags&flagLong != 0 {
		var b [8]byte
		if _, err := io.ReadFull(c.r, b[:]); err != nil {
			return 0, nil, noEOF(err)
		}
		size = binary.BigEndian.Uint64(b[:])
	} else {
		b, err := c.r.ReadByte()
		if err != nil {
			return 0, nil, noEOF(err)
		}
		size = uint64(b)
	}
	if size > uint64(limit) {
		return 0, nil, fmt.Errorf("a frame of %d bytes is longer than the %d that are taken", size, limit)
	}
	// What is announced is believed only as it comes.
	const step = 1 << 20
	body = make([]byte, 0, min(size, step))
	for uint64(len(body)) < size {
		n := len(body)
		body = slices.Grow(body, int(min(size-uint64(n), max(step, uint64(n)))))
		body = body[:n+int(min(size-uint64(n), uint64(cap(body)-n)))]
		if _, err := io.ReadFull(c.r, body[n:]); err != nil {
			return 0, nil, noEOF(err)
		}
	}
	return flags, body, nil
}

// noEOF makes the end in the middle of something an error.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Read reads the next message. At the orderly end of the connection it returns
// io.EOF.
func (c *Conn) Read() ([][]byte, error) {
	var msg [][]byte
	left := MaxMessage
	for {
		flags, body, err := c.frame(left)
		if err != nil {
			if len(msg) > 0 {
				err = noEOF(err)
			}
			return nil, err
		}
		if flags&flagCommand != 0 {
			if err := c.gotCommand(body); err != nil {
				return nil, err
			}
			continue
		}
		left -= len(body)
		if msg = append(msg, body); len(msg) > maxFrames {
			return nil, fmt.Errorf("a message of more than %d frames", maxFrames)
		}
		if flags&flagMore == 0 {
			return msg, nil
		}
	}
}

func (c *Conn) gotCommand(b []byte) error {
	name, body, ok := splitCommand(b)
	switch {
	case !ok || len(b) > maxCommand:
		return errProtocol
	case name == "ERROR":
		return errors.New("the peer reports an error")
	case name == "PING" && len(body) >= 2:
		return c.writeCommand("PONG", body[2:])
	case c.command != nil:
		return c.command(name, body)
	}
	return nil
}

// Write writes a message. It may block for as long as the peer does not read.
func (c *Conn) Write(msg [][]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, body := range msg {
		flags := byte(0)
		if i < len(msg)-1 {
			flags = flagMore
		}
		c.put(flags, body)
	}
	return c.w.Flush()
}

func (c *Conn) writeCommand(name string, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(flagCommand, append(append([]byte{byte(len(name))}, name...), body...))
	return c.w.Flush()
}

// put writes a frame to the buffer, which keeps the first error.
func (c *Conn) put(flags byte, body []byte) {
	if len(body) > 255 {
		var head [9]byte
		head[0] = flags | flagLong
		binary.BigEndian.PutUint64(head[1:], uint64(len(body)))
		c.w.Write(head[:])
	} else {
		c.w.Write([]byte{flags, byte(len(body))})
	}
	c.w.Write(body)
}

// SetWriteDeadline bounds how long Write may block.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.nc.SetWriteDeadline(t) }

// Close ends the connection, and any Read and Write that runs.
func (c *Conn) Close() error { return c.nc.Close() }

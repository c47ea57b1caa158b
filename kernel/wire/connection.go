package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/modellog/modellog/kernel/zmtp"
)

// Connection is what a connection file says: where the kernel listens and how
// messages are signed.
type Connection struct {
	Transport       string `json:"transport"` // "tcp" or "ipc"
	IP              string `json:"ip"`        // or, for ipc, what the socket files' names begin with
	ShellPort       int    `json:"shell_port"`
	ControlPort     int    `json:"control_port"`
	StdinPort       int    `json:"stdin_port"`
	IOPubPort       int    `json:"iopub_port"`
	HeartbeatPort   int    `json:"hb_port"`
	SignatureScheme string `json:"signature_scheme"`
	Key             string `json:"key"` // "" for messages that are not signed
	KernelName      string `json:"kernel_name,omitempty"`
}

// maxConnectionFile is how long a connection file can be.
const maxConnectionFile = 64 << 10

// ReadConnection reads and checks a connection file.
func ReadConnection(path string) (Connection, error) {
	fail := func(err error) (Connection, error) {
		return Connection{}, fmt.Errorf("reading the connection file %s: %w", path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConnectionFile+1))
	if err != nil {
		return fail(err)
	}
	if len(data) > maxConnectionFile {
		return fail(fmt.Errorf("it is longer than %d KB", maxConnectionFile>>10))
	}
	c := Connection{Transport: "tcp", IP: "127.0.0.1"}
	if err := json.Unmarshal(data, &c); err != nil {
		return fail(err)
	}
	if err := c.validate(); err != nil {
		return fail(err)
	}
	return c, nil
}

func (c Connection) validate() error {
	if c.Transport != "tcp" && c.Transport != "ipc" {
		return fmt.Errorf("the transport is %q; only tcp and ipc exist here", c.Transport)
	}
	if c.Key != "" && c.SignatureScheme != "" && c.SignatureScheme != "hmac-sha256" {
		return fmt.Errorf("the signature scheme is %q; only hmac-sha256 exists here", c.SignatureScheme)
	}
	seen := map[int]string{}
	for _, p := range c.ports() {
		if p.port < 1 || p.port > 65535 {
			return fmt.Errorf("the %s port is %d", p.name, p.port)
		}
		if other := seen[p.port]; other != "" {
			return fmt.Errorf("%s and %s have the same port %d", other, p.name, p.port)
		}
		seen[p.port] = p.name
	}
	return nil
}

type namedPort struct {
	name string
	port int
}

func (c Connection) ports() []namedPort {
	return []namedPort{
		{"shell", c.ShellPort}, {"control", c.ControlPort}, {"stdin", c.StdinPort},
		{"iopub", c.IOPubPort}, {"heartbeat", c.HeartbeatPort},
	}
}

// Address returns the network and address of a port, as package net names them.
func (c Connection) Address(port int) (network, address string) {
	if c.Transport == "ipc" {
		return "unix", c.IP + "-" + strconv.Itoa(port)
	}
	ip := c.IP
	if ip == "*" {
		ip = ""
	}
	return "tcp", net.JoinHostPort(ip, strconv.Itoa(port))
}

// Sockets are what a kernel listens on.
type Sockets struct {
	Shell, Control, Stdin *zmtp.Router
	IOPub                 *zmtp.Pub
	Heartbeat             *zmtp.Echo
}

// Listen opens a kernel's sockets. What welcome returns goes to each new
// subscriber of IOPub first; it may be nil.
func Listen(c Connection, welcome func(topic string) [][]byte) (*Sockets, error) {
	var ls []net.Listener
	for _, p := range c.ports() {
		network, address := c.Address(p.port)
		l, err := listen(network, address)
		if err != nil {
			for _, l := range ls {
				l.Close()
			}
			return nil, fmt.Errorf("opening the %s socket: %w", p.name, err)
		}
		ls = append(ls, l)
	}
	return &Sockets{
		Shell:     zmtp.NewRouter(ls[0]),
		Control:   zmtp.NewRouter(ls[1]),
		Stdin:     zmtp.NewRouter(ls[2]),
		IOPub:     zmtp.NewPub(ls[3], welcome),
		Heartbeat: zmtp.NewEcho(ls[4]),
	}, nil
}

func listen(network, address string) (net.Listener, error) {
	if network == "unix" {
		// A socket file of a kernel that is gone is in the way.
		if st, err := os.Lstat(address); err == nil && st.Mode().Type() == fs.ModeSocket {
			c, err := net.DialTimeout(network, address, time.Second)
			if err == nil {
				c.Close()
				return nil, fmt.Errorf("%s is in use", address)
			}
			if err := os.Remove(address); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	if network == "unix" {
		if err := os.Chmod(address, 0o600); err != nil {
			l.Close()
			return nil, err
		}
	}
	return l, nil
}

// Close sends what is queued and closes all sockets.
func (s *Sockets) Close() error {
	errs := make(chan error, 5)
	for _, c := range []io.Closer{s.Shell, s.Control, s.Stdin, s.IOPub, s.Heartbeat} {
		go func() { errs <- c.Close() }()
	}
	var all []error
	for range cap(errs) {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Listen opens an address: "127.0.0.1:8011", or "unix:" and a path. A port of 0 is one that is free. An address
// that other machines reach is refused where the server has no tokens. A Unix socket is made
// for this user alone, in the place of one that nobody listens on any more.
func (s *Server) Listen(ctx context.Context, address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return listenUnix(ctx, path)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("the address %q is none; give one such as 127.0.0.1:8011 or unix:PATH", address)
	}
	if len(s.tokens) == 0 && !loopback(host) {
		return nil, fmt.Errorf("other machines reach %s, and whoever reaches it could use the model; listen on 127.0.0.1, or have requests show a token (modellog serve --token-from-env)", address)
	}
	network := "tcp"
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		network = "tcp4" // 0.0.0.0 would be all addresses of IPv6, too
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, network, address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another program listens on %s; end it, or take another port", address)
	}
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	if at, ok := l.Addr().(*net.TCPAddr); len(s.tokens) == 0 && (!ok || !at.IP.IsLoopback()) {
		l.Close()
		return nil, fmt.Errorf("%s is the address %v, which other machines reach; listen on 127.0.0.1, or have requests show a token", address, l.Addr())
	}
	return l, nil
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// maxPath is the longest path of a socket: what the systems take, without the folder that it is made in.
const maxPath = 85

// listenUnix makes a socket where nobody listens.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if path == "" {
		return nil, errors.New("the address unix: has no path; give one such as unix:/run/user/1000/modellog.sock")
	}
	if len(path) > maxPath {
		return nil, fmt.Errorf("listening on %s: the path of a socket has at most %d bytes; give a shorter one", path, maxPath)
	}
	switch info, err := os.Lstat(path); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	case info.Mode().Type() != os.ModeSocket:
		return nil, fmt.Errorf("%s is there and no socket; remove it, or give another path", path)
	default:
		var d net.Dialer
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		nc, err := d.DialContext(ctx, "unix", path)
		if err == nil {
			nc.Close()
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("another program listens on %s; end it, or give another path", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("removing a socket that nobody listens on: %w", err)
		}
	}
	return bindUnix(ctx, path)
}

// unixListener takes its socket away in the end.
type unixListener struct {
	net.Listener
	path string
	made os.FileInfo
}

func (l *unixListener) Close() error {
	err := l.Listener.Close()
	// Another program may have put its own there.
	if now, statErr := os.Lstat(l.path); statErr == nil && os.SameFile(now, l.made) {
		err = errors.Join(err, os.Remove(l.path))
	}
	return err
}

// bindUnix makes the socket in a folder that only this user can enter, and moves it into its place when
// only this user can open it.
func bindUnix(ctx context.Context, path string) (net.Listener, error) {
	fail := func(err error) (net.Listener, error) {
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".s")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	var config net.ListenConfig
	first := filepath.Join(dir, "s")
	l, err := config.Listen(ctx, "unix", first)
	if err != nil {
		return fail(err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	made, err := os.Lstat(first)
	if err == nil {
		err = os.Chmod(first, 0o600)
	}
	if err == nil {
		err = os.Rename(first, path)
	}
	if err != nil {
		l.Close()
		return fail(err)
	}
	return &unixListener{l, path, made}, nil
}

const (
	headerTime = 10 * time.Second // for a request's header
	writeTime  = time.Minute      // for an answer, or a part of one, to be taken
	idleTime   = 2 * time.Minute  // between requests of a connection
	maxHeader  = 64 << 10
)

// Serve answers requests at a listener until ctx ends. Then no more are taken, those that are under way are
// answered, and Serve returns nil.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // of what clients do wrong
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("answering at %v: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.Time)
	defer cancel()
	err := h.Shutdown(drain)
	<-ended
	if err != nil {
		err = errors.Join(fmt.Errorf("ending: %w", err), h.Close())
	}
	return err
}

package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// endpoint is one server.
type endpoint struct {
	base    *url.URL // up to its /v1
	key     string
	client  *http.Client
	options Options
	plain   atomic.Bool // takes no fields besides the protocol's

	answered atomic.Bool // at least once

	// Guarded by the pool's lock.
	busy  int                                   // requests under way
	out   error                                 // why it was taken out; nil while it is used
	calls map[*context.CancelCauseFunc]struct{} // end the requests that are under way
}

func newEndpoint(address string, o Options) (*endpoint, error) {
	base, err := parse(address)
	if err != nil {
		return nil, err
	}
	e := &endpoint{
		base:    base,
		options: o,
		calls:   make(map[*context.CancelCauseFunc]struct{}),
		// A redirection would send the key elsewhere.
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.MaxIdleConnsPerHost = o.Parallel
		e.client.Transport = t
	}
	e.plain.Store(base.Hostname() == "api.openai.com")
	e.key, err = key(base)
	return e, err
}

func parse(address string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimSpace(address))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		// The address is not repeated: it may have a password in it.
		return nil, errors.New("the address of an OpenAI-compatible server is none; give one such as openai:http://127.0.0.1:8000/v1#NAME")
	}
	if base.User != nil || base.RawQuery != "" {
		return nil, fmt.Errorf("the address of the server at %s has a user, a password or a query in it; a key belongs into the environment variable MODELLOG_OPENAI_KEY", base.Host)
	}
	base.Fragment, base.ForceQuery = "", false
	base.Path = strings.TrimRight(base.Path, "/")
	if base.Path == "" {
		base.Path = "/v1"
	}
	return base, nil
}

// key finds the key for a server.
func key(base *url.URL) (string, error) {
	k := os.Getenv("MODELLOG_OPENAI_KEY")
	if k == "" {
		own, err := url.Parse(os.Getenv("OPENAI_BASE_URL"))
		if base.Host == "api.openai.com" || err == nil && own.Host != "" && own.Host == base.Host {
			k = os.Getenv("OPENAI_API_KEY")
		}
	}
	k = strings.TrimSpace(k)
	if k == "" {
		return "", nil
	}
	if strings.ContainsFunc(k, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("the key for the OpenAI-compatible server in the environment has characters that no key has")
	}
	if ip := net.ParseIP(base.Hostname()); base.Scheme != "https" && base.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", fmt.Errorf("a key is set in the environment, and would go to %s unencrypted; use https, or unset MODELLOG_OPENAI_KEY", base.Host)
	}
	return k, nil
}

// at is the address of one of the protocol's own paths.
func (e *endpoint) at(path string) string { return e.base.String() + path }

// beside is the address of a path that a server has next to the protocol's /v1.
func (e *endpoint) beside(path string) string {
	return strings.TrimSuffix(e.base.String(), "/v1") + path
}

// pool spreads requests over servers, each of which has so many at a time, and takes
// those out that fail.
type pool struct {
	all  []*endpoint
	warn func(string)

	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, when a server is free or taken out
}

func newPool(all []*endpoint, warn func(string)) *pool {
	return &pool{all: all, warn: warn, changed: make(chan struct{})}
}

// slots is how many requests may be under way.
func (p *pool) slots() int {
	n := 0
	for _, e := range p.all {
		n += e.options.Parallel
	}
	return n
}

// GoneError reports that none of several servers answers.
type GoneError struct {
	Errors []error // one of each server
}

func (e *GoneError) Error() string {
	all := make([]string, len(e.Errors))
	for i, err := range e.Errors {
		all[i] = err.Error()
	}
	return fmt.Sprintf("none of the %d servers answers any more: %s", len(all), strings.Join(all, "; "))
}

func (e *GoneError) Unwrap() []error { return e.Errors }

// errOut ends the requests at a server that is taken out.
var errOut = errors.New("the server was taken out")

// finalError is an error after which no other server is asked.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

func final(err error) error {
	if err == nil {
		return nil
	}
	return finalError{err}
}

// dead says whether an error, after all retries, is of a server that cannot be used,
// and not of what was asked.
func dead(err error) bool {
	var late *lateError
	return retry(err) || errors.As(err, &late)
}

// revive has all servers tried again where none is left.
func (p *pool) revive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.ContainsFunc(p.all, func(e *endpoint) bool { return e.out == nil }) {
		return
	}
	for _, e := range p.all {
		e.out = nil
	}
}

// do has a server do something, and another one where the first fails.
func (p *pool) do(ctx context.Context, ask func(ctx context.Context, e *endpoint) error) error {
	for {
		e, call, done, err := p.acquire(ctx)
		if err != nil {
			return err
		}
		err = ask(call, e)
		done()
		var last finalError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &last):
			return last.error
		case errors.Is(err, errOut):
			continue
		case len(p.all) == 1 || !dead(err):
			return err
		}
		p.drop(e, err)
	}
}

// acquire waits for the server that has the least to do. The context ends when that
// server is taken out, and done gives it back.
func (p *pool) acquire(ctx context.Context) (e *endpoint, call context.Context, done func(), err error) {
	for {
		p.mu.Lock()
		var gone []error
		for _, other := range p.all {
			switch {
			case other.out != nil:
				gone = append(gone, other.out)
			case other.busy < other.options.Parallel && (e == nil || other.busy < e.busy):
				e = other
			}
		}
		if e != nil {
			call, cancel := context.WithCancelCause(ctx)
			e.busy++
			e.calls[&cancel] = struct{}{}
			p.mu.Unlock()
			return e, call, func() {
				cancel(nil)
				p.mu.Lock()
				defer p.mu.Unlock()
				e.busy--
				delete(e.calls, &cancel)
				p.signal()
			}, nil
		}
		changed := p.changed
		p.mu.Unlock()
		if len(gone) == len(p.all) {
			return nil, nil, nil, &GoneError{gone}
		}
		select {
		case <-ctx.Done():
			return nil, nil, nil, context.Cause(ctx)
		case <-changed:
		}
	}
}

// signal wakes those who wait. The lock is held.
func (p *pool) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// drop takes a server out.
func (p *pool) drop(e *endpoint, err error) {
	p.mu.Lock()
	first := e.out == nil
	left := 0
	if first {
		e.out = err
		for cancel := range e.calls {
			(*cancel)(errOut)
		}
		p.signal()
		for _, other := range p.all {
			if other.out == nil {
				left++
			}
		}
	}
	p.mu.Unlock()
	if first && left > 0 {
		p.warn(fmt.Sprintf("%v; its work goes to the other servers (%d of %d left)", err, left, len(p.all)))
	}
}

// defaults fills in what the options leave out.
func (o Options) defaults() Options {
	o.Parallel, o.Timeout = cmp.Or(o.Parallel, 4), cmp.Or(o.Timeout, 10*time.Minute)
	o.Retries, o.Backoff = cmp.Or(o.Retries, 5), cmp.Or(o.Backoff, time.Second/2)
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return o
}

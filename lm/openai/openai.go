// Package openai has models written with by servers that speak OpenAI's protocol:
// vLLM, llama-server, llama-cpp-python, Ollama's /v1, OpenAI itself.
//
// # What is asked
//
// A conversation is sent to /chat/completions and goes through the template that
// the server has for the model; a prompt is sent to /completions and is continued.
// The request's temperature, top-p, seed and stop texts are sent as they are. The
// protocol has no top-k and no way to end the filters and penalties that a server
// has by default; most servers take fields for that, which are sent to all but
// OpenAI's own, and left out for one that refuses them (where the request has a
// top-k, that is an error).
//
// What a server makes of a message that spells a special token, and whether it cuts
// a prompt that is too long, is its own affair: Ollama's /v1 cuts without a word.
// Package ollama speaks to it better.
//
// # Keys
//
// A key comes from the environment and from nowhere else: MODELLOG_OPENAI_KEY is for
// any server, OPENAI_API_KEY for api.openai.com and for the server that
// OPENAI_BASE_URL names. It is sent over https, or to this machine; it is in no
// error, even where a server repeats it, and redirections are not followed with it.
//
// # When something is wrong
//
// A server that is busy or falters (429, 408, 5xx, a lost connection) is asked
// again, later each time and not before its Retry-After, as long as nothing of its
// answer has been handed on. An answer is checked and its size bounded.
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
	"sync/atomic"
	"time"

	"github.com/modellog/modellog/lm"
)

// Options say how a server is used. The zero value is the default.
type Options struct {
	// Parallel is how many requests are under way at a time; 4 if zero.
	Parallel int
	// Timeout bounds the wait for an answer, or for the next part of one that
	// comes in parts; 10 minutes if zero.
	Timeout time.Duration
	// Retries is how often a request is sent again at most; 5 if zero, none if
	// negative.
	Retries int
	// Backoff is the wait before the first retry, which doubles each time, up
	// to a minute; half a second if zero.
	Backoff time.Duration
}

// Model is a model that a server runs. It writes ([lm.Generator]) and cannot be
// read: the protocol has no tokens.
type Model struct {
	base    *url.URL
	key     string
	client  *http.Client
	info    lm.Info
	slots   chan struct{}
	options Options
	plain   atomic.Bool // takes no fields besides the protocol's
	closed  atomic.Bool
}

var (
	_ lm.Model     = (*Model)(nil)
	_ lm.Generator = (*Model)(nil)
)

// ErrNoReadings is returned, wrapped, by the methods that need a model's tokens.
var ErrNoReadings = errors.New("a server of OpenAI's protocol only writes here, and gives no next-token distributions; use the embedded engine (gguf:PATH) or an Ollama server (ollama:NAME) for constraints")

// Open prepares the model of that name on the server at address for writing, such
// as "http://127.0.0.1:8000/v1"; without a path, /v1 is added. The server is asked
// whether it has the model; an empty name is the only model that it has.
func Open(ctx context.Context, address, name string, o Options) (*Model, error) {
	base, err := parse(address)
	if err != nil {
		return nil, err
	}
	if o.Parallel < 0 || o.Timeout < 0 || o.Backoff < 0 {
		return nil, fmt.Errorf("opening %s: Parallel, Timeout and Backoff cannot be negative", base)
	}
	o.Parallel, o.Timeout, o.Retries, o.Backoff = cmp.Or(o.Parallel, 4), cmp.Or(o.Timeout, 10*time.Minute), cmp.Or(o.Retries, 5), cmp.Or(o.Backoff, time.Second/2)
	m := &Model{
		base:    base,
		options: o,
		slots:   make(chan struct{}, o.Parallel),
		// A redirection would send the key elsewhere.
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.MaxIdleConnsPerHost = o.Parallel
		m.client.Transport = t
	}
	m.plain.Store(base.Hostname() == "api.openai.com")
	if m.key, err = key(base); err != nil {
		return nil, err
	}
	names, err := m.models(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening the model %q: %w", name, err)
	}
	switch {
	case name == "" && len(names) == 1:
		name = names[0]
	case name == "":
		return nil, fmt.Errorf("the server at %s has %d models; name one behind the address, as in openai:%s#NAME", base, len(names), base)
	case len(names) > 0 && !slices.Contains(names, name):
		return nil, fmt.Errorf("the server at %s does not have the model %q; it has %s", base, name, some(names))
	}
	m.info = lm.Info{Name: name, Backend: "openai", Precision: "server", Revision: base.String(), Path: base.String()}
	return m, nil
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
	base.Fragment = ""
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

// some lists a few names.
func some(names []string) string {
	const most = 8
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Info describes the model, of which a server tells little.
func (m *Model) Info() lm.Info { return m.info }

// Tokenize fails with [ErrNoReadings].
func (m *Model) Tokenize(context.Context, string) ([]lm.Token, error) {
	return nil, fmt.Errorf("tokenising with %s: %w", m.info.Name, ErrNoReadings)
}

// Piece returns nil.
func (m *Model) Piece(lm.Token) []byte { return nil }

// Read fails with [ErrNoReadings].
func (m *Model) Read(context.Context, [][]lm.Token, func(int, lm.Distribution) error) error {
	return fmt.Errorf("reading with %s: %w", m.info.Name, ErrNoReadings)
}

// Close ends the use of the model.
func (m *Model) Close() error {
	m.closed.Store(true)
	m.client.CloseIdleConnections()
	return nil
}

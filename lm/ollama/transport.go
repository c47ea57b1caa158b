package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/ollama/ollama/api"
)

// The largest bodies that are read, by what is asked for.
const (
	maxMetadata = 128 << 20 // of a large vocabulary with its merges: some 15 MB for 262,144 tokens
	maxAnswer   = 4 << 20
	maxError    = 64 << 10
	maxStream   = 64 << 20 // of an answer's parts with all that is said around them
)

// checkedTransport reads each answer whole, and lets through only what an
// Ollama server can have said: JSON of bounded size that is all there. The
// client behind it reads without a limit, and takes the end of a connection for
// the end of an answer.
type checkedTransport struct {
	base   http.RoundTripper
	server string
}

func (t *checkedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	limit := int64(maxAnswer)
	switch {
	case resp.StatusCode >= 400:
		limit = maxError
	case strings.HasSuffix(req.URL.Path, "/api/show"):
		limit = maxMetadata
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil && req.Context().Err() != nil:
		return nil, req.Context().Err()
	case err != nil:
		return nil, &brokenOffError{server: t.server, err: err}
	case int64(len(body)) > limit && resp.StatusCode >= 400:
		body = body[:limit]
	case int64(len(body)) > limit:
		return nil, &notOllamaError{server: t.server, what: fmt.Sprintf("an answer of more than %d MB", limit>>20)}
	}
	if resp.StatusCode < 400 {
		if err := t.check(req, resp, body); err != nil {
			return nil, err
		}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	return resp, nil
}

func (t *checkedTransport) check(req *http.Request, resp *http.Response, body []byte) error {
	if resp.StatusCode != http.StatusOK {
		return &notOllamaError{server: t.server, what: "status " + resp.Status}
	}
	if !isJSON(resp) {
		return &notOllamaError{server: t.server, what: fmt.Sprintf("%s of type %q", excerpt(body), resp.Header.Get("Content-Type"))}
	}
	var err error
	if strings.HasSuffix(req.URL.Path, "/api/generate") {
		err = checkAnswer(body)
	} else if !json.Valid(body) {
		err = fmt.Errorf("%s, which is no JSON", excerpt(body))
	}
	if err != nil {
		return &notOllamaError{server: t.server, what: err.Error()}
	}
	return nil
}

func isJSON(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && (kind == "application/json" || kind == "application/x-ndjson")
}

// streamTransport hands an answer's parts on as they come. What is no answer is
// read whole.
type streamTransport struct {
	checked *checkedTransport
}

func (t *streamTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.checked.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK && isJSON(resp) {
		// Where it is cut off here, the end is missing.
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxStream), resp.Body}
		return resp, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil {
		return nil, &brokenOffError{server: t.checked.server, err: err}
	}
	if resp.StatusCode < 400 {
		return nil, t.checked.check(req, resp, body)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// excerpt quotes the beginning of a body.
func excerpt(body []byte) string {
	const most = 80
	if len(body) == 0 {
		return "an empty answer"
	}
	if len(body) <= most {
		return fmt.Sprintf("%q", body)
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(body[cut]) {
		cut--
	}
	return fmt.Sprintf("%q…", body[:cut])
}

// brokenOffError is a connection that ended before the answer did.
type brokenOffError struct {
	server string
	err    error
}

func (e *brokenOffError) Error() string {
	return fmt.Sprintf("the Ollama server at %s broke off in the middle of an answer (%v); look into its log, start it again with `ollama serve`, and repeat", e.server, e.err)
}

func (e *brokenOffError) Unwrap() error { return e.err }

// notOllamaError is an answer that no Ollama server gives.
type notOllamaError struct {
	server, what string
}

func (e *notOllamaError) Error() string {
	return fmt.Sprintf("what answers at %s is no Ollama server, or one that is not understood: it sent %s; set OLLAMA_HOST to the address of an Ollama server", e.server, e.what)
}

// explain turns an error of the client into one that says what to do.
func (m *Model) explain(ctx context.Context, name string, err error) error {
	var (
		broken  *brokenOffError
		foreign *notOllamaError
		status  api.StatusError
		auth    api.AuthorizationError
		refused net.Error
	)
	switch {
	case errors.As(err, &broken):
		return broken
	case errors.As(err, &foreign):
		return foreign
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the Ollama server at %s did not answer in time; look into its log, or try a smaller model: %w", m.server, context.DeadlineExceeded)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &auth):
		return fmt.Errorf("the server at %s asks for a login (status %d); set OLLAMA_HOST to the address of an Ollama server of your own", m.server, auth.StatusCode)
	case errors.As(err, &status):
		return m.explainStatus(name, status)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return &brokenOffError{server: m.server, err: unwrapURL(err)}
	case errors.As(err, &refused):
		return fmt.Errorf("no Ollama server answers at %s (%v); start it with `ollama serve`, or set OLLAMA_HOST to where it runs", m.server, unwrapURL(err))
	}
	// Whatever else the client says of an answer that the transport let
	// through: JSON of another shape.
	return &notOllamaError{server: m.server, what: fmt.Sprintf("something else than what was asked for (%v)", err)}
}

func (m *Model) explainStatus(name string, status api.StatusError) error {
	message := excerptLine(status.ErrorMessage)
	switch {
	case status.StatusCode == http.StatusNotFound && name != "" && strings.Contains(status.ErrorMessage, "not found") && !strings.Contains(status.ErrorMessage, "404 page"):
		return fmt.Errorf("the Ollama server at %s does not have the model %s; get it with `ollama pull %s`, or see `ollama list` for the models it has", m.server, name, name)
	case status.StatusCode == http.StatusNotFound:
		return &notOllamaError{server: m.server, what: "status 404 and " + message}
	case status.StatusCode == http.StatusServiceUnavailable:
		return fmt.Errorf("the Ollama server at %s is too busy (%s); wait, and repeat", m.server, message)
	case status.StatusCode >= 500:
		return fmt.Errorf("the Ollama server at %s failed (status %d: %s); look into its log, and check that the model runs with `ollama run %s`", m.server, status.StatusCode, message, name)
	}
	return fmt.Errorf("the Ollama server at %s refused the request (status %d: %s)", m.server, status.StatusCode, message)
}

// excerptLine shortens a server's message to one line.
func excerptLine(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if message == "" {
		return "no reason given"
	}
	const most = 300
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most], "") + "…"
	}
	return message
}

// unwrapURL leaves out the method and address that net/http puts in front.
func unwrapURL(err error) error {
	for {
		inner := errors.Unwrap(err)
		if _, ok := err.(interface{ Temporary() bool }); !ok || inner == nil {
			return err
		}
		err = inner
	}
}

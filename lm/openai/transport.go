package openai

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
)

// The largest bodies that are read.
const (
	maxAnswer = 4 << 20
	maxError  = 64 << 10
	maxStream = 64 << 20 // of an answer in parts
	maxLine   = 1 << 20  // of a part
)

const (
	mostBackoff = time.Minute
	// patience is the longest Retry-After that is waited for.
	patience = 10 * time.Minute
)

// StatusError is a server's refusal.
type StatusError struct {
	Server  string
	Status  int    // of HTTP
	Message string // the server's own, in one line
}

func (e *StatusError) Error() string {
	switch {
	case e.Status/100 == 3:
		return fmt.Sprintf("the server at %s sends on to another address (status %d), where the key in the environment does not belong; give that address if it is right", e.Server, e.Status)
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return fmt.Sprintf("the server at %s asks for a key, or refuses the one it was given (status %d: %s); set MODELLOG_OPENAI_KEY in the environment", e.Server, e.Status, e.Message)
	case e.Status == http.StatusTooManyRequests:
		return fmt.Sprintf("the server at %s has had too many requests (%s); wait, or ask for fewer at a time", e.Server, e.Message)
	case e.Status == http.StatusNotFound:
		return fmt.Sprintf("the server at %s does not have what was asked for (%s); is the address right, up to its /v1?", e.Server, e.Message)
	case strings.Contains(e.Message, "logits_all"):
		return fmt.Sprintf("the server at %s gives no log-probabilities (%s); start it with --logits_all true", e.Server, e.Message)
	case e.Status >= 500:
		return fmt.Sprintf("the server at %s failed (status %d: %s); look into its log", e.Server, e.Status, e.Message)
	}
	return fmt.Sprintf("the server at %s refused the request (status %d: %s)", e.Server, e.Status, e.Message)
}

// AnswerError is an answer that no server of the protocol gives.
type AnswerError struct {
	Server, What string
}

func (e *AnswerError) Error() string {
	return fmt.Sprintf("what answers at %s does not speak OpenAI's protocol, or breaks it: it sent %s; check the address", e.Server, e.What)
}

// lostError is a connection that could not be made, or ended before the answer did.
type lostError struct {
	server string
	says   string // the error's text, without the key
	err    error
}

func (e *endpoint) lost(err error) *lostError {
	return &lostError{e.base.String(), e.hide(err.Error()), err}
}

func (e *lostError) Error() string {
	var certificate *tls.CertificateVerificationError
	if errors.As(e.err, &certificate) {
		return fmt.Sprintf("the server at %s cannot prove that it is the one of that name (%v); SSL_CERT_FILE names the certificates of those who may vouch for it", e.server, e.says)
	}
	return fmt.Sprintf("the connection to the server at %s failed (%s); is it running?", e.server, e.says)
}

func (e *lostError) Unwrap() error { return e.err }

// lasting says whether the reason is none that passes by itself: nothing listens there, there is no such name, or
// what answers is not who it should be or speaks no TLS.
func (e *lostError) lasting() bool {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.Is(e.err, syscall.ECONNREFUSED) || errors.As(e.err, &name) && name.IsNotFound || errors.As(e.err, &certificate) ||
		errors.As(e.err, &record) || strings.Contains(e.err.Error(), "HTTP response to HTTPS client")
}

// lateError is a server that does not answer in time.
type lateError struct {
	server  string
	timeout time.Duration
}

func (e *lateError) Error() string {
	return fmt.Sprintf("the server at %s did not answer in %v; look into its log, or ask for less at a time", e.server, e.timeout)
}

// retry says whether a request may be sent again after an error.
func retry(err error) bool {
	var lost *lostError
	var status *StatusError
	switch {
	case errors.As(err, &lost):
		return true
	case errors.As(err, &status):
		// llama-cpp-python's word that it was started without --logits_all is no failure that passes.
		return !strings.Contains(status.Message, "logits_all") && (status.Status == http.StatusTooManyRequests || status.Status == http.StatusRequestTimeout || status.Status >= 500 && status.Status != http.StatusNotImplemented)
	}
	return false
}

// send sends a request as often as it takes and hands the body of the answer to
// read. It is not sent again once handed says that something was handed on.
func (e *endpoint) send(ctx context.Context, method, url, accept string, body []byte, read func(ctx context.Context, r io.Reader) error, handed func() bool) error {
	for attempt := 0; ; attempt++ {
		after, err := e.sendOnce(ctx, method, url, accept, body, read)
		if err == nil {
			e.answered.Store(true)
		}
		// What never was there is not waited for.
		var lost *lostError
		never := errors.As(err, &lost) && lost.lasting() && !e.answered.Load()
		if err == nil || never || ctx.Err() != nil || attempt >= e.options.Retries || handed() || !retry(err) {
			if err != nil && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
		if after > patience {
			return fmt.Errorf("%w; it asks to be left alone for %v", err, after.Round(time.Second))
		}
		wait := min(e.options.Backoff<<min(attempt, 20), mostBackoff)
		// Several that were refused together come back one by one.
		wait = max(after, wait/2+rand.N(wait/2+1))
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
}

var errLate = errors.New("no answer in time")

// sendOnce sends a request and returns the answer's Retry-After.
func (e *endpoint) sendOnce(ctx context.Context, method, url, accept string, body []byte, read func(ctx context.Context, r io.Reader) error) (after time.Duration, err error) {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(e.options.Timeout, func() { cancel(errLate) })
	defer late.Stop()
	lost := func(err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case context.Cause(limited) == errLate:
			return &lateError{e.base.String(), e.options.Timeout}
		}
		return e.lost(inner(err))
	}
	req, err := http.NewRequestWithContext(limited, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept", accept)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if e.key != "" {
		req.Header.Set("Authorization", "Bearer "+e.key)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return 0, lost(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
		if err != nil {
			return 0, lost(err)
		}
		return retryAfter(resp.Header.Get("Retry-After")), &StatusError{e.base.String(), resp.StatusCode, e.hide(message(text))}
	}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != accept {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // as much as there is, for the message
		return 0, &AnswerError{e.base.String(), fmt.Sprintf("%s of type %q", e.hide(excerpt(text)), resp.Header.Get("Content-Type"))}
	}
	// The timer starts anew with each part.
	watched := &watchedReader{r: resp.Body, read: func() { late.Reset(e.options.Timeout) }}
	if err := read(limited, watched); err != nil {
		if watched.err != nil {
			return 0, lost(watched.err)
		}
		return 0, err
	}
	return 0, nil
}

// watchedReader remembers the error that ended it before its end.
type watchedReader struct {
	r    io.Reader
	read func()
	err  error
}

func (w *watchedReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	if n > 0 {
		w.read()
	}
	return n, err
}

// retryAfter reads the header, which is a number of seconds or a time.
func retryAfter(header string) time.Duration {
	if s, err := strconv.ParseFloat(strings.TrimSpace(header), 64); err == nil && s >= 0 {
		const most = 1e9 // some decades, which a Duration holds
		return time.Duration(min(s, most) * float64(time.Second))
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// message is what an error's body says, in one line.
func message(body []byte) string {
	var known struct {
		Error   json.RawMessage
		Message string
		Detail  json.RawMessage
	}
	text := string(body)
	if json.Unmarshal(body, &known) == nil {
		var inner struct{ Message string }
		var plain string
		switch {
		case json.Unmarshal(known.Error, &inner) == nil && inner.Message != "":
			text = inner.Message
		case json.Unmarshal(known.Error, &plain) == nil && plain != "":
			text = plain
		case known.Message != "":
			text = known.Message
		case len(known.Detail) > 0:
			text = string(known.Detail)
		}
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\ufffd")), " ")
	if text == "" {
		return "no reason given"
	}
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// excerpt quotes the beginning of a body.
func excerpt(body []byte) string {
	const most = 80
	switch {
	case len(body) == 0:
		return "an empty answer"
	case len(body) <= most:
		return fmt.Sprintf("%q", body)
	}
	return fmt.Sprintf("%q…", strings.ToValidUTF8(string(body[:most]), ""))
}

// hide takes the key out of what a server says, and what would have a terminal do something.
func (e *endpoint) hide(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, text)
	if e.key == "" {
		return text
	}
	text = strings.ReplaceAll(text, e.key, "[key]")
	// Some repeat a part of it.
	if n := len(e.key); n > 12 {
		text = strings.ReplaceAll(text, e.key[n-4:], "[key]")
		text = strings.ReplaceAll(text, e.key[:8], "[key]")
	}
	return text
}

// inner leaves out the method and address that net/http puts in front.
func inner(err error) error {
	for {
		next := errors.Unwrap(err)
		if _, ok := err.(interface{ Temporary() bool }); !ok || next == nil {
			return err
		}
		err = next
	}
}

// get asks for what is at an address and reads it as JSON.
func (e *endpoint) get(ctx context.Context, url string, into any) error {
	return e.send(ctx, http.MethodGet, url, "application/json", nil, func(_ context.Context, r io.Reader) error {
		return e.decode(r, maxAnswer, into)
	}, func() bool { return false })
}

// post sends a value and reads the answer, of limit bytes at most, as JSON.
func (e *endpoint) post(ctx context.Context, url string, v any, limit int64, into any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding the request: %w", err)
	}
	return e.send(ctx, http.MethodPost, url, "application/json", body, func(_ context.Context, r io.Reader) error {
		return e.decode(r, limit, into)
	}, func() bool { return false })
}

// absent says whether an error is a server's word that it has no such thing.
func absent(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && (status.Status == http.StatusNotFound || status.Status == http.StatusMethodNotAllowed || status.Status == http.StatusNotImplemented)
}

// decode reads one JSON value and nothing else.
func (e *endpoint) decode(r io.Reader, limit int64, into any) error {
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return err
	case int64(len(body)) > limit:
		return &AnswerError{e.base.String(), fmt.Sprintf("an answer of more than %d MB", limit>>20)}
	}
	if err := json.Unmarshal(body, into); err != nil {
		return &AnswerError{e.base.String(), e.hide(excerpt(body)) + e.hide(reason(err)) + ", which is not what was asked for"}
	}
	return nil
}

// reason is what a value's own check says against it; that something is no JSON, or of another shape,
// can be seen.
func reason(err error) string {
	var wrong *wrongList
	if errors.As(err, &wrong) {
		return " (" + wrong.Error() + ")"
	}
	return ""
}

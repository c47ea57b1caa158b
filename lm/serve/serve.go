// Package serve gives the readings of models to other programs, over HTTP, in the
// form of OpenAI's completions and vLLM's additions to it.
//
// The command `modellog serve` is this package with the models that it is told:
//
//	modellog serve -m smollm2:135m-instruct
//	curl http://127.0.0.1:8011/v1/completions -H 'Content-Type: application/json' \
//	    -d '{"prompt": "A robin is a", "max_tokens": 0, "echo": true, "logprobs": 5}'
//
// # What is answered
//
//	GET  /v1/models        the models that are served
//	POST /v1/completions   log-probabilities of a text's tokens, and texts that are continued
//	POST /tokenize         a text's tokens, in vLLM's form
//	POST /detokenize       tokens' text, in vLLM's form
//	GET  /tokenizer_info   the names of the marks around a text, in vLLM's form
//	GET  /health           200 as long as requests are taken
//
// A prompt is a text, a list of tokens, or a list of either. A text has the
// beginning-of-sequence token in front exactly where the model's metadata asks for
// it, unless add_special_tokens is false; a list of tokens is given to the model as it is.
//
// With echo and logprobs each token of the prompt has the logarithm of its
// probability after those before it, and the most probable tokens there, as many as are asked for: all of the
// vocabulary with -1. All of it is of the model's own distribution, whatever the
// temperature. The logprobs are of the text: a beginning-of-sequence token that was
// put in front has no entry, and the first token's number is null only where nothing
// stands before it. In top_logprobs the token that is there is listed beside the most probable.
// A token is named by its text, by "bytes:" and its bytes as \x and
// two digits where these are no UTF-8, and by "token_id:" and its number with
// return_tokens_as_token_ids; of tokens with one name the most probable is listed. The numbers of
// prompt_logprobs are vLLM's: of all that the model was given, by the tokens'
// numbers, with their ranks.
//
// What is written ends at max_tokens (16 where it is not said), at a text of stop, and where the model ends it; the
// token that ends it has an entry in the logprobs and no text. With n there are several continuations,
// the i-th drawn with the seed + i, i from 0. A parameter that is not known here is refused: one that
// was passed over could make the numbers others than those that were asked for.
//
// # Numbers
//
// The prompts' readings are those of [lm.Model.Read]. Requests that are under way at
// once are read together, up to Limits.Batch prefixes at a time and the rest of a text that one of them
// begins, since a model reads many prefixes faster than one after the other, and a text once rather than in parts. The last digits of a reading depend
// on what is read with it (see [lm.Batcher]); with a Limits.Batch of 1 they do not.
//
// # lm-evaluation-harness
//
// The harness takes such a server for its model local-completions, and asks it for tokens as well, so that nothing
// else is needed:
//
//	pip install 'lm_eval[api]'
//	lm_eval --model local-completions --tasks TASK \
//	    --model_args base_url=http://127.0.0.1:8011/v1/completions,model=smollm2:135m-instruct,tokenizer_backend=remote
//
// It sends tokens, and never a beginning-of-sequence token. A model
// that needs one, as Gemma does, is asked for texts with tokenized_requests=False.
//
// # Who may ask
//
// On this machine's own addresses everybody on the machine may, on a Unix socket its
// user. A request that a web page makes is refused, by the headers that browsers add and
// by the name that it calls this machine. On any other address, and where tokens are given,
// each request but those of /health must have one of them as its bearer token. What is sent is not encrypted:
// between machines of a network that is not trusted, put the server behind one that is (a reverse proxy, or ssh -L).
//
// # What this is not
//
// Package kernel/connect is how a Go cell reaches the session of its notebook: constraints in, reports
// out, over names that cells share. Here there are no constraints and no session, only
// distributions. A program that wants constraints over a served model opens it
// as "openai:http://127.0.0.1:8011/v1#NAME" (package local), and the model stays
// loaded from one program to the next.
package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modellog/modellog/lm"
)

// Limits bound what a server takes on. A zero is the default.
type Limits struct {
	Body     int64         // bytes of a request; 4 MB
	Prompts  int           // of a request; 256
	Tokens   int           // of a request's prompts together; 2¹⁸
	Choices  int           // continuations of a request: its prompts times n; 256
	LogProbs int           // entries of top_logprobs and prompt_logprobs in an answer; 2²⁰
	Queue    int           // requests under way or waiting; 256. More are answered 429
	Batch    int           // prefixes that are read together; 256
	Gather   time.Duration // how long a reading waits for others that may be read with it; 2 ms, none if negative
	Send     time.Duration // for a request to come; 1 minute
	Time     time.Duration // from a request to its answer; 10 minutes
}

func (l Limits) complete() (Limits, error) {
	l.Body, l.Prompts, l.Tokens, l.Choices = cmp.Or(l.Body, 4<<20), cmp.Or(l.Prompts, 256), cmp.Or(l.Tokens, 1<<18), cmp.Or(l.Choices, 256)
	l.LogProbs, l.Queue, l.Batch = cmp.Or(l.LogProbs, 1<<20), cmp.Or(l.Queue, 256), cmp.Or(l.Batch, 256)
	l.Gather, l.Send, l.Time = cmp.Or(l.Gather, 2*time.Millisecond), cmp.Or(l.Send, time.Minute), cmp.Or(l.Time, 10*time.Minute)
	if l.Body < 0 || l.Prompts < 0 || l.Tokens < 0 || l.Choices < 0 || l.LogProbs < 0 || l.Queue < 0 || l.Batch < 0 || l.Send < 0 || l.Time < 0 {
		return l, errors.New("a limit of the server is negative; leave it out for the default")
	}
	return l, nil
}

// Options say how models are served. The zero value serves whoever reaches the server, within the default limits.
type Options struct {
	Limits

	// Tokens are the bearer tokens that requests must have one of, where there are any.
	Tokens []string

	// Warn, where it is not nil, is told of requests that are answered and likely not
	// meant as they are, each kind once.
	Warn func(message string)
}

// Server answers requests about models. It is an [http.Handler].
type Server struct {
	options Options
	tokens  [][sha256.Size]byte
	models  []*served
	routes  *http.ServeMux
	started time.Time

	under    atomic.Int64 // requests under way
	bare     atomic.Bool  // Warn was told of tokens without the beginning
	draining atomic.Bool
}

// served is a model with the queue of its readings.
type served struct {
	lm.Model
	info  lm.Info
	queue *queue
}

// New prepares a server of models, which must be open until it is closed. Their names must differ.
func New(models []lm.Model, o Options) (*Server, error) {
	if len(models) == 0 {
		return nil, errors.New("a server needs a model")
	}
	limits, err := o.complete()
	if err != nil {
		return nil, err
	}
	o.Limits = limits
	s := &Server{options: o, started: time.Now()}
	for _, t := range o.Tokens {
		if len(t) < minToken || strings.ContainsFunc(t, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, fmt.Errorf("a token that requests must have is at least %d characters, none of them a space or outside ASCII; make one with: openssl rand -hex 32", minToken)
		}
		s.tokens = append(s.tokens, sha256.Sum256([]byte(t)))
	}
	seen := make(map[string]bool)
	for _, m := range models {
		info := m.Info()
		if seen[info.Name] {
			return nil, fmt.Errorf("the model %s is to be served twice; name it once", info.Name)
		}
		seen[info.Name] = true
	}
	for _, m := range models {
		s.models = append(s.models, &served{Model: m, info: m.Info(), queue: newQueue(m, limits)})
	}
	s.routes = http.NewServeMux()
	for path, endpoint := range map[string]endpoint{
		"/health":         {method: http.MethodGet, answer: s.health},
		"/v1/models":      {method: http.MethodGet, answer: s.list},
		"/v1/models/":     {method: http.MethodGet, answer: s.list},
		"/tokenizer_info": {method: http.MethodGet, answer: s.tokenizerInfo},
		"/v1/completions": {method: http.MethodPost, answer: s.complete},
		"/tokenize":       {method: http.MethodPost, answer: s.tokenize},
		"/detokenize":     {method: http.MethodPost, answer: s.detokenize},
	} {
		s.routes.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, endpoint) })
	}
	s.routes.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, &requestError{status: http.StatusNotFound, code: "not_found",
			message: fmt.Sprintf("there is no %.100q here; there are /v1/models, /v1/completions, /tokenize, /detokenize, /tokenizer_info and /health", r.URL.Path)})
	})
	return s, nil
}

// minToken is the length of a token that is not guessed.
const minToken = 16

// Close ends all readings. The models stay open.
func (s *Server) Close() error {
	for _, m := range s.models {
		m.queue.close()
	}
	return nil
}

// endpoint is what answers on a path. An error of answer is sent, unless it has begun to write.
type endpoint struct {
	method string
	answer func(ctx context.Context, w http.ResponseWriter, r *http.Request) error
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if err := s.admit(r); err != nil {
		fail(w, err)
		return
	}
	s.routes.ServeHTTP(w, r)
}

// admit says whether somebody may ask.
func (s *Server) admit(r *http.Request) *requestError {
	if site := r.Header.Get("Sec-Fetch-Site"); r.Header.Get("Origin") != "" || site != "" && site != "none" {
		return &requestError{status: http.StatusForbidden, kind: "permission_error", code: "origin", message: "this server answers programs and no web pages"}
	}
	if len(s.tokens) == 0 {
		if !local(r) {
			return &requestError{status: http.StatusForbidden, kind: "permission_error", code: "host",
				message: fmt.Sprintf("the request is to the host %.100q, and this server is for this machine; ask it as 127.0.0.1 or localhost, or give it a token", r.Host)}
		}
		return nil
	}
	if r.URL.Path == "/health" {
		return nil
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum, known := sha256.Sum256([]byte(strings.TrimSpace(given))), 0
	for _, t := range s.tokens {
		known |= subtle.ConstantTimeCompare(sum[:], t[:])
	}
	if !strings.EqualFold(scheme, "bearer") || known == 0 {
		return &requestError{status: http.StatusUnauthorized, kind: "authentication_error", code: "invalid_api_key",
			message: "this server asks for a token: Authorization: Bearer TOKEN"}
	}
	return nil
}

// local says whether a request calls this machine by a name of its own. A page in a browser that has had its name
// point here calls it by that name.
func local(r *http.Request) bool {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && at.Network() == "unix" {
		return true
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// serve answers with an endpoint, within the limits.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, e endpoint) {
	if r.Method != e.method && !(r.Method == http.MethodHead && e.method == http.MethodGet) {
		w.Header().Set("Allow", e.method)
		fail(w, &requestError{status: http.StatusMethodNotAllowed, code: "method_not_allowed", message: fmt.Sprintf("%s is asked for with %s", r.URL.Path, e.method)})
		return
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.options.Time, errLate)
	defer cancel()
	if e.method == http.MethodPost {
		if s.draining.Load() {
			w.Header().Set("Retry-After", "5")
			fail(w, &requestError{status: http.StatusServiceUnavailable, kind: "server_error", code: "ending", message: "the server is about to end"})
			return
		}
		if s.under.Add(1) > int64(s.options.Queue) {
			s.under.Add(-1)
			w.Header().Set("Retry-After", "1")
			fail(w, &requestError{status: http.StatusTooManyRequests, kind: "rate_limit_error", code: "rate_limit_exceeded",
				message: fmt.Sprintf("%d requests are under way, as many as this server takes on; ask again later, or for fewer at a time", s.options.Queue)})
			return
		}
		defer s.under.Add(-1)
	}
	started := &writer{ResponseWriter: w}
	err := e.answer(ctx, started, r)
	if err != nil && !started.begun { // a stream says itself what went wrong
		fail(w, s.refusal(ctx, err))
	}
}

// errLate ends what takes too long.
var errLate = errors.New("the request took too long")

// refusal is an error as the client is told of it.
func (s *Server) refusal(ctx context.Context, err error) *requestError {
	var known *requestError
	var long *lm.ContextError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, errLate) || errors.Is(context.Cause(ctx), errLate):
		return &requestError{status: http.StatusGatewayTimeout, kind: "server_error", code: "timeout",
			message: fmt.Sprintf("the answer took more than %v, the longest that this server works on a request; ask for less at a time", s.options.Time)}
	case errors.Is(err, context.Canceled) && context.Cause(ctx) != nil:
		// Who has closed only one side of the connection is there to hear it.
		return &requestError{status: http.StatusBadRequest, code: "given_up", message: "the connection was closed before the answer was there; keep it open until then"}
	case errors.Is(err, errClosed):
		return &requestError{status: http.StatusServiceUnavailable, kind: "server_error", code: "ending", message: err.Error()}
	case errors.As(err, &long):
		return invalid("prompt", "context_length_exceeded", "%v", err)
	case errors.Is(err, lm.ErrEmptyPrefix):
		return invalid("prompt", "empty_prompt", "%v", err)
	}
	return &requestError{status: http.StatusInternalServerError, kind: "server_error", code: "internal_error", message: err.Error()}
}

// writer remembers whether an answer has begun.
type writer struct {
	http.ResponseWriter
	begun bool
}

func (w *writer) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(p []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// model finds the model that a request names. Where there is only one it need not be named.
func (s *Server) model(name *string) (*served, error) {
	if name == nil && len(s.models) == 1 {
		return s.models[0], nil
	}
	var names []string
	for _, m := range s.models {
		if name != nil && m.info.Name == *name {
			return m, nil
		}
		names = append(names, m.info.Name)
	}
	if name == nil {
		return nil, invalid("model", "missing", "say which model is asked: %s", strings.Join(names, ", "))
	}
	return nil, &requestError{status: http.StatusNotFound, param: "model", code: "model_not_found",
		message: fmt.Sprintf("the model %.100q is not served here; there is %s", *name, strings.Join(names, ", "))}
}

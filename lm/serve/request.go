package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modellog/modellog/lm"
)

// body reads a request's JSON object within the limits of size and time.
func (s *Server) body(w http.ResponseWriter, r *http.Request) (fields, error) {
	// A page in a browser can send anything else without asking.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, &requestError{status: http.StatusUnsupportedMediaType, code: "content_type",
			message: fmt.Sprintf("the request's type is %.100q; send JSON, with the header Content-Type: application/json", r.Header.Get("Content-Type"))}
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(s.options.Send)) // not all connections have deadlines
	var data []byte
	var err error
	large := r.ContentLength > s.options.Body
	if !large {
		data, err = io.ReadAll(http.MaxBytesReader(w, r.Body, s.options.Body))
		var most *http.MaxBytesError
		large = errors.As(err, &most)
	}
	switch {
	case large:
		// Who sends without asking hears no answer before everything is sent.
		if r.Header.Get("Expect") == "" {
			_, _ = io.CopyN(io.Discard, r.Body, mostDiscarded)
		}
		return nil, &requestError{status: http.StatusRequestEntityTooLarge, code: "body_too_large",
			message: fmt.Sprintf("the request has more than %d bytes, the most that this server reads; send fewer prompts at a time", s.options.Body)}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &requestError{status: http.StatusRequestTimeout, code: "body_too_slow",
			message: fmt.Sprintf("the request did not come within %v, the longest that this server waits for it", s.options.Send)}
	case err != nil:
		return nil, &requestError{status: http.StatusBadRequest, code: "body", message: fmt.Sprintf("reading the request: %v", err)}
	}
	_ = control.SetReadDeadline(time.Time{})
	return parse(data)
}

// mostDiscarded is how much of a request that is too large is read, and forgotten.
const mostDiscarded = 64 << 20

// fields are a request's members by their names, null as if it were not there.
type fields map[string]json.RawMessage

// mostFields is more than there are.
const mostFields = 100

// parse reads one JSON object and nothing else.
func parse(data []byte) (fields, error) {
	if !utf8.Valid(data) {
		return nil, invalid("", "json", "the request is no valid UTF-8")
	}
	// The decoder keeps the last of several members of one name.
	in := json.NewDecoder(bytes.NewReader(data))
	open, err := in.Token()
	if err == nil && open != json.Delim('{') {
		return nil, invalid("", "json", "the request is no JSON object")
	}
	f := make(fields)
	for err == nil && in.More() {
		var name json.Token
		if name, err = in.Token(); err != nil {
			break
		}
		var value json.RawMessage
		if err = in.Decode(&value); err != nil {
			break
		}
		key, _ := name.(string) // the decoder takes no other
		if _, twice := f[key]; twice {
			return nil, invalid(key, "json", "%.100q is there twice", key)
		}
		if f[key] = value; len(f) > mostFields {
			return nil, invalid("", "json", "the request has more than %d parameters; there are not so many", mostFields)
		}
	}
	if err == nil {
		if _, err = in.Token(); err == nil {
			if _, more := in.Token(); !errors.Is(more, io.EOF) {
				return nil, invalid("", "json", "something follows the request's JSON object")
			}
		}
	}
	if err != nil {
		return nil, invalid("", "json", "the request is no JSON: %v", err)
	}
	maps.DeleteFunc(f, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return f, nil
}

// get decodes a member, if it is there, and takes it out. what names its type for the message.
func get[T any](f fields, name, what string, into *T) error {
	raw, ok := f[name]
	if !ok {
		return nil
	}
	delete(f, name)
	if err := decode(raw, into); errors.Is(err, errHalfPair) {
		return invalid(name, "type", "%s is %s: %v", name, excerpt(raw), err)
	} else if err != nil {
		return invalid(name, "type", "%s is %s; it is %s", name, excerpt(raw), what)
	}
	return nil
}

func decode(raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return err
	}
	// Half of a surrogate pair becomes U+FFFD without a word.
	if bytes.Contains(raw, []byte(`\u`)) && halfPair(raw) {
		return errHalfPair
	}
	return nil
}

var errHalfPair = errors.New("it escapes half of a surrogate pair, which is no character")

// halfPair says whether JSON text escapes half of a surrogate pair.
func halfPair(raw []byte) bool {
	unit := func(at int) (u uint64, ok bool) {
		if at+6 > len(raw) || raw[at] != '\\' || raw[at+1] != 'u' {
			return 0, false
		}
		u, err := strconv.ParseUint(string(raw[at+2:at+6]), 16, 16)
		return u, err == nil
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		u, ok := unit(i)
		switch {
		case !ok:
			i++ // another escape
		case u >= 0xd800 && u < 0xdc00:
			low, ok := unit(i + 6)
			if !ok || low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 11
		case u >= 0xdc00 && u <= 0xdfff:
			return true
		default:
			i += 5
		}
	}
	return false
}

// excerpt shows the beginning of a value.
func excerpt(raw []byte) string {
	const most = 60
	text := strings.Join(strings.Fields(string(raw[:min(len(raw), 4*most)])), " ")
	if len(text) <= most && len(raw) <= 4*most {
		return text
	}
	return strings.ToValidUTF8(text[:min(len(text), most)], "") + "…"
}

// rest refuses what nobody has taken out.
func (f fields) rest() error {
	if len(f) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(f)))
	return invalid(excerpt([]byte(name)), "unknown_parameter", "%.100q is no parameter that this server knows, and passing over it could change what is computed; leave it out", name)
}

// prompt is a text, or tokens.
type prompt struct {
	text   string
	tokens []lm.Token
	isText bool
}

// completion is a request for completions.
type completion struct {
	Model        *string
	prompts      []prompt
	maxTokens    int
	temperature  float64
	topP         float64
	topK         int
	n            int
	seed         int64
	seeded       bool
	stop         []string
	stream       bool
	usage        bool // at the end of a stream
	echo         bool
	logProbs     int // most probable tokens; -1 for none, and wholeVocabulary for all
	promptProbs  int
	special      bool // the beginning-of-sequence token before texts
	tokensAsIDs  bool // in the logprobs
	returnTokens bool
}

const (
	none            = -1
	wholeVocabulary = math.MaxInt32
	defaultTokens   = 16 // of OpenAI's protocol
)

// parseCompletion reads a request for completions. Which model it is for, and what fits its context, is seen later.
func parseCompletion(f fields, l Limits) (*completion, error) {
	c := &completion{maxTokens: defaultTokens, temperature: 1, topP: 1, n: 1, logProbs: none, promptProbs: none, special: true}
	var raw json.RawMessage
	var seed *int64
	var user string
	var streaming fields
	depth := func(name string, into *int) error {
		var depth *int
		if err := get(f, name, "a number of tokens, or -1 for the whole vocabulary", &depth); err != nil {
			return err
		}
		if depth == nil {
			return nil
		}
		if *depth < -1 || *depth >= wholeVocabulary {
			return invalid(name, "range", "%s is %d; it is a number of tokens, or -1 for the whole vocabulary", name, *depth)
		}
		if *into = *depth; *depth == -1 {
			*into = wholeVocabulary
		}
		return nil
	}
	for _, err := range []error{
		get(f, "model", "a model's name", &c.Model),
		get(f, "prompt", "a text, a list of texts, tokens, or a list of lists of tokens", &raw),
		get(f, "max_tokens", "a whole number from 0", &c.maxTokens),
		get(f, "temperature", "a number", &c.temperature),
		get(f, "top_p", "a number", &c.topP),
		get(f, "top_k", "a whole number", &c.topK),
		get(f, "n", "a whole number from 1", &c.n),
		get(f, "seed", "a whole number", &seed),
		get(f, "stream", "true or false", &c.stream),
		get(f, "stream_options", "an object", &streaming),
		get(f, "echo", "true or false", &c.echo),
		depth("logprobs", &c.logProbs),
		depth("prompt_logprobs", &c.promptProbs),
		get(f, "add_special_tokens", "true or false", &c.special),
		get(f, "return_tokens_as_token_ids", "true or false", &c.tokensAsIDs),
		get(f, "return_token_ids", "true or false", &c.returnTokens),
		get(f, "user", "a text", &user),
		c.takeStop(f),
		neutral(f),
		f.rest(),
	} {
		if err != nil {
			return nil, err
		}
	}
	if err := errors.Join(get(streaming, "include_usage", "true or false", &c.usage), streaming.rest()); err != nil {
		return nil, err
	}
	if seed != nil {
		c.seed, c.seeded = *seed, true
	}
	if c.topK == -1 {
		c.topK = 0 // vLLM's way to say all
	}
	if raw == nil {
		return nil, invalid("prompt", "missing", "the request has no prompt")
	}
	var err error
	if c.prompts, err = parsePrompts(raw, l); err != nil {
		return nil, err
	}
	switch {
	case c.maxTokens < 0:
		return nil, invalid("max_tokens", "range", "max_tokens is %d; it is at least 0", c.maxTokens)
	case c.topP == 0:
		return nil, invalid("top_p", "range", "top_p is 0, which leaves no token; it is above 0, and 1 leaves all (the most probable one alone is had with a temperature of 0)")
	case c.n < 1:
		return nil, invalid("n", "range", "n is %d; it is a whole number from 1", c.n)
	case c.n > l.Choices || c.n*len(c.prompts) > l.Choices:
		return nil, invalid("n", "range", "%d continuations each of %d prompts are asked for; at most %d are written for a request", c.n, len(c.prompts), l.Choices)
	case c.stream && c.promptProbs != none:
		return nil, invalid("prompt_logprobs", "stream", "prompt_logprobs are not given in a stream; ask without one")
	}
	if c.maxTokens > 0 {
		r := c.request(0)
		if err := r.Check(); err != nil {
			return nil, invalid("", "range", "%v", err)
		}
	}
	return c, nil
}

// request is what a sampler is asked for of the i-th continuation. Where no seed was given it is one by chance.
func (c *completion) request(i int) lm.Request {
	topP := c.topP
	if topP == 1 {
		topP = 0
	}
	seed := c.seed
	if i > 0 {
		seed = (seed + int64(i)) & math.MaxInt32
	}
	return lm.Request{MaxTokens: c.maxTokens, Temperature: c.temperature, TopP: topP, TopK: c.topK, Seed: seed, Stop: c.stop}
}

// takeStop reads stop, which is one text or several.
func (c *completion) takeStop(f fields) error {
	raw := f["stop"]
	if len(raw) > 0 && raw[0] == '"' {
		f["stop"] = slices.Concat([]byte("["), raw, []byte("]"))
	}
	return get(f, "stop", "a text, or a list of texts", &c.stop)
}

// neutral takes the parameters out that this server knows one value of, which changes nothing.
func neutral(f fields) error {
	for name, value := range map[string]float64{
		"frequency_penalty": 0, "presence_penalty": 0, "best_of": 1, "min_p": 0, "repeat_penalty": 1, "repetition_penalty": 1, "length_penalty": 1, "min_tokens": 0,
	} {
		number := value
		if err := get(f, name, "a number", &number); err != nil {
			return err
		}
		if number != value {
			return invalid(name, "unsupported", "%s is %v; here it can be %v only: texts are drawn from the model's own distribution", name, number, value)
		}
	}
	for _, name := range []string{"use_beam_search", "ignore_eos"} {
		on := false
		if err := get(f, name, "true or false", &on); err != nil {
			return err
		}
		if on {
			return invalid(name, "unsupported", "%s is not there; leave it out", name)
		}
	}
	var suffix string
	if err := get(f, "suffix", "a text", &suffix); err != nil {
		return err
	}
	if suffix != "" {
		return invalid("suffix", "unsupported", "a suffix is for models that fill in; leave it out")
	}
	bias := map[string]float64{}
	if err := get(f, "logit_bias", "an object of numbers", &bias); err != nil {
		return err
	}
	if len(bias) > 0 {
		return invalid("logit_bias", "unsupported", "logit_bias is not there: the readings are the model's own; leave it out")
	}
	return nil
}

// parsePrompts reads a prompt, or a list of them.
func parsePrompts(raw json.RawMessage, l Limits) ([]prompt, error) {
	what := func(err error) error {
		return invalid("prompt", "type", "the prompt is %s; it is a text, a list of texts, a list of tokens, or a list of lists of tokens (%v)", excerpt(raw), err)
	}
	var text string
	if raw[0] == '"' {
		if err := decode(raw, &text); err != nil {
			return nil, what(err)
		}
		return []prompt{{text: text, isText: true}}, nil
	}
	// A list takes many times the memory that its text does.
	if !bytes.ContainsRune(raw, '"') && bytes.Count(raw, []byte(",")) >= l.Tokens {
		return nil, tooManyTokens(l)
	}
	var parts []json.RawMessage
	if err := decode(raw, &parts); err != nil {
		return nil, what(err)
	}
	if len(parts) == 0 {
		return nil, invalid("prompt", "empty_prompt", "the list of prompts is empty")
	}
	if first := parts[0][0]; first != '"' && first != '[' {
		tokens, err := parseTokens(raw)
		if err != nil {
			return nil, what(err)
		}
		return []prompt{{tokens: tokens}}, nil
	}
	if len(parts) > l.Prompts {
		return nil, invalid("prompt", "too_many_prompts", "the request has %d prompts; at most %d are read at a time", len(parts), l.Prompts)
	}
	prompts := make([]prompt, len(parts))
	for i, part := range parts {
		var err error
		if prompts[i].isText = part[0] == '"'; prompts[i].isText {
			err = decode(part, &prompts[i].text)
		} else if prompts[i].tokens, err = parseTokens(part); err == nil && prompts[i].tokens == nil {
			err = errors.New("null is none")
		}
		if err != nil {
			return nil, invalid("prompt", "type", "prompt %d is %s; it is a text or a list of tokens (%v)", i, excerpt(part), err)
		}
	}
	return prompts, nil
}

// tooManyTokens refuses prompts that are too long together.
func tooManyTokens(l Limits) error {
	return invalid("prompt", "too_many_tokens", "the prompts have more than %d tokens together, the most of a request; send fewer at a time", l.Tokens)
}

// parseTokens reads a list of tokens, none of which is null; of null it returns nil.
func parseTokens(raw json.RawMessage) ([]lm.Token, error) {
	var tokens []*lm.Token
	if err := json.Unmarshal(raw, &tokens); err != nil || tokens == nil {
		return nil, err
	}
	out := make([]lm.Token, len(tokens))
	for i, t := range tokens {
		if t == nil {
			return nil, errors.New("null is no token")
		}
		out[i] = *t
	}
	return out, nil
}

package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modellog/modellog/lm"
)

// health answers as long as requests are taken.
func (s *Server) health(_ context.Context, w http.ResponseWriter, _ *http.Request) error {
	if s.draining.Load() {
		return &requestError{status: http.StatusServiceUnavailable, kind: "server_error", code: "ending", message: "the server is about to end"}
	}
	send(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"ok"})
	return nil
}

// modelCard describes a model, in the protocol's form and with what is known besides.
type modelCard struct {
	ID           string `json:"id"`
	Object       string `json:"object"`
	Created      int64  `json:"created"`
	OwnedBy      string `json:"owned_by"`
	Context      int    `json:"max_model_len"`
	Vocabulary   int    `json:"vocabulary"`
	Architecture string `json:"architecture"`
	Parameters   uint64 `json:"parameters"`
	Quantization string `json:"quantization"`
	Precision    string `json:"precision"`
	Digest       string `json:"sha256"`
	Whole        bool   `json:"whole"` // readings are of the whole vocabulary
}

// list answers /v1/models, and of one model behind it.
func (s *Server) list(_ context.Context, w http.ResponseWriter, r *http.Request) error {
	var cards []modelCard
	for _, m := range s.models {
		i := m.info
		cards = append(cards, modelCard{i.Name, "model", s.started.Unix(), "modellog", i.Context, i.Vocabulary, i.Architecture, i.Parameters, i.Quantization, i.Precision, i.Digest, i.Whole})
	}
	if name, one := strings.CutPrefix(r.URL.Path, "/v1/models/"); one && name != "" {
		if _, err := s.model(&name); err != nil {
			return err
		}
		for _, c := range cards {
			if c.ID == name {
				send(w, http.StatusOK, c)
			}
		}
		return nil
	}
	send(w, http.StatusOK, struct {
		Object string      `json:"object"`
		Data   []modelCard `json:"data"`
	}{"list", cards})
	return nil
}

// tokenize answers /tokenize. A prompt that is nothing but the name of the beginning- or the end-of-sequence token is
// that token, since that is how clients find out its number; within a text such names are text.
func (s *Server) tokenize(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	f, err := s.body(w, r)
	if err != nil {
		return err
	}
	var name, text *string
	special, names := true, false
	for _, err := range []error{
		get(f, "model", "a model's name", &name),
		get(f, "prompt", "a text", &text),
		get(f, "add_special_tokens", "true or false", &special),
		get(f, "return_token_strs", "true or false", &names),
		f.rest(),
	} {
		if err != nil {
			return err
		}
	}
	if text == nil {
		return invalid("prompt", "missing", "the request has no prompt")
	}
	m, err := s.model(name)
	if err != nil {
		return err
	}
	tokens := []lm.Token{}
	if t, ok := m.byName(*text); ok {
		tokens = append(tokens, t)
	} else {
		own, err := m.Tokenize(ctx, *text)
		if err != nil {
			return err
		}
		if special && m.info.AddBOS {
			tokens = append(tokens, m.info.BOS)
		}
		tokens = append(tokens, own...)
	}
	answer := struct {
		Count   int        `json:"count"`
		Context int        `json:"max_model_len"`
		Tokens  []lm.Token `json:"tokens"`
		Names   []string   `json:"token_strs"`
	}{len(tokens), m.info.Context, tokens, nil}
	if names {
		answer.Names = []string{}
		for _, t := range tokens {
			answer.Names = append(answer.Names, tokenName(m, t, false))
		}
	}
	send(w, http.StatusOK, answer)
	return nil
}

// byName finds the beginning- and the end-of-sequence token.
func (m *served) byName(name string) (lm.Token, bool) {
	marks := m.info.EOS
	if m.info.AddBOS {
		marks = append([]lm.Token{m.info.BOS}, marks...)
	}
	for _, t := range marks {
		if piece := m.Piece(t); len(piece) > 0 && string(piece) == name {
			return t, true
		}
	}
	return 0, false
}

// detokenize answers /detokenize. Control tokens are written by their names.
func (s *Server) detokenize(_ context.Context, w http.ResponseWriter, r *http.Request) error {
	f, err := s.body(w, r)
	if err != nil {
		return err
	}
	var name *string
	var raw json.RawMessage
	for _, err := range []error{get(f, "model", "a model's name", &name), get(f, "tokens", "a list of tokens", &raw), f.rest()} {
		if err != nil {
			return err
		}
	}
	if raw == nil {
		return invalid("tokens", "missing", "the request has no tokens")
	}
	tokens, err := parseTokens(raw)
	if err != nil {
		return invalid("tokens", "type", "tokens is %s; it is a list of tokens (%v)", excerpt(raw), err)
	}
	m, err := s.model(name)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, t := range tokens {
		if t < 0 || int(t) >= m.info.Vocabulary {
			return invalid("tokens", "vocabulary", "there is no token %d; the model's are 0 to %d", t, m.info.Vocabulary-1)
		}
		text.Write(m.Piece(t))
	}
	send(w, http.StatusOK, struct {
		Prompt string `json:"prompt"`
	}{strings.ToValidUTF8(text.String(), "\ufffd")})
	return nil
}

// tokenizerInfo answers /tokenizer_info: the names by which /tokenize knows the marks.
func (s *Server) tokenizerInfo(_ context.Context, w http.ResponseWriter, r *http.Request) error {
	var name *string
	if q := r.URL.Query(); q.Has("model") {
		given := q.Get("model")
		name = &given
	}
	m, err := s.model(name)
	if err != nil {
		return err
	}
	answer := struct {
		Class  string  `json:"tokenizer_class"`
		BOS    *string `json:"bos_token"`
		EOS    *string `json:"eos_token"`
		AddBOS bool    `json:"add_bos_token"`
		Most   int     `json:"model_max_length"`
	}{Class: "modellog", AddBOS: m.info.AddBOS, Most: m.info.Context}
	if m.info.AddBOS {
		bos := string(m.Piece(m.info.BOS))
		answer.BOS = &bos
	}
	if len(m.info.EOS) > 0 {
		eos := string(m.Piece(m.info.EOS[0]))
		answer.EOS = &eos
	}
	send(w, http.StatusOK, answer)
	return nil
}

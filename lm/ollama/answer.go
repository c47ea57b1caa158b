package ollama

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ollama/ollama/api"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/listed"
	"github.com/modellog/modellog/lm/tokens"
)

// asked is how many tokens the server is asked for, the most that it gives.
const asked = 20

// checkAnswer checks what the client would read over: that the answer is one or
// more JSON objects and nothing else, and that every log-probability is there.
// (A null or missing one would be read as 0, a probability of 1.)
func checkAnswer(body []byte) error {
	type entry struct {
		Logprob *float64 `json:"logprob"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	for n := 0; ; n++ {
		var answer struct {
			Logprobs []struct {
				entry
				Top []entry `json:"top_logprobs"`
			} `json:"logprobs"`
		}
		err := decoder.Decode(&answer)
		if errors.Is(err, io.EOF) && n > 0 {
			return nil
		}
		var shape *json.UnmarshalTypeError
		switch {
		case errors.As(err, &shape):
			return fmt.Errorf("an answer in which %s is a %s", shape.Field, shape.Value)
		case err != nil:
			return fmt.Errorf("%s, which is no JSON", excerpt(body))
		}
		for _, token := range answer.Logprobs {
			for _, e := range append([]entry{token.entry}, token.Top...) {
				if e.Logprob == nil {
					return errors.New("a token without a log-probability")
				}
			}
		}
	}
}

// distribution makes a distribution of the tokens that an answer lists.
func distribution(names *listed.Names, list []api.TokenLogprob) (lm.Distribution, error) {
	entries := make([]listed.Entry, len(list))
	for i, e := range list {
		entries[i] = listed.Entry{Text: e.Token, LogProb: e.Logprob}
		if len(e.Bytes) == 0 {
			continue
		}
		b := make([]byte, len(e.Bytes))
		for k, c := range e.Bytes {
			if c < 0 || c > 255 {
				return lm.Distribution{}, fmt.Errorf("it names a token by the byte %d", c)
			}
			b[k] = byte(c)
		}
		entries[i].Text = string(b)
	}
	return names.Distribution(entries)
}

// spellings are the texts that a server may call a token by: its bytes; what
// JSON makes of them if they are no UTF-8; and either without zero bytes, which
// one of the server's engines loses at the end and the other everywhere. The name of a
// token that the model never uses is not told.
func spellings(tok *tokens.Tokenizer, id lm.Token) []string {
	all := spelled(tok.Piece(id))
	if tok.IsUnused(id) {
		all = append(all, "")
	}
	return all
}

func spelled(piece []byte) []string {
	all := []string{string(piece)}
	if !utf8.Valid(piece) {
		all = append(all, listed.Replaced(piece))
	}
	if bytes.IndexByte(piece, 0) >= 0 {
		for _, s := range slices.Clone(all) {
			all = append(all, strings.TrimRight(s, "\x00"), strings.ReplaceAll(s, "\x00", ""))
		}
	}
	return slices.Compact(all)
}

package gguf

import (
	"fmt"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf/header"
	"github.com/modellog/modellog/lm/tokens"
)

// Description is what a GGUF file says of its model.
type Description struct {
	Architecture string
	Quantization string
	Parameters   uint64
	Vocabulary   int // tokens
	Context      int // tokens
	AddBOS       bool
	BOS          string // the text of the beginning-of-sequence token, where AddBOS
	Size         int64  // of the file in bytes
	ExactReason  string // why Auto would open it with native precision; empty where it would not
}

// Describe reads a file's metadata and loads nothing.
func Describe(path string) (*Description, error) {
	h, err := header.Open(path)
	if err != nil {
		return nil, err
	}
	tokenizer, err := tokens.New(h.KV)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d := &Description{
		Architecture: h.KV.Architecture(),
		Quantization: quantization(h),
		Parameters:   h.Parameters(),
		Vocabulary:   tokenizer.Size(),
		Context:      contextLength(h),
		AddBOS:       tokenizer.AddBOS(),
		Size:         h.Size,
	}
	if d.AddBOS {
		d.BOS = lm.Printable(tokenizer.Piece(tokenizer.BOS()))
	}
	if !allFloat32(h) {
		if reason := exactFits(h, 0); reason != nil {
			d.ExactReason = reason.Error()
		}
	}
	return d, nil
}

// contextLength is the longest prefix in tokens; files that do not say are given
// what the oldest models could read.
func contextLength(h *header.Header) int {
	if n := int(h.KV.Uint("context_length")); n > 0 {
		return n
	}
	return 2048
}

package gguf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ollama/ollama/fs/ggml"

	"github.com/modellog/modellog/lm/gguf/header"
)

// checkShapes returns an error where tensors do not fit the metadata in a way
// that the engine would not notice: it repeats a vector that is too short, and
// reads weights of a type that it has no arithmetic for as they lie. What it does
// notice itself is an [AbortError].
func checkShapes(h *header.Header) error {
	embedding := uint64(h.KV.Uint("embedding_length"))
	heads := uint64(h.KV.Uint("attention.head_count"))
	blocks := uint64(h.KV.Uint("block_count"))
	for key, value := range map[string]uint64{"embedding_length": embedding, "block_count": blocks} {
		if value == 0 {
			return fmt.Errorf("the metadata lack %s.%s; fetch the file again", h.KV.Architecture(), key)
		}
	}
	shapes := make(map[string][]uint64, len(h.Tensors))
	seen := make(map[uint64]bool)
	for _, t := range h.Tensors {
		shapes[t.Name] = t.Shape
		if rest, ok := strings.CutPrefix(t.Name, "blk."); ok {
			number, _, _ := strings.Cut(rest, ".")
			if n, err := strconv.ParseUint(number, 10, 32); err == nil {
				seen[n] = true
			}
		}
	}
	if uint64(len(seen)) < blocks {
		return fmt.Errorf("the metadata tell of %d blocks and the file has tensors of %d; fetch the file again", blocks, len(seen))
	}
	head := uint64(h.KV.Uint("attention.key_length"))
	if head == 0 && heads > 0 {
		head = embedding / heads
	}
	for _, t := range h.Tensors {
		switch t.Type {
		case ggml.TensorTypeI8, ggml.TensorTypeI16, ggml.TensorTypeI32, ggml.TensorTypeI64, ggml.TensorTypeF64:
			if strings.HasSuffix(t.Name, ".weight") || strings.HasSuffix(t.Name, ".bias") {
				return fmt.Errorf("the tensor %s has elements of type %d, which is none of weights; fetch the file again", t.Name, uint32(t.Type))
			}
		}
		name := t.Name
		if strings.HasPrefix(name, "blk.") {
			_, name, _ = strings.Cut(strings.TrimPrefix(name, "blk."), ".")
		}
		wrong := func(want string) error {
			return fmt.Errorf("the tensor %s has the shape %v where %s is needed; fetch the file again", t.Name, t.Shape, want)
		}
		vector := uint64(1)
		if len(t.Shape) > 0 {
			vector = t.Shape[0]
		}
		switch name {
		case "token_embd.weight":
			if t.Shape[0] != embedding {
				return wrong(fmt.Sprintf("embedding_length, %d, at first", embedding))
			}
		case "output_norm.weight", "attn_norm.weight", "ffn_norm.weight", "post_attention_norm.weight", "post_ffw_norm.weight",
			"output_norm.bias", "attn_norm.bias", "ffn_norm.bias":
			if t.Elements() != embedding {
				return wrong(fmt.Sprintf("embedding_length, %d,", embedding))
			}
		case "attn_q_norm.weight", "attn_k_norm.weight":
			// of one head, or of all heads together
			if head > 0 && (t.Elements() != vector || vector%head != 0) {
				return wrong(fmt.Sprintf("a multiple of a head's %d", head))
			}
		default:
			if of, ok := strings.CutSuffix(t.Name, ".bias"); ok {
				if w := shapes[of+".weight"]; len(w) == 2 && t.Elements() != w[1] {
					return wrong(fmt.Sprintf("the %d rows of its weights", w[1]))
				}
			}
		}
	}
	return nil
}

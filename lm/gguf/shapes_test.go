package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ollama/ollama/fs/ggml"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf/header"
)

// A model that the engine itself finds wrong is given up; the program goes on,
// and another model can be read.
func TestAbort(t *testing.T) {
	r := modeltest.SmolLM
	whole, err := os.ReadFile(r.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	key := []byte("llama.attention.head_count")
	at := bytes.Index(whole, append(key, 4, 0, 0, 0)) // a 32-bit number follows
	if at < 0 {
		t.Fatal("the file has no head count")
	}
	at += len(key) + 4
	binary.LittleEndian.PutUint32(whole[at:], 7) // which does not divide the embedding
	path := filepath.Join(t.TempDir(), "heads.gguf")
	if err := os.WriteFile(path, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	none := func(int, lm.Distribution) error { t.Error("something was read"); return nil }
	m, err := Open(t.Context(), path, Options{Digest: "x", Precision: Native, Threads: testThreads})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time without waiting for the engine
		err := m.Read(t.Context(), [][]lm.Token{{1, 2, 3}}, none)
		var abort *AbortError
		if !errors.As(err, &abort) || !strings.Contains(err.Error(), "GGML_ASSERT") || !strings.Contains(err.Error(), path) {
			t.Fatalf("a head count that does not fit: %v", err)
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	readOne(t, open(t, r, Exact))
}

// What the engine would not notice is found before.
func TestCheckShapes(t *testing.T) {
	intact := func() *header.Header {
		return &header.Header{
			KV: header.KV{
				"general.architecture": "llama", "llama.embedding_length": uint32(64), "llama.block_count": uint32(1), "llama.attention.head_count": uint32(4),
			},
			Tensors: []header.Tensor{
				{Name: "token_embd.weight", Shape: []uint64{64, 100}},
				{Name: "output_norm.weight", Shape: []uint64{64}},
				{Name: "blk.0.attn_norm.weight", Shape: []uint64{64}},
				{Name: "blk.0.attn_q.weight", Shape: []uint64{64, 64}},
				{Name: "blk.0.attn_q.bias", Shape: []uint64{64}},
				{Name: "blk.0.attn_q_norm.weight", Shape: []uint64{16}},
				{Name: "blk.0.ffn_norm.weight", Shape: []uint64{64}},
			},
		}
	}
	if err := checkShapes(intact()); err != nil {
		t.Errorf("an intact model: %v", err)
	}
	for _, r := range modeltest.All {
		if path := r.Find(); path != "" {
			h, err := header.Open(path)
			if err == nil {
				err = checkShapes(h)
			}
			if err != nil {
				t.Errorf("%s: %v", r.Name, err)
			}
		}
	}
	for i, tensor := range intact().Tensors {
		if tensor.Name == "blk.0.attn_q.weight" {
			continue // the engine notices
		}
		h := intact()
		h.Tensors[i].Shape[0] /= 2
		if tensor.Name == "blk.0.attn_q_norm.weight" {
			h.Tensors[i].Shape[0] = 10
		}
		if err := checkShapes(h); err == nil || !strings.Contains(err.Error(), tensor.Name) {
			t.Errorf("half of %s: %v", tensor.Name, err)
		}
		h = intact()
		h.Tensors[i].Type = ggml.TensorTypeI32
		if err := checkShapes(h); err == nil || !strings.Contains(err.Error(), tensor.Name) {
			t.Errorf("%s of integers: %v", tensor.Name, err)
		}
	}
	for _, key := range []string{"llama.embedding_length", "llama.block_count"} {
		h := intact()
		delete(h.KV, key)
		if err := checkShapes(h); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("without %s: %v", key, err)
		}
	}
	h := intact()
	h.KV["llama.block_count"] = uint32(1<<32 - 1)
	if err := checkShapes(h); err == nil || !strings.Contains(err.Error(), "4294967295 blocks") {
		t.Errorf("too many blocks: %v", err)
	}
}

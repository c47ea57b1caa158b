package gguf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/ollama/ollama/fs/ggml"
	"github.com/ollama/ollama/ml"
	"github.com/ollama/ollama/model"
	"github.com/ollama/ollama/model/input"
	_ "github.com/ollama/ollama/model/models" // the architectures
)

const (
	// defaultBatch is how many prefixes are read together: sorted, 64 share more of
	// what they begin with than 32, and for each batch the output head's weights go
	// through the processor once.
	defaultBatch = 64

	// defaultChunk is how many tokens go through the engine at once: the
	// scores of attention take memory that grows with its square.
	defaultChunk = 512

	// defaultCapacity is how many tokens the engine keeps keys and values of
	// at first. The model is loaded anew with more room when a longer prefix
	// comes.
	defaultCapacity = 1024
)

// engine is a loaded model with its cache of keys and values.
type engine struct {
	model    model.Model
	capacity int   // tokens that the cache holds
	chunk    int   // tokens that go through at once
	rows     int   // of them, those whose logits are computed
	exact    bool  // in float32, on the processor
	graphics bool  // layers are on graphics processors
	held     *held // what the cache holds; nil where it cannot hold a tree of prefixes
}

// supported returns an error where the engine does not have the architecture or
// the tokenizer of the file at path. It loads no weights.
func supported(path string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = enginePanic(r, false)
		}
	}()
	_, err = model.NewTextProcessor(path)
	if errors.Is(err, model.ErrUnsupportedModel) || errors.Is(err, model.ErrUnsupportedTokenizer) {
		return ErrUnsupported
	}
	return err
}

// ErrUnsupported is returned, wrapped, for a model whose architecture or kind of
// tokenizer the engine lacks.
var ErrUnsupported = errors.New("the engine does not have this model's architecture; give the model to a running Ollama server and use it by the name ollama:NAME")

// load loads the weights at path. The engine reports running out of memory, and
// metadata it cannot make sense of, by panicking.
func load(ctx context.Context, path string, threads int, layers ml.GPULayersList, precision string, capacity, chunk, rows int, progress func(string, int64, int64)) (e *engine, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, err = nil, enginePanic(r, len(layers) > 0)
		}
	}()
	params := ml.BackendParams{AllocMemory: true, NumThreads: threads, GPULayers: layers}
	exact := precision == string(Exact) && len(layers) == 0
	if exact && fuses(path) {
		// Fused attention passes over what a token may not see. Most of a batch of
		// short prefixes is that, and plain attention computes all of it.
		params.FlashAttention = ml.FlashAttentionEnabled
	}
	m, err := model.New(path, params)
	if err != nil {
		return nil, err
	}
	e = &engine{model: m, capacity: capacity, chunk: chunk, rows: rows, exact: exact, graphics: len(layers) > 0}
	if m.Config().Cache == nil {
		m.Backend().Close()
		return nil, errors.New("this architecture makes embeddings and predicts no next token")
	}
	if e.held, err = shareCells(m); err != nil {
		m.Backend().Close()
		return nil, err
	}
	var size int64
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	report := func(f float32) {
		if progress != nil {
			progress("loading the weights", int64(float64(f)*float64(size)), size)
		}
	}
	if err := m.Backend().Load(ctx, report); err != nil {
		m.Backend().Close()
		return nil, err
	}
	dtype := ml.DTypeF32
	if precision == string(Native) {
		dtype = ml.DTypeF16 // as Ollama's server keeps them
	}
	m.Config().Cache.Init(m.Backend(), dtype, 1, capacity, capacity)
	return e, nil
}

// fuses reports whether the engine has fused attention for the model at path. With keys and values in float32 it
// adds up in float32; in the 16 bits of Native precision it would add up in 16 bits as well, and is not taken.
func fuses(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // loading says what is wrong
	}
	defer f.Close()
	g, err := ggml.Decode(f, 0)
	return err == nil && g.SupportsFlashAttention()
}

// enginePanic says what the engine gave up for, with layers on graphics processors or without.
func enginePanic(r any, graphics bool) error {
	var noMemory ml.ErrNoMem
	err, ok := r.(error)
	switch {
	case ok && (errors.As(err, &noMemory) || err.Error() == outOfMemory):
		if graphics {
			return errors.New("there is not enough memory on the graphics processors for the model; take --precision native or a smaller model, or leave out --gpu")
		}
		return errors.New("there is not enough memory for the model; close other programs or take a smaller model")
	case ok && strings.HasPrefix(err.Error(), graphFailed):
		return fmt.Errorf("the engine could not compute the model (%w); where it computes on graphics processors, leave out --gpu", err)
	}
	return fmt.Errorf("the engine cannot use this model; its metadata or its tensors are not what its architecture needs (%v)", r)
}

// What the engine panics with where a computation fails; −2 is GGML_STATUS_ALLOC_FAILED.
const (
	graphFailed = "error computing ggml graph: "
	outOfMemory = graphFailed + "-2"
)

func (e *engine) close() {
	e.model.Config().Cache.Close()
	e.model.Backend().Close()
}

// forward runs a tree of prefixes that fits the cache, whose stem comes first, and hands the logits after prefixes to
// rows, for each as many numbers as tokens: those of all that end in a pass at once, and only until it returns. What the
// cache held is forgotten before and after. When ctx ends, so does it, with the pass that is computed.
func (e *engine) forward(ctx context.Context, nodes []node, stem int, rows func(prefixes []int, logits [][]float32) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = enginePanic(r, e.graphics)
		}
	}()
	if err := e.forget(); err != nil {
		return err
	}
	defer func() {
		if forgetErr := e.forget(); err == nil {
			err = forgetErr
		}
	}()
	for len(nodes) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		// The weights of the output head go through the processor's caches for each pass with outputs: what does not
		// go through at once is the stem, where few prefixes end or none.
		n := min(len(nodes), e.chunk)
		if n < len(nodes) && stem > 0 {
			n = min(n, stem)
		}
		var outputs []int32
		var ends []int
		for i, at := range nodes[:n] {
			if at.prefix < 0 {
				continue
			}
			if outputs, ends = append(outputs, int32(i)), append(ends, at.prefix); len(outputs) == e.rows {
				n = i + 1
				break
			}
		}
		if err := e.run(nodes[:n], outputs, func(logits [][]float32) error { return rows(ends, logits) }); err != nil {
			return err
		}
		nodes, stem = nodes[n:], stem-n
	}
	return nil
}

// forget empties the cache.
func (e *engine) forget() error {
	if e.held != nil {
		e.held.nodes = e.held.nodes[:0]
	}
	return e.model.Config().Cache.Remove(0, 0, math.MaxInt32)
}

// run has the engine compute tokens, which go on from what the cache holds, and lends the logits at each of the
// outputs to rows. Where there are none, the keys and values are computed and nothing after them.
func (e *engine) run(nodes []node, outputs []int32, rows func(logits [][]float32) error) error {
	ctx := e.model.Backend().NewContext()
	defer ctx.Close()
	var tokens []int32
	var batch input.Batch
	for _, n := range nodes {
		tokens = append(tokens, n.token)
		batch.Positions = append(batch.Positions, int32(n.depth))
		batch.Sequences = append(batch.Sequences, 0)
	}
	if e.held != nil {
		e.held.nodes, e.held.pass = append(e.held.nodes, nodes...), len(nodes)
	}
	batch.Inputs = ctx.Input().FromInts(tokens, len(tokens))
	ctx.SetBatchSize(len(tokens))
	if len(outputs) == 0 {
		batch.Outputs = ctx.Input().FromInts([]int32{0}, 1) // the architectures want one; nobody asks for it
		if err := e.model.Config().Cache.StartForward(ctx, batch, false); err != nil {
			return fmt.Errorf("running the model: %w", err)
		}
		// The cache puts what it keeps into the graph.
		if _, err := e.graph(func() (ml.Tensor, error) { return e.model.Forward(ctx, batch) }); err != nil {
			return err
		}
		done := batch.Outputs.Cast(ctx, ml.DTypeF32)
		ctx.Forward(done).Compute(done)
		done.Floats() // waits
		return nil
	}
	batch.Outputs = ctx.Input().FromInts(outputs, len(outputs))
	t, err := e.graph(func() (ml.Tensor, error) { return model.Forward(ctx, e.model, batch) })
	if err != nil {
		return err
	}
	if t.Dim(1) != len(outputs) {
		return fmt.Errorf("the engine returned %d rows of logits for %d prefixes", t.Dim(1), len(outputs))
	}
	views := make([]ml.Tensor, len(outputs), len(outputs)+1)
	for i := range views {
		views[i] = t.View(ctx, i*t.Stride(1), t.Dim(0))
	}
	first := t.View(ctx, 0, 1)
	views = append(views, first)
	ctx.Forward(views...).Compute(views...)
	first.Floats() // waits
	logits := make([][]float32, len(outputs))
	for i, v := range views[:len(outputs)] {
		if logits[i] = borrowed(v); logits[i] == nil {
			logits[i] = v.Floats()
		}
	}
	return rows(logits)
}

// graph has the engine make the graph of what the model computes.
func (e *engine) graph(forward func() (ml.Tensor, error)) (ml.Tensor, error) {
	if e.exact {
		defer exactGELU()()
	}
	t, err := forward()
	if err != nil {
		return nil, fmt.Errorf("running the model: %w", err)
	}
	return t, nil
}

package gguf

import (
	"fmt"
	"math"
	"reflect"

	"github.com/ollama/ollama/kvcache"
	"github.com/ollama/ollama/ml"
	"github.com/ollama/ollama/model"
	"github.com/ollama/ollama/model/input"
)

// held is the tokens that the caches of a model hold, in the order in which they came: the cell of each is its index.
type held struct {
	nodes []node
	pass  int // how many of them are of the pass that the engine computes
}

// treeCache has the tokens of a pass see those that they follow in a tree, which the engine's cache, where a token is of one
// sequence, cannot tell apart. That one keeps the keys and values, all as the first tokens of one sequence, so that it
// neither moves nor forgets them; what is seen is said here.
type treeCache struct {
	*kvcache.Causal
	held   *held
	window int // tokens before one that it sees besides itself
	chunk  int // where it is not 0, it sees no further back than to a multiple of it
	mask   ml.Tensor
}

// shareCells gives a model caches in which tokens may be of several prefixes; it is nil for an architecture
// whose caches keep something else than each token's keys and values.
func shareCells(m model.Model) (*held, error) {
	h := &held{}
	var shared kvcache.Cache
	switch c := m.Config().Cache.(type) {
	case *kvcache.Causal:
		t, err := newTreeCache(c, h)
		if err != nil {
			return nil, err
		}
		shared = t
	case *kvcache.WrapperCache:
		caches := reflect.ValueOf(c).Elem().FieldByName("caches")
		if !caches.IsValid() {
			return nil, errEngine
		}
		var all []kvcache.Cache
		for i := range caches.Len() {
			c.SetLayerType(i)
			causal, ok := c.UnderlyingCache().(*kvcache.Causal)
			if !ok {
				return nil, nil
			}
			t, err := newTreeCache(causal, h)
			if err != nil {
				return nil, err
			}
			all = append(all, t)
		}
		shared = kvcache.NewWrapperCache(all...)
	default:
		return nil, nil
	}
	field := reflect.ValueOf(m).Elem().FieldByName("Cache")
	if !field.IsValid() || !field.CanSet() {
		return nil, errEngine
	}
	field.Set(reflect.ValueOf(shared))
	return h, nil
}

// errEngine is of a version of the engine that go.mod does not pin.
var errEngine = fmt.Errorf("the engine is not Ollama's of version %s, which go.mod pins", engineVersion)

// newTreeCache asks a cache what it lets a token see, which it has no method for.
func newTreeCache(c *kvcache.Causal, h *held) (*treeCache, error) {
	v := reflect.ValueOf(c).Elem()
	window, chunk := v.FieldByName("swaWindowSize"), v.FieldByName("chunkSize")
	if !window.IsValid() || !chunk.IsValid() {
		return nil, errEngine
	}
	t := &treeCache{Causal: c, held: h, window: int(window.Int()), chunk: int(chunk.Int())}
	if t.window == 0 {
		t.window = math.MaxInt32
	}
	return t, nil
}

// StartForward makes room for the tokens of a pass.
func (t *treeCache) StartForward(ctx ml.Context, batch input.Batch, reserve bool) error {
	batch.Positions = make([]int32, len(batch.Positions))
	batch.Sequences = make([]int, len(batch.Sequences))
	t.mask = nil
	return t.Causal.StartForward(ctx, batch, reserve)
}

// Get returns the keys and values of all tokens and what each of the pass sees of them: [cells, tokens of the pass],
// 0 or −Inf.
func (t *treeCache) Get(ctx ml.Context) (keys, values, mask ml.Tensor) {
	keys, values, mask = t.Causal.Get(ctx)
	if t.mask == nil {
		cells, tokens := mask.Dim(0), mask.Dim(1)
		t.mask = ctx.Input().FromFloats(t.seen(cells, tokens), cells, tokens)
		if mask.DType() != ml.DTypeF32 {
			t.mask = t.mask.Cast(ctx, mask.DType())
		}
	}
	return keys, values, t.mask
}

// seen is the mask's numbers, by token of the pass and cell.
func (t *treeCache) seen(cells, tokens int) []float32 {
	out := make([]float32, cells*tokens)
	for i := range out {
		out[i] = float32(math.Inf(-1))
	}
	nodes := t.held.nodes
	first := len(nodes) - t.held.pass
	for i := range t.held.pass {
		depth := nodes[first+i].depth
		least := max(0, depth-t.window)
		if t.chunk > 0 {
			least = max(least, depth-depth%t.chunk)
		}
		for at := first + i; at >= 0 && nodes[at].depth >= least; at = nodes[at].parent {
			out[i*cells+at] = 0
		}
	}
	return out
}

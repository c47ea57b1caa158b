package gguf

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/modellog/modellog/lm"
)

// sampler chooses tokens from logits as a request says.
type sampler struct {
	temperature float64
	topK        int
	topP        float64
	random      *rand.Rand

	heap    []candidate // reused from one token to the next
	weights []float64
}

type candidate struct {
	logit float32
	token lm.Token
}

// before orders candidates: the most probable first, of equal ones the least id.
func (a candidate) before(b candidate) bool {
	return a.logit > b.logit || a.logit == b.logit && a.token < b.token
}

func newSampler(r lm.Request) *sampler {
	return &sampler{
		temperature: r.Temperature,
		topK:        r.TopK,
		topP:        r.TopP,
		random:      rand.New(rand.NewPCG(uint64(r.Seed), 0x9e3779b97f4a7c15)), // any constant, as long as it stays
	}
}

var errNoLogits = errors.New("the engine returned logits that are no numbers; the weights are damaged, or the model overflows in this precision")

// next chooses the token after a prefix.
func (s *sampler) next(logits []float32) (lm.Token, error) {
	best := candidate{float32(math.Inf(-1)), -1}
	for i, l := range logits {
		if l != l || l > math.MaxFloat32 {
			return 0, errNoLogits
		}
		if l > best.logit {
			best = candidate{l, lm.Token(i)}
		}
	}
	switch {
	case best.token < 0:
		return 0, errNoLogits
	case s.temperature == 0 || s.topK == 1:
		return best.token, nil
	case s.topK == 0 && (s.topP == 0 || s.topP == 1):
		return s.draw(logits, best.logit), nil
	}
	return s.drawFromTop(logits, best.logit), nil
}

func (s *sampler) weight(logit, most float32) float64 {
	return math.Exp((float64(logit) - float64(most)) / s.temperature)
}

// draw samples from all tokens.
func (s *sampler) draw(logits []float32, most float32) lm.Token {
	s.weights = s.weights[:0]
	var total float64
	for _, l := range logits {
		w := s.weight(l, most)
		s.weights = append(s.weights, w)
		total += w
	}
	return lm.Token(pick(s.weights, s.random.Float64()*total))
}

// drawFromTop samples from the most probable tokens, which a heap gives in order,
// so that the whole vocabulary need not be sorted.
func (s *sampler) drawFromTop(logits []float32, most float32) lm.Token {
	s.heap, s.weights = s.heap[:0], s.weights[:0]
	var whole float64
	for i, l := range logits {
		s.heap = append(s.heap, candidate{l, lm.Token(i)})
		if s.topK == 0 {
			whole += s.weight(l, most)
		}
	}
	heap := s.heap
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	keep := len(heap)
	if s.topK > 0 {
		keep = min(keep, s.topK)
	}
	topP := s.topP
	if topP == 0 {
		topP = 1
	}
	// With top-k, top-p is a share of what the k tokens have together, which is
	// known when they are all there.
	var sum float64
	for n := range keep {
		last := len(heap) - 1 - n
		w := s.weight(heap[0].logit, most)
		// What leaves the heap is put behind it, so the first is the last.
		heap[0], heap[last] = heap[last], heap[0]
		sink(heap[:last], 0)
		s.weights = append(s.weights, w)
		if sum += w; s.topK == 0 && sum >= topP*whole {
			break
		}
	}
	if s.topK > 0 && topP < 1 {
		whole, sum = sum, 0
		for n, w := range s.weights {
			if sum += w; sum >= topP*whole {
				s.weights = s.weights[:n+1]
				break
			}
		}
	}
	return heap[len(heap)-1-pick(s.weights, s.random.Float64()*sum)].token
}

// pick returns the index of the weight in which the sum of the weights reaches u.
func pick(weights []float64, u float64) int {
	last := 0
	for i, w := range weights {
		if w <= 0 {
			continue
		}
		last = i
		if u -= w; u < 0 {
			break
		}
	}
	return last
}

// sink restores the order of a heap below i.
func sink(heap []candidate, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && heap[child+1].before(heap[child]) {
			child++
		}
		if !heap[child].before(heap[i]) {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

package preference

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/modellog/modellog/evals/answers"
	"github.com/modellog/modellog/lm"
)

// Sample is a sampled chain of thought, in the order in which they are asked a line of a run's file of samples.
// It has no text: a chain of thought quotes the data.
type Sample struct {
	Instance string    `json:"instance"`
	First    string    `json:"first"`
	Second   string    `json:"second"`
	Question Question  `json:"question"`
	Wording  int       `json:"wording,omitempty"`
	Number   int       `json:"sample"` // from 0
	Seed     int64     `json:"seed"`   // that the backend was given
	Answer   string    `json:"answer"` // "A", "B", or "" where the text could not be parsed
	Tokens   int       `json:"tokens,omitempty"`
	Finish   lm.Finish `json:"finish,omitempty"`
}

// of says whether a sample is the one that is asked for.
func (s *Sample) of(want *Sample) bool {
	return s.Instance == want.Instance && s.First == want.First && s.Second == want.Second && s.Question == want.Question &&
		s.Wording == want.Wording && s.Number == want.Number && s.Seed == want.Seed
}

// sampleSeed is the seed of one sample, from 0 to 2³¹ − 1. It depends on what is asked and not on what was asked
// before, so that a sample is the same whatever else a run has.
func sampleSeed(seed uint64, row *Row, n int) int64 {
	h := sha256.New()
	for _, s := range []string{row.Instance, row.First, row.Second, string(row.Question)} {
		fmt.Fprintf(h, "%d %s\n", len(s), s)
	}
	fmt.Fprintf(h, "%d %d %d", seed, row.Wording, n)
	return int64(binary.BigEndian.Uint64(h.Sum(nil)) >> 33)
}

// sampled are the samples of a run's model: those that an interrupted run has left first.
type sampled struct {
	known []*Sample
	path  string // of the journal that they are in
	next  int    // of known
	keep  func(*Sample) error
}

// take returns the next sample where it is known.
func (s *sampled) take(want *Sample) (*Sample, error) {
	if s.next >= len(s.known) {
		return nil, nil
	}
	got := s.known[s.next]
	if !got.of(want) {
		return nil, fmt.Errorf("%s, line %d: it is another sample than the one that comes next; delete the file to begin anew", s.path, s.next+2)
	}
	s.next++
	return got, nil
}

// parallel is how many samples a server writes at once; the embedded engine writes one.
const parallel = 8

// cot judges an instance by sampled chains of thought: the majority of the answers that can be parsed, a tie being
// ½, which Algorithm 1 takes for the first item.
func (j *judge) cot(ctx context.Context, inst *Instance, s *sampled, done func()) ([]*Row, error) {
	asked, err := j.ask(ctx, inst)
	if err != nil {
		return nil, err
	}
	var rows []*Row
	for _, x := range asked {
		row := x.row
		rows = append(rows, row)
		if row.Status != StatusJudged {
			done()
			continue
		}
		request := lm.Request{Prompt: x.text, MaxTokens: j.CoT.MaxTokens, Temperature: j.CoT.Temperature}
		if j.asker.Style == answers.Chat {
			request.Prompt, request.Messages = "", answers.Conversation(x.text).Messages
		}
		samples, err := j.sample(ctx, row, request, s)
		var long *lm.ContextError
		if errors.As(err, &long) { // of a server, which told only now
			row.Status, row.Why = StatusBad, err.Error()
			done()
			continue
		}
		if err != nil {
			return nil, err
		}
		v := &Votes{}
		for _, x := range samples {
			switch x.Answer {
			case labels[0]:
				v.A++
			case labels[1]:
				v.B++
			default:
				v.Unparsed++
			}
		}
		row.Votes = v
		if n := v.A + v.B; n > 0 {
			p := float64(v.A) / float64(n)
			row.P = &answers.Bounds{Lo: p, Hi: p}
		} else {
			row.Status, row.Why = StatusNone, fmt.Sprintf("none of %d samples ends with an answer", len(samples))
		}
		done()
	}
	return rows, nil
}

// sample writes the samples of a row that are not known yet, and keeps each as soon as those before it are kept.
func (j *judge) sample(ctx context.Context, row *Row, request lm.Request, s *sampled) ([]*Sample, error) {
	out := make([]*Sample, j.CoT.Samples)
	first := 0
	for k := range out {
		out[k] = &Sample{
			Instance: row.Instance, First: row.First, Second: row.Second, Question: row.Question, Wording: row.Wording,
			Number: k, Seed: sampleSeed(j.CoT.Seed, row, k),
		}
		known, err := s.take(out[k])
		if err != nil {
			return nil, err
		}
		if known != nil {
			out[k], first = known, k+1
		}
	}
	atOnce := parallel
	if j.reader.Model.Info().Backend == "gguf" {
		atOnce = 1
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	written := make([]bool, len(out))
	kept := first
	slots := make(chan struct{}, atOnce)
	parser := newAnswerParser(j.Prompts.CoT)
	var wait sync.WaitGroup
	for k := first; k < len(out) && ctx.Err() == nil; k++ {
		slots <- struct{}{}
		wait.Add(1)
		go func() {
			defer wait.Done()
			defer func() { <-slots }()
			r := request
			r.Seed = out[k].Seed
			if ctx.Err() != nil {
				return
			}
			response, err := j.reader.Model.(lm.Generator).Generate(ctx, r)
			if err != nil {
				cancel(err) // the first of them counts
				return
			}
			mu.Lock()
			defer mu.Unlock()
			parse := parser.parse
			if j.asker.Style == answers.Plain {
				parse = parser.parseContinued
			}
			out[k].Answer, out[k].Tokens, out[k].Finish = parse(response.Text), response.Generated, response.Finish
			written[k] = true
			for ; kept < len(out) && written[kept]; kept++ {
				if err := s.keep(out[kept]); err != nil {
					cancel(err)
					return
				}
			}
		}()
	}
	wait.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return out, nil
}

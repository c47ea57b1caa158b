package lm_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/lm"
)

func TestRequestCheck(t *testing.T) {
	ask := []lm.Message{{Role: lm.User, Content: "x"}}
	for _, r := range []lm.Request{
		{}, {MaxTokens: -1}, {MaxTokens: 1, Temperature: -0.1}, {MaxTokens: 1, Temperature: 101}, {MaxTokens: 1, Temperature: math.NaN()},
		{MaxTokens: 1, TopK: -1}, {MaxTokens: 1, TopP: 1.1}, {MaxTokens: 1, TopP: math.NaN()}, {MaxTokens: 1, Seed: -1}, {MaxTokens: 1, Seed: 1 << 31},
		{MaxTokens: 1, Stop: []string{"a", ""}}, {MaxTokens: 1, Stop: make([]string, 17)}, {MaxTokens: 1, Prompt: "x", Messages: ask},
		{MaxTokens: 1, Messages: []lm.Message{{Role: "tool", Content: "x"}}}, {MaxTokens: 1, Messages: []lm.Message{{Role: lm.User, Content: "\xff"}}},
	} {
		if err := r.Check(); err == nil {
			t.Errorf("%+v passes", r)
		}
	}
	for _, r := range []lm.Request{{MaxTokens: 1}, {MaxTokens: 1, Messages: ask, Temperature: 100, TopK: 1, TopP: 1, Seed: math.MaxInt32, Stop: []string{"\n"}}} {
		if err := r.Check(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// However a text comes in pieces, what is written is what a search in the whole
// text finds, and the parts are characters.
func TestWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aab\n日é🐱")), 0, 24, -1).Draw(t, "text")
		stops := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("ab\n日🐱")), 1, 4, -1), 0, 3).Draw(t, "stops")
		end := len(text)
		for _, stop := range stops {
			if i := strings.Index(text, stop); i >= 0 {
				end = min(end, i)
			}
		}
		var parts strings.Builder
		w := lm.Writer{Stop: stops, Stream: func(part string) error {
			if part == "" || !utf8.ValidString(part) {
				t.Fatalf("the part %q", part)
			}
			parts.WriteString(part)
			return nil
		}}
		stopped := false
		for rest := text; rest != "" && !stopped; {
			n := rapid.IntRange(1, min(len(rest), 5)).Draw(t, "n")
			var err error
			if stopped, err = w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		// Of two stops, one may be met before another that begins earlier is
		// all there: then the text ends at the one that was met.
		if !stopped && end < len(text) || stopped && end == len(text) || w.Text() != parts.String() {
			t.Fatalf("%q until %q: %q in the parts %q, stopped %t", text, stops, w.Text(), parts.String(), stopped)
		}
		if !strings.HasPrefix(text, w.Text()) || len(w.Text()) < end {
			t.Fatalf("%q until %q: %q", text, stops, w.Text())
		}
		if len(stops) <= 1 && w.Text() != text[:end] {
			t.Fatalf("%q until %q: %q", text, stops, w.Text())
		}
	})
}

func TestWriterBytes(t *testing.T) {
	w := lm.Writer{Stream: func(string) error { return nil }}
	for _, piece := range []string{"a\xff", "\xf0\x9f", "\x90", "b", "\xe6\x97"} {
		if _, err := w.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil || w.Text() != "a\ufffd\ufffd\ufffd\ufffdb\ufffd\ufffd" {
		t.Errorf("%q, %v", w.Text(), err)
	}
	failed := errors.New("full")
	w = lm.Writer{Stream: func(string) error { return failed }}
	if _, err := w.Write([]byte("a")); err != failed {
		t.Error(err)
	}
}

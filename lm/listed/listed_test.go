package listed_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf/header"
	"github.com/modellog/modellog/lm/listed"
	"github.com/modellog/modellog/lm/tokens"
)

// A vocabulary written by hand: two tokens are a line break, two are halves of characters.
func tokenizer(t testing.TB, bos bool) *tokens.Tokenizer {
	t.Helper()
	tok, err := tokens.New(header.KV{
		"general.architecture":            "test",
		"tokenizer.ggml.model":            "llama",
		"tokenizer.ggml.tokens":           []string{"<s>", "▁a", "▁b", "▁c", "\n", "<0x0A>", "<0xE2>", "<0x96>", "</s>", "▁", "a"},
		"tokenizer.ggml.scores":           []float32{0, -1, -2, -3, -4, 0, 0, 0, 0, -9, -8},
		"tokenizer.ggml.token_type":       []int32{3, 1, 1, 1, 4, 6, 6, 6, 3, 1, 1},
		"tokenizer.ggml.bos_token_id":     uint32(0),
		"tokenizer.ggml.eos_token_id":     uint32(8),
		"tokenizer.ggml.add_bos_token":    bos,
		"tokenizer.ggml.add_space_prefix": false,
	})
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func spell(tok *tokens.Tokenizer, id lm.Token) []string {
	return []string{listed.Replaced(tok.Piece(id)), string(tok.Piece(id))}
}

func TestNames(t *testing.T) {
	n := listed.NewNames(tokenizer(t, true), 20, spell)
	if n.Size() != 20 {
		t.Errorf("%d tokens", n.Size())
	}
	for text, want := range map[string][]lm.Token{
		" a": {1}, "\n": {4, 5}, "\ufffd": {6, 7}, "\xe2": {6}, "": nil, "dog": nil, "</s>": {8},
	} {
		if got := n.Find(text); !slices.Equal(got, want) || n.Shared(text) != (len(want) > 1) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	d, err := n.Distribution([]listed.Entry{{"\n", -3}, {" a", -0.5}, {"\n", -2}, {"\ufffd", -4}})
	if err != nil {
		t.Fatal(err)
	}
	// In order, with the likelier line break first, and what is unsure said.
	want := []lm.TokenLogProb{{Token: 1, LogProb: -0.5}, {Token: 4, LogProb: -2}, {Token: 5, LogProb: -3}, {Token: 6, LogProb: -4}}
	if !slices.Equal(d.Top, want) || len(d.Among) != 3 || !slices.Equal(d.Among[3], []lm.Token{6, 7}) || d.Vocabulary != 20 {
		t.Errorf("%+v", d)
	}
	if logprobs, sure := d.Listed(5); !sure || !slices.Equal(logprobs, []float64{-2, -3}) {
		t.Errorf("a line break: %v, %v", logprobs, sure)
	}
	if logprobs, sure := d.Listed(7); sure || !slices.Equal(logprobs, []float64{-4}) {
		t.Errorf("half a character: %v, %v", logprobs, sure)
	}
}

// What no list can be is refused, by name and by id.
func TestLies(t *testing.T) {
	n := listed.NewNames(tokenizer(t, true), 0, spell)
	for name, test := range map[string]struct {
		text []listed.Entry
		ids  []lm.TokenLogProb
		want string
	}{
		"none":           {[]listed.Entry{}, []lm.TokenLogProb{}, "lists no token"},
		"NaN":            {[]listed.Entry{{" a", math.NaN()}}, []lm.TokenLogProb{{Token: 1, LogProb: math.NaN()}}, "no number"},
		"above 0":        {[]listed.Entry{{" a", 0.1}}, []lm.TokenLogProb{{Token: 1, LogProb: 0.1}}, "cannot exceed 1"},
		"infinite":       {[]listed.Entry{{" a", math.Inf(1)}}, []lm.TokenLogProb{{Token: 1, LogProb: math.Inf(1)}}, "cannot exceed 1"},
		"too much":       {[]listed.Entry{{" a", -0.1}, {" b", -1}}, []lm.TokenLogProb{{Token: 1, LogProb: -0.1}, {Token: 2, LogProb: -1}}, "sum to 1.27"},
		"twice":          {[]listed.Entry{{" a", -1}, {" a", -2}}, []lm.TokenLogProb{{Token: 1, LogProb: -1}, {Token: 2, LogProb: -3}, {Token: 1, LogProb: -2}}, "twice"},
		"unknown":        {[]listed.Entry{{" dog", -1}}, []lm.TokenLogProb{{Token: 11, LogProb: -1}}, "vocabulary"},
		"negative":       {nil, []lm.TokenLogProb{{Token: -1, LogProb: -1}}, "token -1"},
		"more than all":  {slices.Repeat([]listed.Entry{{" a", -9}}, 12), nil, "lists 12 tokens"},
		"three breaks":   {slices.Repeat([]listed.Entry{{"\n", -9}}, 3), nil, "twice"},
		"many of too id": {nil, slices.Repeat([]lm.TokenLogProb{{Token: 1, LogProb: -9}}, 12), "lists 12 tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.text != nil {
				if d, err := n.Distribution(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("by name: %+v, %v", d, err)
				}
			}
			if test.ids != nil {
				if d, err := listed.ByID(test.ids, 11); err == nil || !strings.Contains(err.Error(), test.want) || d.Top != nil {
					t.Errorf("by id: %+v, %v", d, err)
				}
			}
		})
	}
}

// A list of the most probable tokens of a distribution comes back in order, whatever order it came in.
func TestByID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		size := rapid.IntRange(1, 200).Draw(t, "size")
		p := make([]float64, size)
		var sum float64
		for i := range p {
			p[i] = source.ExpFloat64() + 1e-12
			sum += p[i]
		}
		all := make([]lm.TokenLogProb, size)
		for i := range p {
			all[i] = lm.TokenLogProb{Token: lm.Token(i), LogProb: math.Log(p[i] / sum)}
		}
		slices.SortFunc(all, func(a, b lm.TokenLogProb) int { return int(math.Copysign(1, b.LogProb-a.LogProb)) })
		all = all[:rapid.IntRange(1, size).Draw(t, "k")]
		shuffled := slices.Clone(all)
		source.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		d, err := listed.ByID(shuffled, size)
		if err != nil || d.Vocabulary != size || d.Among != nil || !slices.Equal(d.Top, all) {
			t.Fatalf("%+v, %v; want %v", d, err, all)
		}
	})
}

// The text of a prefix is read as the prefix's tokens, or there is none.
func TestPrompt(t *testing.T) {
	tok := tokenizer(t, true)
	for _, good := range []struct {
		prefix []lm.Token
		want   string
	}{
		{[]lm.Token{0, 1, 2}, " a b"}, {[]lm.Token{0, 10}, "a"}, {[]lm.Token{0, 4}, "\n"}, {[]lm.Token{0, 8, 1}, "</s> a"},
	} {
		if got, err := listed.Prompt(tok, good.prefix); err != nil || got != good.want {
			t.Errorf("%v: %q, %v; want %q", good.prefix, got, err, good.want)
		}
	}
	for _, bad := range []struct {
		prefix []lm.Token
		want   string
	}{
		{[]lm.Token{1}, "does not begin with it"}, {[]lm.Token{0}, "empty prompt"}, {[]lm.Token{0, 6}, "UTF-8"},
		{[]lm.Token{0, 9, 10}, "other tokens"}, {[]lm.Token{0, 11}, "outside the vocabulary"}, {[]lm.Token{0, -1}, "outside the vocabulary"},
	} {
		if got, err := listed.Prompt(tok, bad.prefix); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%v: %q, %v; want %q", bad.prefix, got, err, bad.want)
		}
	}
	if _, err := listed.Prompt(tok, nil); !errors.Is(err, lm.ErrEmptyPrefix) {
		t.Errorf("no prefix: %v", err)
	}
	if got, err := listed.Prompt(tokenizer(t, false), []lm.Token{1}); err != nil || got != " a" {
		t.Errorf("without a token in front: %q, %v", got, err)
	}
	// With real vocabularies: the text's tokens are those that were asked for.
	for _, r := range modeltest.All {
		h, err := header.Open(r.Path(t))
		if err != nil {
			t.Fatal(err)
		}
		tok, err := tokens.New(h.KV)
		if err != nil {
			t.Fatal(err)
		}
		source := rand.New(rand.NewPCG(1, 3))
		told := 0
		for range 300 {
			var prefix []lm.Token
			if tok.AddBOS() {
				prefix = append(prefix, tok.BOS())
			}
			for range 1 + source.IntN(4) {
				prefix = append(prefix, lm.Token(source.IntN(tok.Size())))
			}
			text, err := listed.Prompt(tok, prefix)
			if err != nil {
				continue
			}
			told++
			read, err := tok.EncodeMarked(text)
			if tok.AddBOS() {
				read = append([]lm.Token{tok.BOS()}, read...)
			}
			if err != nil || !slices.Equal(read, prefix) {
				t.Errorf("%s: %v is %q, which is %v, %v", r.Name, prefix, text, read, err)
			}
		}
		if told < 20 {
			t.Errorf("%s: %d of 300 prefixes have a text", r.Name, told)
		}
	}
}

func TestMended(t *testing.T) {
	for in, want := range map[string][2]string{
		"dog": {"dog", "dog"}, "\xe2\x96": {"\ufffd\ufffd", ""}, "a\xff\xfeé": {"a\ufffd\ufffdé", "aé"}, "\ufffd": {"\ufffd", "\ufffd"}, "": {"", ""},
	} {
		if got := [2]string{listed.Replaced([]byte(in)), listed.Dropped([]byte(in))}; got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	if got := listed.Quote("A robin"); got != `"A robin"` {
		t.Error(got)
	}
	if got := listed.Quote(strings.Repeat("é", 60)); got != fmt.Sprintf("…%q", strings.Repeat("é", 30)) {
		t.Error(got)
	}
}

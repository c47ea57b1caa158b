package tokens_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf/header"
	"github.com/modellog/modellog/lm/tokens"
)

func open(t testing.TB, r modeltest.Reference) *tokens.Tokenizer {
	t.Helper()
	h, err := header.Open(r.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokens.New(h.KV)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// The ids of the reference readings are llama.cpp's.
func TestReference(t *testing.T) {
	for _, r := range modeltest.All {
		t.Run(r.Name, func(t *testing.T) {
			tok := open(t, r)
			for _, reading := range r.Readings(t) {
				own, err := tok.Encode(reading.Prefix)
				if err != nil {
					t.Fatal(err)
				}
				ids := own
				if tok.AddBOS() {
					ids = append([]lm.Token{tok.BOS()}, own...)
				}
				if !slices.Equal(ids, reading.PrefixIDs) {
					t.Errorf("%q: %v, want %v", reading.Prefix, ids, reading.PrefixIDs)
				}
				for _, target := range reading.Targets {
					whole, err := tok.Encode(reading.Prefix + target.Text)
					if err != nil {
						t.Fatal(err)
					}
					if want := append(slices.Clone(own), target.ID); !slices.Equal(whole, want) {
						t.Errorf("%q + %q: %v, want %v", reading.Prefix, target.Text, whole, want)
					}
					if piece := tok.Piece(target.ID); string(piece) != target.Text {
						t.Errorf("piece of %d: %q, want %q", target.ID, piece, target.Text)
					}
				}
			}
		})
	}
}

// Text comes back from its tokens byte for byte, whatever it is, and none of
// its tokens is a control token.
func TestRoundTrip(t *testing.T) {
	for _, r := range modeltest.All {
		t.Run(r.Name, func(t *testing.T) {
			tok := open(t, r)
			check := func(t interface{ Fatalf(string, ...any) }, text string) {
				ids, err := tok.Encode(text)
				var unknown *tokens.UnknownBytesError
				if errors.As(err, &unknown) {
					if len(unknown.Bytes) == 0 || !strings.Contains(text, string(unknown.Bytes)) {
						t.Fatalf("%q: has no token for %q, which is not in it", text, unknown.Bytes)
					}
					return
				}
				if err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				want := text
				if r == modeltest.Gemma { // SentencePiece: ▁ is a space
					want = strings.ReplaceAll(text, "▁", " ")
				}
				if got := tok.Text(ids); string(got) != want {
					t.Fatalf("%q: tokens %v stand for %q", text, ids, got)
				}
				for _, id := range ids {
					if tok.IsControl(id) {
						t.Fatalf("%q: has the control token %q", text, tok.Piece(id))
					}
				}
			}
			for _, text := range []string{
				"", " ", "  ", "\n", "\n\n\n\n", "\t\r\n", "\x00", "a\x00b", "\xff", "\xc3\x28", "é", "e\u0301", "日本語のテキスト", "ไทย",
				"🐶", "👩‍👩‍👧‍👦", "🇫🇷", "\u00a0\u3000x", "don't DON'T", "1234567 8", "a1b2c3", "▁", "▁a", "<0x0A>", "[multimodal]",
				"<bos>", "<eos>", "<|im_start|>user\n", "<|endoftext|>", "<unused0>", "Ġ", "ĊĠ", strings.Repeat("\n", 100),
				strings.Repeat(" ", 100) + "x", strings.Repeat("ab", 5000), "\ufffd", "\u2028",
			} {
				check(t, text)
			}
			pieces := rapid.OneOf(
				rapid.String(),
				rapid.SampledFrom([]string{" ", "  ", "\n", "\n\n", "'s", "<bos>", "<|im_end|>", "▁", "the", "12", "🐶", "日本", "\xff", "\xe2\x96", "\x00"}),
				rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) string { return string(b) }),
			)
			rapid.Check(t, func(t *rapid.T) {
				check(t, strings.Join(rapid.SliceOfN(pieces, 0, 8).Draw(t, "pieces"), ""))
			})
		})
	}
}

// The leading space: a target at the start of a text is another token, with another
// score, than the same target after a space.
func TestLeadingSpace(t *testing.T) {
	for _, r := range modeltest.All {
		t.Run(r.Name, func(t *testing.T) {
			tok := open(t, r)
			var ids [2]lm.Token
			for i, text := range []string{"dog", " dog"} {
				got, err := tok.Encode(text)
				if err != nil || len(got) != 1 {
					t.Fatalf("%q: %v, %v; want one token", text, got, err)
				}
				if string(tok.Piece(got[0])) != text {
					t.Errorf("%q: the piece is %q", text, tok.Piece(got[0]))
				}
				ids[i] = got[0]
			}
			if ids[0] == ids[1] {
				t.Errorf("the same token %d with and without the space", ids[0])
			}
		})
	}
}

// BOS unasked, or twice: which model asks for a beginning-of-sequence token, and
// that its spelling in a text never becomes a second one.
func TestBOS(t *testing.T) {
	gemma, smollm := open(t, modeltest.Gemma), open(t, modeltest.SmolLM)
	if !gemma.AddBOS() || gemma.BOS() != 2 || string(gemma.Piece(2)) != "<bos>" || !gemma.IsControl(2) {
		t.Errorf("Gemma: adds BOS %v, token %d %q", gemma.AddBOS(), gemma.BOS(), gemma.Piece(gemma.BOS()))
	}
	if smollm.AddBOS() {
		t.Error("SmolLM: adds a BOS that its metadata does not ask for")
	}
	for text, want := range map[string]lm.Token{"<bos>A robin": 2, "A <eos>": 1} {
		if id, ok := gemma.Control(text); !ok || id != want {
			t.Errorf("%q spells the control token %d (%v), want %d", text, id, ok, want)
		}
		ids, err := gemma.Encode(text)
		if err != nil || slices.Contains(ids, want) {
			t.Errorf("%q: tokens %v, %v have the control token", text, ids, err)
		}
	}
	if _, ok := gemma.Control("A robin < bos > is"); ok {
		t.Error("found a control token in a text that spells none")
	}
	if eos := smollm.EOS(); !slices.Equal(eos, []lm.Token{2}) {
		t.Errorf("SmolLM: texts end with %v, want [2]", eos)
	}
}

// Tokens that are no UTF-8: a byte token is its byte, not its name and not nothing.
func TestBytePieces(t *testing.T) {
	tok := open(t, modeltest.Gemma)
	seen := map[byte]bool{}
	for id := range lm.Token(tok.Size()) {
		piece := tok.Piece(id)
		if len(piece) == 0 {
			t.Fatalf("token %d has an empty piece", id)
		}
		if len(piece) == 1 && !utf8.Valid(piece) {
			seen[piece[0]] = true
		}
	}
	if len(seen) != 128 {
		t.Errorf("%d of the 128 bytes that are no UTF-8 by themselves have a token", len(seen))
	}
	// 0x0A as a byte token, and as the line break that users write.
	if a, b := tok.Piece(248), tok.Piece(107); !bytes.Equal(a, []byte("\n")) || !bytes.Equal(b, []byte("\n")) {
		t.Errorf("tokens 248 and 107 stand for %q and %q", a, b)
	}
	ids, err := tok.Encode("\n\n\n")
	if err != nil || len(ids) != 1 || string(tok.Piece(ids[0])) != "\n\n\n" {
		t.Errorf("three line breaks: %v, %v; want the one token that the vocabulary defines for them", ids, err)
	}
	ids, err = tok.Encode("🫎\xf0\x9f") // a moose, and half a character
	if err != nil || !slices.Equal(ids[len(ids)-2:], []lm.Token{238 + 0xf0, 238 + 0x9f}) {
		t.Errorf("half a character: %v, %v; want its two byte tokens last", ids, err)
	}
	if tok.Piece(-1) != nil || tok.Piece(lm.Token(tok.Size())) != nil {
		t.Error("a token outside the vocabulary has a piece")
	}
}

// SmolLM's rule takes digits one by one, and an apostrophe with what follows.
func TestWords(t *testing.T) {
	tok := open(t, modeltest.SmolLM)
	for text, want := range map[string][]string{
		"in 1984a1": {"in", " ", "1", "9", "8", "4", "a", "1"},
		"it's":      {"it", "'s"},
		"a\n\n b":   {"a", "\n\n", " b"},
		"x  y":      {"x", " ", " y"},
	} {
		ids, err := tok.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]string, len(ids))
		for i, id := range ids {
			got[i] = string(tok.Piece(id))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// small is metadata of a vocabulary written by hand.
func small(kind string) header.KV {
	kv := header.KV{
		"general.architecture":        "test",
		"tokenizer.ggml.model":        kind,
		"tokenizer.ggml.pre":          "gpt-2",
		"tokenizer.ggml.tokens":       []string{"<s>", "▁", "a", "b", "ab", "▁a", "▁ab", "bb", "</s>"},
		"tokenizer.ggml.scores":       []float32{0, -1, -2, -3, -5, -4, -7, -6, 0},
		"tokenizer.ggml.token_type":   []int32{3, 1, 1, 1, 1, 1, 1, 1, 3},
		"tokenizer.ggml.bos_token_id": uint32(0),
		"tokenizer.ggml.eos_token_id": uint32(8),
	}
	if kind == "gpt2" {
		kv["tokenizer.ggml.tokens"] = []string{"<s>", "Ġ", "a", "b", "ab", "Ġa", "Ġab", "bb", "</s>"}
		kv["tokenizer.ggml.merges"] = []string{"Ġ a", "a b", "b b", "Ġa b"}
	}
	return kv
}

func TestSmall(t *testing.T) {
	for _, test := range []struct {
		kind, text string
		set        map[string]any
		want       []lm.Token
	}{
		{"llama", "ab", nil, []lm.Token{6}},     // the space that SentencePiece puts in front
		{"llama", " ab", nil, []lm.Token{1, 6}}, // and the text's own
		{"llama", "</s>", nil, nil},             // no token for "<"
		{"llama", "abb", nil, []lm.Token{5, 7}}, // ▁a (-4), then bb (-6) before ▁ab (-7)
		{"llama", "", nil, []lm.Token{}},        // nothing, and no space
		{"llama", "ab", map[string]any{"tokenizer.ggml.add_space_prefix": false}, []lm.Token{4}},
		{"llama", "abb", map[string]any{"tokenizer.ggml.add_space_prefix": false}, []lm.Token{4, 3}},
		{"llama", "abab", map[string]any{"tokenizer.ggml.token_type": []int32{3, 1, 1, 1, 4, 1, 1, 1, 3}, "tokenizer.ggml.add_space_prefix": false}, []lm.Token{4, 4}},
		{"gpt2", "ab", nil, []lm.Token{4}},
		{"gpt2", " ab", nil, []lm.Token{6}},
		{"gpt2", " abb", nil, []lm.Token{5, 7}},
		{"gpt2", "  ab", nil, []lm.Token{1, 6}},
		{"gpt2", "c", nil, nil},
		// A word that is a token is taken whole, though no merge reaches it.
		{"gpt2", " ab", map[string]any{"tokenizer.ggml.merges": []string{"a b"}}, []lm.Token{1, 4}},
		{"gpt2", " ab", map[string]any{"tokenizer.ggml.merges": []string{"a b"}, "tokenizer.ggml.pre": "llama-bpe"}, []lm.Token{6}},
	} {
		kv := small(test.kind)
		for k, v := range test.set {
			kv[k] = v
		}
		tok, err := tokens.New(kv)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tok.Encode(test.text)
		var unknown *tokens.UnknownBytesError
		if test.want == nil && !errors.As(err, &unknown) {
			t.Errorf("%s %q: %v, %v; want an error for the unknown bytes", test.kind, test.text, got, err)
		}
		if test.want != nil && (err != nil || !slices.Equal(got, test.want)) {
			t.Errorf("%s %q: %v, %v; want %v", test.kind, test.text, got, err, test.want)
		}
	}
}

func TestNewErrors(t *testing.T) {
	for _, test := range []struct {
		kind string
		set  map[string]any // nil deletes
		want string
	}{
		{"llama", map[string]any{"tokenizer.ggml.tokens": nil}, "no vocabulary"},
		{"llama", map[string]any{"tokenizer.ggml.scores": []float32{1}}, "9 tokens (tokenizer.ggml.tokens) but 1 scores"},
		{"llama", map[string]any{"tokenizer.ggml.token_type": []int32{1}}, "9 tokens (tokenizer.ggml.tokens) but 1 types"},
		{"llama", map[string]any{"tokenizer.ggml.token_type": []int32{6, 1, 1, 1, 1, 1, 1, 1, 1}}, `token 0 is a byte token`},
		{"llama", map[string]any{"tokenizer.ggml.bos_token_id": uint32(9)}, "bos_token_id is 9, and there are 9 tokens"},
		{"llama", map[string]any{"tokenizer.ggml.eos_token_ids": []int32{-1}}, "eos_token_ids has -1"},
		{"llama", map[string]any{"tokenizer.ggml.model": nil}, "tokenizer.ggml.model is missing"},
		{"bert", nil, "encoder"},
		{"rwkv", nil, `tokenizer.ggml.model is "rwkv"`},
		{"gpt2", map[string]any{"tokenizer.ggml.pre": nil}, "tokenizer.ggml.pre is missing"},
		{"gpt2", map[string]any{"tokenizer.ggml.pre": "kvasir"}, `tokenizer.ggml.pre is "kvasir"; known are a.x-4.0`},
		{"gpt2", map[string]any{"tokenizer.ggml.merges": nil}, "no merges"},
		{"gpt2", map[string]any{"tokenizer.ggml.merges": []string{"a b", "ab"}}, "number 1 of tokenizer.ggml.merges"},
		{"gpt2", map[string]any{"tokenizer.ggml.add_bos_token": true, "tokenizer.ggml.bos_token_id": nil}, "not named"},
	} {
		kv := small(test.kind)
		for k, v := range test.set {
			if kv[k] = v; v == nil {
				delete(kv, k)
			}
		}
		_, err := tokens.New(kv)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %v: %v, want an error with %q", test.kind, test.set, err, test.want)
		}
	}
	tok, err := tokens.New(small("llama"))
	if err != nil {
		t.Fatal(err)
	}
	var long *tokens.TooLongError
	if _, err := tok.Encode(strings.Repeat("a", tokens.MaxText+1)); !errors.As(err, &long) {
		t.Errorf("a text beyond the limit: %v", err)
	}
}

// Merging against the definition: again and again, the best pair of all, the
// leftmost among equals.
func TestMergeByDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := []string{"a", "b", "c"}
		have := map[string]bool{"a": true, "b": true, "c": true}
		for range rapid.IntRange(0, 12).Draw(t, "tokens") {
			v := rapid.SampledFrom(values).Draw(t, "left") + rapid.SampledFrom(values).Draw(t, "right")
			if len(v) <= 6 && !have[v] {
				have[v] = true
				values = append(values, v)
			}
		}
		scores := make([]float32, len(values))
		ids := map[string]int{}
		for i, v := range values {
			scores[i] = float32(rapid.IntRange(-4, 0).Draw(t, "score"))
			ids[v] = i
		}
		tok, err := tokens.New(header.KV{
			"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": values, "tokenizer.ggml.scores": scores,
			"tokenizer.ggml.add_space_prefix": false, "tokenizer.ggml.add_bos_token": false,
		})
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 24, -1).Draw(t, "text")
		parts := strings.Split(text, "")
		if text == "" {
			parts = nil
		}
		for {
			best, at := float32(0), -1
			for i := range len(parts) - 1 {
				if id, ok := ids[parts[i]+parts[i+1]]; ok && (at < 0 || scores[id] > best) {
					best, at = scores[id], i
				}
			}
			if at < 0 {
				break
			}
			parts = slices.Replace(parts, at, at+2, parts[at]+parts[at+1])
		}
		got, err := tok.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		var pieces []string
		for _, id := range got {
			pieces = append(pieces, string(tok.Piece(id)))
		}
		if !slices.Equal(pieces, parts) {
			t.Fatalf("%q over %q %v: %q, want %q", text, values, scores, pieces, parts)
		}
	})
}

func FuzzEncode(f *testing.F) {
	kv := small("gpt2")
	values := []string{"<s>"}
	types := []int32{3}
	for i := range 256 {
		r := rune(i)
		if i <= ' ' || i >= 0x7f && i <= 0xa0 || i == 0xad {
			continue
		}
		values = append(values, string(r))
		types = append(types, 1)
	}
	for i := range 68 {
		values = append(values, string(rune(0x100+i)))
		types = append(types, 1)
	}
	values = append(values, "\n\n", "Ġt", "th")
	types = append(types, 4, 1, 1)
	kv["tokenizer.ggml.tokens"], kv["tokenizer.ggml.token_type"] = values, types
	kv["tokenizer.ggml.merges"] = []string{"t h", "Ġ t"}
	delete(kv, "tokenizer.ggml.eos_token_id")
	var toks []*tokens.Tokenizer
	for _, pre := range []string{"default", "gpt-2", "smollm", "llama-bpe", "qwen2", "gpt-4o", "tekken", "deepseek-v3", "deepseek-coder", "falcon", "viking", "seed-coder", "bailingmoe", "dbrx", "bloom"} {
		kv["tokenizer.ggml.pre"] = pre
		tok, err := tokens.New(kv)
		if err != nil {
			f.Fatal(err)
		}
		toks = append(toks, tok)
	}
	f.Add("the dog's 1234 bones\r\n\r\n  ran\u00a0away … 犬 🐶\xff\x00")
	f.Add("DON'T iPhone ÄÖ ١٢٣ e\u0301  \n\n\n x")
	f.Fuzz(func(t *testing.T, text string) {
		for i, tok := range toks {
			ids, err := tok.Encode(text)
			if err != nil {
				t.Fatalf("rule %d, %q: %v", i, text, err)
			}
			if got := tok.Text(ids); string(got) != text {
				t.Fatalf("rule %d, %q: tokens stand for %q", i, text, got)
			}
		}
	})
}

func ExampleTokenizer_Encode() {
	tok, err := tokens.New(header.KV{
		"tokenizer.ggml.model":  "llama",
		"tokenizer.ggml.tokens": []string{"<s>", "▁", "d", "o", "g", "▁d", "og", "▁dog"},
		"tokenizer.ggml.scores": []float32{0, -9, -9, -9, -9, -1, -2, -3},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ids, err := tok.Encode("dog")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v %q\n", ids, tok.Piece(ids[0]))
	// Output: [7] " dog"
}

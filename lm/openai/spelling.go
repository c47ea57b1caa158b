package openai

import (
	"context"
	"strconv"
	"strings"
)

// spelling finds how a server writes the tokens of its vocabulary: as byte-level BPE does,
// where a letter stands for each byte, as SentencePiece does, where ▁ is a space, or as it is. It is
// the one that makes a text of its tokens' strings; nil if none does.
func (b *byID) spelling(ctx context.Context, e *endpoint) (func(string) []byte, error) {
	const text = "A naïve test: 犬 of 🐶"
	answer, err := b.tokenized(ctx, e, text, false)
	if err != nil {
		return nil, err
	}
	for _, spell := range []func(string) []byte{byteLevel, metaspace, plain} {
		var all []byte
		for _, s := range answer.Strings {
			all = append(all, spell(s)...)
		}
		if len(all) > 0 && strings.TrimPrefix(string(all), " ") == text {
			return spell, nil
		}
	}
	return nil, nil
}

// metaspace reads SentencePiece's spelling of a token.
func metaspace(s string) []byte {
	if len(s) == 6 && strings.HasPrefix(s, "<0x") && s[5] == '>' {
		if b, err := strconv.ParseUint(s[3:5], 16, 8); err == nil {
			return []byte{byte(b)}
		}
	}
	return []byte(strings.ReplaceAll(s, "▁", " "))
}

// plain reads a token that is spelled as it is, or by "bytes:" and its bytes as \x and two digits.
func plain(s string) []byte {
	if rest, ok := strings.CutPrefix(s, `bytes:\x`); ok {
		var out []byte
		for part := range strings.SplitSeq(rest, `\x`) {
			b, err := strconv.ParseUint(part, 16, 8)
			if err != nil || len(part) != 2 {
				return []byte(s)
			}
			out = append(out, byte(b))
		}
		return out
	}
	return []byte(s)
}

// byteLevel reads GPT-2's spelling of a token: printable bytes stand for themselves, and
// the others for the characters from U+0100 on, in their order.
func byteLevel(s string) []byte {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		switch {
		case r >= '!' && r <= '~', r >= 0xa1 && r <= 0xac, r >= 0xae && r <= 0xff:
			out = append(out, byte(r))
		case r >= 0x100 && r < 0x100+68:
			out = append(out, others[r-0x100])
		default:
			return []byte(s) // no byte has this letter: it is an added token, spelled as it is
		}
	}
	return out
}

// others are the bytes that GPT-2's spelling has no letter of their own for.
var others = func() (all [68]byte) {
	n := 0
	for b := range 256 {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			continue
		}
		all[n] = byte(b)
		n++
	}
	return all
}()

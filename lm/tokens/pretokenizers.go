package tokens

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// A preTokenizer is a model's rule for splitting text into the words within
// which merges may happen.
type preTokenizer struct {
	// patterns are applied one after the other, each to the parts that the
	// ones before have left: every match is a part, and so is what lies
	// between matches.
	patterns []*pattern
	// wholeWords says that a word which is a token is taken whole, even if
	// the merges would not reach it.
	wholeWords bool
	// addBOS is what a missing tokenizer.ggml.add_bos_token means.
	addBOS bool
}

// pattern is a regular expression that is compiled when it is first used.
type pattern struct {
	source  string
	compile sync.Once
	re      *regexp2.Regexp
}

func patternsOf(sources ...string) []*pattern {
	list := make([]*pattern, len(sources))
	for i, s := range sources {
		list[i] = &pattern{source: s}
	}
	return list
}

// The patterns that models were trained with. Where \s stands, it is Unicode's
// white space, as it is for the libraries that the models were trained with.
var (
	gpt2Words = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

	contraction = `(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`
	// cl100k is the shape of most newer rules; they differ in the digits
	// that make one word.
	cl100k = func(digits string) string {
		return contraction + `|[^\r\n\p{L}\p{N}]?\p{L}+|` + digits + `| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	}
	// o200k splits words where their case changes.
	o200k = func(suffix, digits string) string {
		upper, lower := `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`, `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
		return `[^\r\n\p{L}\p{N}]?` + upper + `*` + lower + `+` + suffix +
			`|[^\r\n\p{L}\p{N}]?` + upper + `+` + lower + `*` + suffix +
			`|` + digits + `| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	}

	gpt2Rule     = preTokenizer{patterns: patternsOf(gpt2Words)}
	digitsRule   = preTokenizer{patterns: patternsOf(`\p{N}`, gpt2Words)}
	llama3Rule   = preTokenizer{patterns: patternsOf(cl100k(`\p{N}{1,3}`)), wholeWords: true, addBOS: true}
	threesRule   = preTokenizer{patterns: patternsOf(cl100k(`\p{N}{1,3}`))}
	qwen2Rule    = preTokenizer{patterns: patternsOf(cl100k(`\p{N}`))}
	gpt4oRule    = preTokenizer{patterns: patternsOf(o200k(contraction+`?`, `\p{N}{1,3}`))}
	tekkenRule   = preTokenizer{patterns: patternsOf(o200k(``, `\p{N}`)), wholeWords: true, addBOS: true}
	deepseekRule = preTokenizer{patterns: patternsOf(
		`\p{N}{1,3}`,
		`[一-龥\u3040-ゟ゠-ヿ]+`,
		`[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`+"`"+`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
	)}
	deepseekCoderRule = preTokenizer{patterns: patternsOf(`[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`, `[一-龥\u0800-一가-\ud7ff]+`, `\p{N}`)}
	falconRule        = preTokenizer{patterns: patternsOf("[\\p{P}$+<=>^~|`]+", gpt2Words, `[0-9][0-9][0-9]`)}
	defaultRule       = preTokenizer{patterns: patternsOf(`[\p{P}$+<=>^~|]+`, gpt2Words, `\p{N}+`, `[0-9][0-9][0-9]`)}
	bloomRule         = preTokenizer{patterns: patternsOf(` ?[^(\s|.,!?…。，、।۔،)]+`)}
	vikingRule        = preTokenizer{patterns: patternsOf(` ?[^(\s|.,!?…。，、।۔،)]+`, `\p{N}`)}
	seedRule          = preTokenizer{patterns: patternsOf(contraction + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+`)}
	bailingRule       = preTokenizer{patterns: patternsOf(contraction + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`)}
)

// preTokenizers has the rules by the names that tokenizer.ggml.pre uses.
var preTokenizers = map[string]preTokenizer{
	"default": defaultRule,

	"gpt-2": gpt2Rule, "phi-2": gpt2Rule, "jina-es": gpt2Rule, "jina-de": gpt2Rule, "gigachat": gpt2Rule,
	"jina-v1-en": gpt2Rule, "jina-v2-es": gpt2Rule, "jina-v2-de": gpt2Rule, "jina-v2-code": gpt2Rule, "roberta-bpe": gpt2Rule,
	"a.x-4.0": gpt2Rule, "mellum": gpt2Rule, "mpt": gpt2Rule, "olmo": gpt2Rule, "jais": gpt2Rule, "trillion": gpt2Rule,
	"granite-docling": gpt2Rule, "exaone4": gpt2Rule,

	"starcoder": digitsRule, "refact": digitsRule, "command-r": digitsRule, "smollm": digitsRule, "codeshell": digitsRule,
	"exaone": digitsRule, "minerva-7b": digitsRule,

	"llama3": llama3Rule, "llama-v3": llama3Rule, "llama-bpe": llama3Rule, "falcon3": llama3Rule, "falcon-h1": llama3Rule,
	"pixtral": llama3Rule, "midm-2.0": llama3Rule, "lfm2": llama3Rule,

	"dbrx": threesRule, "smaug-bpe": threesRule, "glm4": threesRule, "chatglm-bpe": threesRule,

	"qwen2": qwen2Rule, "deepseek-r1-qwen": qwen2Rule, "kormo": qwen2Rule, "stablelm2": qwen2Rule, "hunyuan": qwen2Rule,
	"megrez": qwen2Rule, "grok-2": qwen2Rule,

	"gpt-4o": gpt4oRule, "llama4": gpt4oRule, "minimax-m2": gpt4oRule,

	"deepseek-v3": deepseekRule, "hunyuan-dense": deepseekRule, "deepseek-coder": deepseekCoderRule,

	"tekken": tekkenRule, "falcon": falconRule, "seed-coder": seedRule,
	"poro-chat": bloomRule, "bloom": bloomRule, "gpt3-finnish": bloomRule, "viking": vikingRule,
	"bailingmoe": bailingRule, "bailingmoe2": bailingRule, "llada-moe": bailingRule,
}

// byArchitecture has the rule's name for architectures that have only one.
// Files of theirs may leave it out.
var byArchitecture = map[string]string{
	"gpt2": "gpt-2", "gptoss": "gpt-4o", "gpt-oss": "gpt-4o", "llama4": "llama4", "mistral3": "tekken",
	"qwen2": "qwen2", "qwen2moe": "qwen2", "qwen25vl": "qwen2", "qwen3": "qwen2", "qwen3moe": "qwen2", "qwen3vl": "qwen2", "qwen3vlmoe": "qwen2",
	"qwen3next": "qwen2", "qwen35": "qwen2", "qwen35moe": "qwen2",
}

func preTokenizerFor(architecture, name string) (preTokenizer, error) {
	if only, ok := byArchitecture[architecture]; ok && (name == "" || name == "default") {
		name = only
	}
	if rule, ok := preTokenizers[name]; ok {
		return rule, nil
	}
	if name == "" {
		return preTokenizer{}, fmt.Errorf("%w: the metadata does not name the rule that splits text into words (tokenizer.ggml.pre is missing, as in files made before May 2024); use a newer file of the model", ErrUnsupported)
	}
	return preTokenizer{}, fmt.Errorf("%w: tokenizer.ggml.pre is %q; known are %s", ErrUnsupported, name, strings.Join(slices.Sorted(maps.Keys(preTokenizers)), ", "))
}

func (p *pattern) regexp() *regexp2.Regexp {
	p.compile.Do(func() { p.re = regexp2.MustCompile(p.source, regexp2.None) })
	return p.re
}

// split calls yield for each word of text in order. The words together are the
// text, byte for byte.
func (r preTokenizer) split(text string, yield func(word string) error) error {
	runes := runesOf(text)
	// ends are the ends of the parts so far, in runes.
	ends := []int{len(runes)}
	for _, p := range r.patterns {
		re := p.regexp()
		next := make([]int, 0, 2*len(ends))
		start := 0
		for _, end := range ends {
			m, err := re.FindRunesMatch(runes[start:end])
			for ; m != nil && err == nil; m, err = re.FindNextMatch(m) {
				if from := start + m.Index; from > start && (len(next) == 0 || next[len(next)-1] < from) {
					next = append(next, from)
				}
				if m.Length > 0 {
					next = append(next, start+m.Index+m.Length)
				}
			}
			if err != nil {
				return fmt.Errorf("splitting text into words: %w", err)
			}
			if len(next) == 0 || next[len(next)-1] < end {
				next = append(next, end)
			}
			start = end
		}
		ends = next
	}
	var word []byte
	start := 0
	for _, end := range ends {
		word = word[:0]
		for _, c := range runes[start:end] {
			if c >= strayByte && c < strayByte+0x100 {
				word = append(word, byte(c-strayByte))
			} else {
				word = utf8.AppendRune(word, c)
			}
		}
		if err := yield(string(word)); err != nil {
			return err
		}
		start = end
	}
	return nil
}

// strayByte is the first of 256 code points that carry bytes which are no
// UTF-8 through the regular expressions. They are surrogates, which no UTF-8
// text contains, and are neither letters, digits nor spaces.
const strayByte = 0xdc00

func runesOf(text string) []rune {
	runes := make([]rune, 0, len(text))
	for i := 0; i < len(text); {
		c, n := utf8.DecodeRuneInString(text[i:])
		if c == utf8.RuneError && n == 1 {
			c = strayByte + rune(text[i])
		}
		runes = append(runes, c)
		i += n
	}
	return runes
}

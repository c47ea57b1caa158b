package preference

import (
	"regexp"
	"strings"
)

// answerParser finds the answer in a chain of thought.
//
// An answer is said by a line that begins with "Answer: A", by "the answer is A" within one, or by \boxed{A}; the word
// that the prompt calls an item by may stand before the letter ("Answer: Summary A"), marks of Markdown and TeX around
// both, and a reason behind them. A letter that stands alone counts where nothing else says an answer and it is the
// last line: further up it would be a heading. Whatever names both items, denies one ("¬A", "not A") or asks does not
// say an answer, and neither does a small a, which is a word.
type answerParser struct {
	cue   *regexp.Regexp // up to and with "answer is" or "answer:"
	label *regexp.Regexp // the letter, at once behind the cue
	boxed *regexp.Regexp
}

// marks may stand around words and change nothing of what they say.
const marks = `(?:[\s\p{Z}*_"'“”‘’«»()\[\]{}<>#$` + "`" + `]|\\[()\[\]]|\\(?:boxed|text|textbf|mathrm|mathbf)\{)*`

var (
	// itemWord is what a prompt calls its first item by: "Summary" of "Summary A:\n{first}".
	itemWord = regexp.MustCompile(`(\p{L}+) A:?\s*\{first\}`)

	// behind a letter stands nothing, or a reason.
	behind = regexp.MustCompile(`^` + marks + `(?:$|[.,;:!–—-]+(?:[\s\p{Z}*_"'”’)\]}$` + "`" + `]|$)|\b(?:because|since|as)\b)`)

	anyLabel = regexp.MustCompile(`\b[AB]\b`)
	denied   = regexp.MustCompile(`(?i)\b(?:not|never|nor|neither|if|whether|unless|either|than)\b|n['’]t\b`)
	nothing  = regexp.MustCompile(`^` + marks + `$`)
)

// newAnswerParser is the parser of answers to a prompt.
func newAnswerParser(prompt string) *answerParser {
	item := "option"
	if m := itemWord.FindStringSubmatch(prompt); m != nil {
		item += "|" + regexp.QuoteMeta(m[1])
	}
	// letter is an item by its letter; what stands before it there says nothing.
	letter := marks + `(?i:(?:the\s+)?(?:` + item + `)\b)?` + marks + `\b([AB])`
	return &answerParser{
		cue:   regexp.MustCompile(`(?i)\b(?:(?:so|thus|hence|therefore),?\s+)?((?:(?:the|my|final|correct|right|best)\s+)*)answer\b` + marks + `(?:is\b` + marks + `(?:[:：]` + marks + `)?|[:：=–—-]+` + marks + `)`),
		label: regexp.MustCompile(`^` + letter),
		boxed: regexp.MustCompile(`\\boxed\{` + letter + marks + `\}`),
	}
}

// parse finds the answer of a whole text. It is "" where none is said, and where two are that differ.
func (p *answerParser) parse(text string) string {
	found := ""
	said, last := p.said(text)
	for _, s := range said {
		switch {
		case found == "":
			found = s
		case s != found:
			return ""
		}
	}
	if found == "" {
		found = last
	}
	return found
}

// parseContinued is parse for a base model's text, which does not end with its answer: the model goes on with what
// could come next, such as another question and its answer. The first answer is the one that was asked for.
func (p *answerParser) parseContinued(text string) string {
	if said, _ := p.said(text); len(said) > 0 {
		return said[0]
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return p.alone(first)
}

// said are the answers that a text says, in order, and the letter that is alone in its last line.
func (p *answerParser) said(text string) (all []string, last string) {
	open := false // the line before ends with the colon behind "Answer"
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if nothing.MatchString(line) {
			continue
		}
		last = p.alone(line)
		if open && last != "" {
			all = append(all, last)
		}
		open = false
		cues := p.cue.FindAllStringSubmatchIndex(line, -1)
		for i, m := range cues {
			before, rest := line[:m[0]], line[m[1]:]
			if i+1 < len(cues) {
				rest = line[m[1]:cues[i+1][0]]
			}
			if !nothing.MatchString(before) && (m[2] == m[3] || denied.MatchString(before)) {
				continue // within a sentence it is "the answer", and not denied
			}
			if rest == "" {
				open = true
				continue
			}
			if a := p.letter(p.label, rest); a != "" {
				all = append(all, a)
			}
		}
		for _, at := range p.boxed.FindAllStringIndex(line, -1) {
			m := p.boxed.FindStringSubmatch(line[at[0]:at[1]])
			if !denied.MatchString(line[:at[0]]) {
				all = append(all, m[1])
			}
		}
	}
	return all, last
}

// letter is that of an item with which a text begins, where the rest of it names none.
func (p *answerParser) letter(begins *regexp.Regexp, text string) string {
	m := begins.FindStringSubmatchIndex(text)
	if m == nil || !behind.MatchString(text[m[3]:]) || anyLabel.MatchString(text[m[3]:]) {
		return ""
	}
	return text[m[2]:m[3]]
}

// alone is the letter of a line that has nothing else.
func (p *answerParser) alone(line string) string {
	m := p.label.FindStringSubmatchIndex(line)
	if m == nil || !nothing.MatchString(strings.TrimRight(line[m[3]:], ".! ")) {
		return ""
	}
	return line[m[2]:m[3]]
}

package lang

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modellog/modellog/internal/nearest"
	"github.com/modellog/modellog/lang/syntax"
)

// topic is a page of %help.
type topic struct {
	name    string
	aliases []string
	title   string
	text    string
	example string // a program to paste; the tests run it
}

// overview is what %help shows without a topic.
const overview = `modellog measures how far a language model satisfies a logical constraint.

  dog    = M("A Golden Retriever is a", "dog")        an event: the model takes this
  mammal = M("A Golden Retriever is a", "mammal")     token as a continuation
  dog -> mammal                                       a formula alone is reported

  implication(x, a, b) = M(x, a) -> M(x, b)           a schema has holes
  implication("A robin is a type of", "bird", "animal")

connectives   <->  ->  |  xor  &  !      or in words: iff implies or xor and not
              atleast(k, …)  atmost(k, …)  exactly(k, …)  true  false
events        M("prefix", "target")  prob(0.3)
makers        likelihood("text")  ladder("text")
queries       wmc wmc0 rho cacc info loss grad marginals models mpe
              entails equivalent top
commands      %model %models %calibration %calc %load %run %plot %table %save
              %who %reset %time %help

A statement ends with its line, unless a parenthesis is open or the line ends in
a connective. # starts a comment, and a trailing ; silences a result.
%help TOPIC explains any of these, with an example to paste. Ctrl-D or %quit
leaves the prompt.`

// helpCommand explains a topic.
func (s *Session) helpCommand(ctx context.Context, u *unit, c *syntax.Command, words []syntax.Word) error {
	if len(words) == 0 {
		return u.emit(&Note{What: "help", Message: overview})
	}
	if len(words) > 1 {
		return usage(u, c)
	}
	text, ok := Help(words[0].Text)
	if d := s.names[words[0].Text]; d != nil && !ok {
		text, ok = fmt.Sprintf("%s = %s   (%s)", d.head(), syntax.Format(d.body, syntax.Unicode), d.kind()), true
	}
	if !ok {
		if near := nearest.Name(words[0].Text, topicNames()); near != "" {
			return u.src.Errorf(words[0], "there is no help on %q; did you mean %q?", words[0].Text, near)
		}
		return u.src.Errorf(words[0], "there is no help on %q; %%help lists what there is", words[0].Text)
	}
	return u.emit(&Note{What: "help", Message: text})
}

// Help explains a connective, a function, a command or another topic, with an
// example to paste. It returns false for what is none of these.
func Help(name string) (string, bool) {
	t := findTopic(name)
	if t == nil {
		return "", false
	}
	lines := []string{t.title, ""}
	for _, paragraph := range strings.Split(t.text, "\n\n") {
		lines = append(lines, wrap(paragraph, 78, ""), "")
	}
	lines = append(lines, "Try:", "")
	for _, l := range strings.Split(t.example, "\n") {
		lines = append(lines, strings.TrimRight("  "+l, " "))
	}
	return strings.Join(lines, "\n"), true
}

func findTopic(name string) *topic {
	all := topics()
	i := slices.IndexFunc(all, func(t topic) bool {
		return t.name == name || slices.Contains(t.aliases, name)
	})
	if i < 0 {
		return nil
	}
	return &all[i]
}

// topicNames lists what %help can be asked about.
func topicNames() []string {
	var names []string
	for _, t := range topics() {
		names = append(names, t.name)
	}
	return names
}

// topics are all pages. Those of functions and commands take their first line from
// where these are defined.
func topics() []topic {
	all := slices.Clone(pages)
	for i := range all {
		t := &all[i]
		if t.title != "" {
			continue
		}
		if f := findFunction(t.name); f != nil {
			t.title = f.usage + "   " + f.doc
			continue
		}
		for _, c := range commands() {
			if c.name == t.name {
				t.title = c.usage + "   " + c.doc
				t.aliases = append(t.aliases, "%"+c.name)
			}
		}
	}
	return all
}

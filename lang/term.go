package lang

import (
	"fmt"
	"strconv"

	"github.com/modellog/modellog/event"
)

// A term is a formula whose events have not been resolved to tokens yet: a
// directed graph without cycles, whose shared parts are shared pointers.
// What its names stood for is looked up already.
type term struct {
	op    termOp
	kids  []*term
	k     int   // of termAtLeast, termAtMost, termExactly
	atom  *atom // of termAtom
	depth int
}

type termOp uint8

const (
	termTrue termOp = iota
	termFalse
	termAtom
	termNot
	termAnd
	termOr
	termXor
	termImplies
	termIff
	termAtLeast
	termAtMost
	termExactly
)

// An atom is what a formula's variables come from. Two atoms with the same key
// are the same.
type atom struct {
	kind   atomKind
	key    string
	ev     event.Event // of an atomEvent
	p      float64     // of an atomProb
	text   string      // of an atomText
	prefix string      // of an atomText: the prefix that the text continues
	k      int         // of an atomText: at least k of the tokens; 0 for all
}

type atomKind uint8

const (
	atomEvent atomKind = iota // M("prefix", "target")
	atomProb                  // prob(0.3)
	atomText                  // likelihood("text"), ladder("text", k)
)

func eventAtom(ev event.Event) *atom {
	key := "M" + strconv.Quote(ev.Prefix) + strconv.Quote(ev.Target)
	if ev.Join != nil {
		key += strconv.Quote(*ev.Join)
	}
	return &atom{kind: atomEvent, key: key, ev: ev}
}

func textAtom(prefix, text string, k int) *atom {
	return &atom{kind: atomText, key: fmt.Sprintf("T%d%q%q", k, prefix, text), prefix: prefix, text: text, k: k}
}

// Limits of a formula, all names and schemas written out.
const (
	maxTerms = 500_000
	maxDepth = 10_000
)

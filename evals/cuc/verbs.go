package cuc

import (
	_ "embed"
	"strings"
)

//go:embed verbs.txt
var verbTable string

// form is what a word may be as a form of a verb.
type form uint8

const (
	formBase form = 1 << iota
	formS
	formPast     // that is no participle: "went"
	formPastPart // past and participle alike: "made", "closed"
	formPart     // a participle only: "gone"
	formIng
)

// verbForm is what is known of a word.
type verbForm struct {
	form     form
	only     bool // it is hardly ever anything but a verb
	attitude bool // it says what somebody thinks or says
	clause   bool // and a clause may follow without "that"
	to       bool // its past form is no participle before "to"
	object   bool // its participle may have an object
	free     bool // its past form is never a participle behind a noun
}

// verbForms are the forms of the table of verbs.
var verbForms = readVerbs(verbTable)

func readVerbs(table string) map[string]verbForm {
	groups := map[string][]string{}
	irregular := map[string][2]string{}
	for line := range strings.Lines(table) {
		name, list, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(list)
		if name == "irregular" {
			irregular[words[0]] = [2]string{words[1], words[2]}
			continue
		}
		groups[name] = append(groups[name], words...)
	}
	only, attitude, clause := setOf(groups["verb"]), setOf(groups["attitude"]), setOf(groups["clause"])
	to, object, free := setOf(groups["to"]), setOf(groups["object"]), setOf(groups["nopassive"])
	out := map[string]verbForm{}
	add := func(word string, f form, base string) {
		v, known := out[word]
		v.form |= f
		v.only = only[base] && (v.only || !known)
		v.attitude = v.attitude || attitude[base]
		v.clause = v.clause || clause[base]
		v.to = v.to || to[base]
		v.object = v.object || object[base]
		v.free = v.free || free[base]
		out[word] = v
	}
	for _, name := range []string{"verb", "noun", "attitude", "clause", "to", "object", "nopassive"} {
		for _, base := range groups[name] {
			add(base, formBase, base)
			add(ending(base, "s"), formS, base)
			add(ending(base, "ing"), formIng, base)
			switch p, ok := irregular[base]; {
			case !ok:
				add(ending(base, "ed"), formPastPart, base)
			case p[0] == p[1]:
				add(p[0], formPastPart, base)
			default:
				add(p[0], formPast, base)
				add(p[1], formPart, base)
			}
		}
	}
	return out
}

// ending puts "s", "ed" or "ing" to a regular verb.
func ending(base, end string) string {
	last, before := base[len(base)-1], base[len(base)-2]
	vowel := func(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }
	switch end {
	case "s":
		switch {
		case last == 'y' && !vowel(before):
			return base[:len(base)-1] + "ies"
		case strings.HasSuffix(base, "s") || strings.HasSuffix(base, "sh") || strings.HasSuffix(base, "ch") || last == 'x' || last == 'z' || last == 'o':
			return base + "es"
		}
		return base + "s"
	case "ed":
		switch {
		case last == 'y' && !vowel(before):
			return base[:len(base)-1] + "ied"
		case last == 'e':
			return base + "d"
		}
	case "ing":
		switch {
		case strings.HasSuffix(base, "ie"):
			return base[:len(base)-2] + "ying"
		case last == 'e' && before != 'e' && base != "be":
			return base[:len(base)-1] + "ing"
		}
	}
	if doubled[base] || len(base) >= 3 && len(base) <= 4 && !vowel(last) && vowel(before) && !vowel(base[len(base)-3]) && strings.IndexByte("wxy", last) < 0 {
		base += string(last)
	}
	return base + end
}

// doubled are longer verbs whose last letter is doubled before an ending.
var doubled = set("admit begin commit compel control defer deter emit forbid forget infer omit permit prefer refer submit transmit equip program propel regret")

// set makes a set of the words of a text.
func set(words string) map[string]bool { return setOf(strings.Fields(words)) }

func setOf(words []string) map[string]bool {
	out := map[string]bool{}
	for _, w := range words {
		out[w] = true
	}
	return out
}

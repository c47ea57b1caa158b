package chat

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// methods are those of texts that Gonja has otherwise than Python.
func (r *run) methods() map[string]func(in *exec.Value, args *exec.VarArgs) (any, error) {
	strip := func(left, right bool) func(in *exec.Value, args *exec.VarArgs) (any, error) {
		return func(in *exec.Value, args *exec.VarArgs) (any, error) {
			among := unicode.IsSpace
			switch {
			case len(args.KwArgs) > 0 || len(args.Args) > 1:
				return nil, errors.New("strip takes the characters to leave out")
			case len(args.Args) == 1 && !args.Args[0].IsNil():
				set := args.Args[0].String()
				among = func(c rune) bool { return strings.ContainsRune(set, c) }
			}
			s := in.String()
			if left {
				s = strings.TrimLeftFunc(s, among)
			}
			if right {
				s = strings.TrimRightFunc(s, among)
			}
			return s, nil
		}
	}
	affix := func(has func(s, part string) bool) func(in *exec.Value, args *exec.VarArgs) (any, error) {
		return func(in *exec.Value, args *exec.VarArgs) (any, error) {
			if len(args.Args) != 1 || len(args.KwArgs) > 0 {
				return nil, errors.New("startswith and endswith take a text, or several in brackets")
			}
			found := false
			if a := args.Args[0]; a.IsList() {
				a.Iterate(func(_, _ int, part, _ *exec.Value) bool {
					found = found || has(in.String(), part.String())
					return !found
				}, func() {})
			} else {
				found = has(in.String(), a.String())
			}
			return found, nil
		}
	}
	return map[string]func(in *exec.Value, args *exec.VarArgs) (any, error){
		"strip": strip(true, true), "lstrip": strip(true, false), "rstrip": strip(false, true),
		"startswith": affix(strings.HasPrefix), "endswith": affix(strings.HasSuffix),
		"split":   func(in *exec.Value, args *exec.VarArgs) (any, error) { return split(in.String(), args, false) },
		"rsplit":  func(in *exec.Value, args *exec.VarArgs) (any, error) { return split(in.String(), args, true) },
		"replace": r.replace,
		"join": func(in *exec.Value, args *exec.VarArgs) (any, error) {
			if len(args.Args) != 1 || len(args.KwArgs) > 0 {
				return nil, errors.New("join takes a list")
			}
			return r.join(args.Args[0], &exec.VarArgs{Args: []*exec.Value{in}})
		},
		"count": func(in *exec.Value, args *exec.VarArgs) (any, error) {
			if len(args.Args) != 1 || len(args.KwArgs) > 0 {
				return nil, errors.New("count takes a text")
			}
			return strings.Count(in.String(), args.Args[0].String()), nil
		},
		"find": func(in *exec.Value, args *exec.VarArgs) (any, error) {
			if len(args.Args) != 1 || len(args.KwArgs) > 0 {
				return nil, errors.New("find takes a text")
			}
			s := in.String()
			at := strings.Index(s, args.Args[0].String())
			if at > 0 {
				at = utf8.RuneCountInString(s[:at])
			}
			return at, nil
		},
	}
}

// split is Python's split, or its rsplit, which counts from the end.
func split(s string, args *exec.VarArgs, fromEnd bool) (any, error) {
	most, between := -1, (*exec.Value)(nil)
	for key, v := range args.KwArgs {
		switch key {
		case "sep":
			between = v
		case "maxsplit":
			most = v.Integer()
		default:
			return nil, errors.New("split takes sep and maxsplit")
		}
	}
	switch len(args.Args) {
	case 2:
		most = args.Args[1].Integer()
		fallthrough
	case 1:
		between = args.Args[0]
	case 0:
	default:
		return nil, errors.New("split takes sep and maxsplit")
	}
	if between == nil || between.IsNil() {
		if most >= 0 {
			return nil, errors.New("split at white space takes no maxsplit here")
		}
		return anys(strings.Fields(s)), nil
	}
	sep := between.String()
	if sep == "" {
		return nil, errors.New("split takes a separator that is not empty")
	}
	if !fromEnd {
		if most >= 0 {
			most++
		}
		return anys(strings.SplitN(s, sep, most)), nil
	}
	var parts []string
	for ; most != 0; most-- {
		at := strings.LastIndex(s, sep)
		if at < 0 || len(parts) > maxItems {
			break
		}
		parts = append(parts, s[at+len(sep):])
		s = s[:at]
	}
	parts = append(parts, s)
	slices.Reverse(parts)
	return anys(parts), nil
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

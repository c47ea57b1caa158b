package syntax_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modellog/modellog/lang/syntax"
	"pgregory.net/rapid"
)

func TestMistakes(t *testing.T) {
	for _, c := range readChunks(t, "testdata/errors.logic") {
		_, err := syntax.Parse("", c.text)
		var e *syntax.Error
		if !errors.As(err, &e) {
			if err != nil {
				t.Errorf("line %d: %v is no *syntax.Error", c.line, err)
			}
			for line, want := range c.want {
				t.Errorf("line %d: no error, want %q", c.line+line-1, want)
			}
			continue
		}
		want := c.want[int(e.Start.Line)]
		if want == nil {
			t.Errorf("line %d: unexpected: %v", c.line+int(e.Start.Line)-1, e)
		} else if !want.MatchString(e.Msg) {
			t.Errorf("line %d: %q does not match %q", c.line+int(e.Start.Line)-1, e.Msg, want)
		}
	}
}

// tree writes an expression with all its structure.
func tree(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Name:
		return x.Text
	case *syntax.String:
		return fmt.Sprintf("%q", x.Value)
	case *syntax.Number:
		return fmt.Sprint(x.Value)
	case *syntax.Bool:
		return fmt.Sprint(x.Value)
	case *syntax.Not:
		return "(! " + tree(x.X) + ")"
	case *syntax.Chain:
		s := "(" + x.Op.String()
		for _, y := range x.X {
			s += " " + tree(y)
		}
		return s + ")"
	case *syntax.Call:
		s := x.Fn.Text + "["
		for i, a := range x.Args {
			if i > 0 {
				s += " "
			}
			if a.Name != nil {
				s += a.Name.Text + "="
			}
			s += tree(a.X)
		}
		return s + "]"
	}
	panic("unknown expression")
}

func TestTrees(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`a`, `a`},
		{`a & b | c`, `(| (& a b) c)`},
		{`a | b & c`, `(| a (& b c))`},
		{`a ^ b | c ^ d & e`, `(| (^ a b) (^ c (& d e)))`},
		{`a -> b -> c`, `(-> a b c)`},
		{`(a -> b) -> c`, `(-> (-> a b) c)`},
		{`a -> (b -> c)`, `(-> a (-> b c))`},
		{`a <-> b -> c <-> d`, `(<-> a (-> b c) d)`},
		{`!a & ~b`, `(& (! a) (! b))`},
		{`not not a or b`, `(| (! (! a)) b)`},
		{`a iff b implies c or d xor e and not f`, `(<-> a (-> b (| c (^ d (& e (! f))))))`},
		{`a ↔ b → c ∨ d ⊕ e ∧ ¬f`, `(<-> a (-> b (| c (^ d (& e (! f))))))`},
		{`⊤ & ⊥ | true`, `(| (& true false) true)`},
		{`M("x", 'y', join="")`, `M["x" "y" join=""]`},
		{`f(a, (b), "c",)`, `f[a b "c"]`},
		{`atleast(2, a & b, !c)`, `atleast[2 (& a b) (! c)]`},
		{`prob(-.5e-3)`, `prob[-0.0005]`},
		{`"\n\t\\\"\'\u00e9\U0001F436" -> r"\n"`, `(-> "\n\t\\\"'é🐶" "\\n")`},
		{"(a\n&\n# a comment\nb)", `(& a b)`},
		{"a &\n\n  b", `(& a b)`},
		{"a &\r\n b", `(& a b)`},
		{"\uFEFFa", `a`},
		{"a\u00a0&\u3000b", `(& a b)`},
		// The same name composed and decomposed.
		{"e\u0301 & \u00e9", "(& \u00e9 \u00e9)"},
	} {
		x, err := syntax.ParseExpr(test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
		} else if got := tree(x); got != test.want {
			t.Errorf("%q\n got %s\nwant %s", test.text, got, test.want)
		}
	}
}

func TestStatements(t *testing.T) {
	stmts, err := syntax.Parse("f.logic", "# first\r\na = b # c\r\nf(x, y) = x & y;\n\n%run f \"a file.csv\" limit=3 ; # c\r%model openai:URL#NAME # c\n% \nq;")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range stmts {
		start, end := s.Span()
		line := fmt.Sprintf("%v-%v %v ", start, end, s.Silent())
		switch s := s.(type) {
		case *syntax.Definition:
			line += s.Name.Text
			for _, p := range s.Params {
				line += " " + p.Text
			}
			line += " = " + tree(s.X)
		case *syntax.ExprStmt:
			line += tree(s.X)
		case *syntax.Command:
			words, err := s.Words()
			if err != nil {
				t.Fatal(err)
			}
			line += "%" + s.Name.Text
			for _, w := range words {
				start, end := w.Span()
				line += fmt.Sprintf(" [%s %v %v-%v]", w.Text, w.Quoted, start, end)
			}
		}
		got = append(got, line)
	}
	want := []string{
		"2:1-2:6 false a = b",
		"3:1-3:16 true f x y = (& x y)",
		"5:1-5:28 true %run [f false 5:6-5:7] [a file.csv true 5:8-5:20] [limit=3 false 5:21-5:28]",
		"6:1-6:23 false %model [openai:URL#NAME false 6:8-6:23]",
		"7:1-7:2 false %",
		"8:1-8:2 true q",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCarets(t *testing.T) {
	long := strings.Repeat("abcde & ", 40)
	for _, test := range []struct{ text, want string }{
		{"dgo -> -> mammal", `1:8: "->" has no formula on its left; a line that goes on ends in the connective, or stands in parentheses
  dgo -> -> mammal
         ^^`},
		{"\ta b", "1:4: expected a connective (& | -> <-> xor) or the end of the line, found \"b\"\n      a b\n        ^"},
		{"犬 b", "1:3: expected a connective (& | -> <-> xor) or the end of the line, found \"b\"\n  犬 b\n     ^"},
		{"a &\r\n🐶", "2:1: \"🐶\" has no meaning here; put text in quotes\n  🐶\n  ^^"},
		{"\uFEFFa b", "1:3: expected a connective (& | -> <-> xor) or the end of the line, found \"b\"\n  a b\n    ^"},
		{long + "x y " + long, "1:323: expected a connective (& | -> <-> xor) or the end of the line, found \"y\"\n" +
			"  …de & abcde & abcde & abcde & abcde & x y abcde & abcde & abcde & abcde & abc…\n" +
			"                                          ^"},
		{"a \xff b", "1:3: the byte 0xFF is not UTF-8 text; save the program as UTF-8\n  a · b\n    ^"},
		{"a \x00 b", "1:3: there is a NUL byte here, which is not text\n  a · b\n    ^"},
		{"a & \"x\x00y\"", "1:7: there is a NUL byte in this text; no tokenizer reads it\n  a & \"x·y\"\n        ^"},
		{"# caf\xe9", "1:6: the byte 0xE9 is not UTF-8 text; save the program as UTF-8\n  # caf·\n       ^"},
		{"%load a\x00b", "1:8: there is a NUL byte here, which is not text\n  %load a·b\n         ^"},
		{"a &", "1:4: expected an event or a formula, found the end of the program\n  a &\n     ^"},
		{"a & (b\n", "1:5: this \"(\" is never closed\n  a & (b\n      ^"},
	} {
		_, err := syntax.Parse("", test.text)
		var e *syntax.Error
		if !errors.As(err, &e) {
			t.Errorf("%q: got %v", test.text, err)
			continue
		}
		if diff := cmp.Diff(test.want, e.Detail()); diff != "" {
			t.Errorf("%q: %s", test.text, diff)
		}
	}
	_, err := syntax.Parse("dir/f.logic", "x\n a b")
	if want := "dir/f.logic:2:4: "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s…", err, want)
	}
}

func TestIncomplete(t *testing.T) {
	for text, want := range map[string]bool{
		"":                     false,
		"a":                    false,
		"a ->":                 true,
		"a and":                true,
		"not":                  true,
		"x =":                  true,
		"(a":                   true,
		"M(\"x\",":             true,
		"M(\"x\",\n  \"y\"":    true,
		"M(\"x\",\n  \"y\")":   false,
		"a -> # comment":       true,
		"a -> # (":             true,
		"\"(\" & a":            false,
		"\"never closed":       false, // a text ends on its line
		"(a b":                 false, // wrong already
		"a)":                   false,
		"%load (":              false,
		"a\nb ->":              true,
		"a b\n(":               false,
		"atleast(1,\na,\nb) &": true,
	} {
		if got := syntax.Incomplete(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestBounds feeds what would exhaust a careless parser. Each must end quickly,
// in an expression or in one message.
func TestBounds(t *testing.T) {
	deep := 100_000
	for _, test := range []struct{ name, text, want string }{
		{"parentheses", strings.Repeat("(", deep) + "a" + strings.Repeat(")", deep), "nested more than 10000 levels deep"},
		{"open parentheses", strings.Repeat("(", deep), "nested more than 10000 levels deep"},
		{"negations", strings.Repeat("!", deep) + "a", "nested more than 10000 levels deep"},
		{"calls", strings.Repeat("f(", deep), "nested more than 10000 levels deep"},
		{"9,999 parentheses", strings.Repeat("(", 9_999) + "a" + strings.Repeat(")", 9_999), ""},
		{"implications", strings.Repeat("a -> ", deep) + "a", ""},
		{"mixed connectives", strings.Repeat("a -> b & c | d <-> ", deep/4) + "a", ""},
		{"a million words", strings.Repeat("a & ", 1_000_000) + "a", "more than 1048576 words and signs"},
		{"a long name", strings.Repeat("a", 10<<20), "this name has 10485760 letters"},
		{"a long text", `M("` + strings.Repeat("a", 10<<20) + `", "b")`, ""},
		{"a long number", "prob(" + strings.Repeat("1", 10<<20) + ")", "is not a number"},
		{"a long comment", "#" + strings.Repeat("a", 10<<20), ""},
		{"a long command", "%load " + strings.Repeat("a", 10<<20), ""},
		{"10 MB of lines", strings.Repeat("a\n", 5<<20), ""},
		{"33 MB", strings.Repeat("a", 33<<20), "the program has 33 MB, and at most 32 MB are read"},
		{"10 MB without meaning", strings.Repeat("@", 10<<20), `"@" has no meaning here`},
	} {
		t.Run(test.name, func(t *testing.T) {
			start := time.Now()
			var err error
			peak := allocated(func() {
				var p *syntax.Parser
				if p, err = syntax.NewParser("", test.text); err == nil {
					for err == nil {
						_, err = p.Next()
					}
				}
			})
			if err == io.EOF {
				err = nil
			}
			switch {
			case test.want == "" && err != nil:
				t.Errorf("%.200v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %.200v, want %s", err, test.want)
			case err != nil && len(err.(*syntax.Error).Detail()) > 4000:
				t.Errorf("the message has %d bytes", len(err.(*syntax.Error).Detail()))
			}
			if d := time.Since(start); d > time.Minute {
				t.Errorf("took %v", d)
			}
			if limit := uint64(1 << 30); peak > limit {
				t.Errorf("allocated %d MB", peak>>20)
			}
		})
	}
}

// allocated returns the bytes that f allocates in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// exprs generates expressions of every kind.
func exprs(depth int) *rapid.Generator[syntax.Expr] {
	name := rapid.Custom(func(t *rapid.T) syntax.Expr {
		return &syntax.Name{Text: rapid.SampledFrom([]string{"a", "b", "dog", "P₁", "犬", "_x", "andy", "M"}).Draw(t, "name")}
	})
	leaf := rapid.OneOf(
		name,
		rapid.Map(rapid.String().Filter(func(s string) bool { return !strings.ContainsRune(s, 0) }), func(s string) syntax.Expr { return &syntax.String{Value: strings.ToValidUTF8(s, "?")} }),
		rapid.Map(rapid.SampledFrom([]string{"0", "0.3", "12", "1e-6", "-2"}), func(s string) syntax.Expr { return &syntax.Number{Text: s} }),
		rapid.Map(rapid.Bool(), func(b bool) syntax.Expr { return &syntax.Bool{Value: b} }),
	)
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(
		leaf,
		rapid.Map(rapid.Deferred(func() *rapid.Generator[syntax.Expr] { return exprs(depth - 1) }), func(x syntax.Expr) syntax.Expr { return &syntax.Not{X: x} }),
		rapid.Custom(func(t *rapid.T) syntax.Expr {
			return &syntax.Chain{
				Op: syntax.Op(rapid.IntRange(int(syntax.Iff), int(syntax.And)).Draw(t, "op")),
				X:  rapid.SliceOfN(exprs(depth-1), 2, 4).Draw(t, "operands"),
			}
		}),
		rapid.Custom(func(t *rapid.T) syntax.Expr {
			c := &syntax.Call{Fn: name.Draw(t, "fn").(*syntax.Name)}
			for _, x := range rapid.SliceOfN(exprs(depth-1), 0, 3).Draw(t, "args") {
				arg := syntax.Arg{X: x}
				if rapid.Bool().Draw(t, "named") {
					arg.Name = name.Draw(t, "arg").(*syntax.Name)
				}
				c.Args = append(c.Args, arg)
			}
			return c
		}),
	)
}

// TestRoundTrip: what Format writes is parsed to the same expression, in either
// style.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := exprs(4).Draw(t, "x")
		for _, style := range []syntax.Style{syntax.Unicode, syntax.ASCII} {
			text := syntax.Format(x, style)
			y, err := syntax.ParseExpr(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if again := syntax.Format(y, style); again != text {
				t.Fatalf("%s became %s", text, again)
			}
			if got, want := shape(y), shape(x); got != want {
				t.Fatalf("%s\n got %s\nwant %s", text, got, want)
			}
		}
	})
}

// shape is tree, with numbers as they were written.
func shape(x syntax.Expr) string {
	return tree(syntax.Map(x, func(x syntax.Expr) syntax.Expr {
		if n, ok := x.(*syntax.Number); ok {
			return &syntax.Name{Text: n.Text}
		}
		return x
	}))
}

// TestFormatIsMinimal: no pair of parentheses that Format writes can be taken away.
func TestFormatIsMinimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Deferred(func() *rapid.Generator[syntax.Expr] { return connected(3) }).Draw(t, "x")
		text := []rune(syntax.Format(x, syntax.Unicode))
		want := shape(x)
		var open []int
		for i, r := range text {
			switch r {
			case '(':
				open = append(open, i)
			case ')':
				j := open[len(open)-1]
				open = open[:len(open)-1]
				without := string(text[:j]) + string(text[j+1:i]) + string(text[i+1:])
				if y, err := syntax.ParseExpr(without); err == nil && shape(y) == want {
					t.Fatalf("%s is the same as %s", without, string(text))
				}
			}
		}
	})
}

// connected generates expressions of names and connectives only.
func connected(depth int) *rapid.Generator[syntax.Expr] {
	return rapid.Custom(func(t *rapid.T) syntax.Expr {
		if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
			return &syntax.Name{Text: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")}
		}
		if rapid.IntRange(0, 3).Draw(t, "not") == 0 {
			return &syntax.Not{X: connected(depth-1).Draw(t, "negated")}
		}
		return &syntax.Chain{
			Op: syntax.Op(rapid.IntRange(int(syntax.Iff), int(syntax.And)).Draw(t, "op")),
			X:  rapid.SliceOfN(connected(depth-1), 2, 3).Draw(t, "operands"),
		}
	})
}

func TestSubstitute(t *testing.T) {
	body, err := syntax.ParseExpr(`M(x, "a", join=j) -> !y & (z | x)`)
	if err != nil {
		t.Fatal(err)
	}
	before := tree(body)
	y, _ := syntax.ParseExpr("p | q")
	got := syntax.Substitute(body, map[string]syntax.Expr{"x": &syntax.String{Value: "s"}, "y": y, "M": y})
	if got, want := syntax.Format(got, syntax.ASCII), `M("s", "a", join=j) -> !(p | q) & (z | "s")`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if tree(body) != before {
		t.Error("the expression itself was changed")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"a -> b", "f(x, a) = M(x, a) -> M(x, \"b\", join=\"\");", "%run f \"a b.csv\" # c", "(a\n& b)\r\n", "\uFEFF¬a ⊕ ⊤",
		"\"\\u00e9\" & r'x'", "prob(1e-3)", "atleast(2, a,", "\xff", "a\x00", "% ;", "((((", "x == y", "“a”",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := syntax.NewParser("", text)
		if err != nil {
			t.Fatal(err)
		}
		for {
			stmt, err := p.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				var e *syntax.Error
				if !errors.As(err, &e) || e.Msg == "" || e.Start.Line < 1 || e.Start.Col < 1 {
					t.Fatalf("%#v", err)
				}
				line, carets := e.Lines(60)
				if !strings.Contains(carets, "^") || strings.ContainsAny(line, "\n\r\x1b") {
					t.Fatalf("%q\n%q", line, carets)
				}
				break
			}
			check := func(x syntax.Expr) {
				for _, style := range []syntax.Style{syntax.Unicode, syntax.ASCII} {
					text := syntax.Format(x, style)
					y, err := syntax.ParseExpr(text)
					if err != nil {
						t.Fatalf("%s: %v", text, err)
					}
					if shape(x) != shape(y) {
						t.Fatalf("%s became %s", shape(x), shape(y))
					}
				}
			}
			switch stmt := stmt.(type) {
			case *syntax.Definition:
				check(stmt.X)
			case *syntax.ExprStmt:
				check(stmt.X)
			case *syntax.Command:
				if words, err := stmt.Words(); err == nil && len(words) > 0 {
					_, _ = stmt.Exprs(words[0])
				}
				_, _ = stmt.Stmt()
			}
		}
		syntax.Incomplete(text)
	})
}

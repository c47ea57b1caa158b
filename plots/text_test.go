package plots

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
)

var ansi = regexp.MustCompile("\x1b\\[[0-9]+m")

// TestText compares the drawings for a terminal with a file that was looked at. None is wider than
// the terminal or has more than 20 lines, and colours change nothing else.
func TestText(t *testing.T) {
	var names []string
	for name := range golden {
		names = append(names, name)
	}
	for _, width := range []int{60, 100} {
		var all strings.Builder
		for _, name := range sorted(names) {
			f, err := golden[name]()
			if err != nil {
				t.Fatal(err)
			}
			text := f.Text(width, false)
			fmt.Fprintf(&all, "--- %s\n%s\n", name, text)
			lines := strings.Split(text, "\n")
			if len(lines) > 20 || len(lines) < 2 {
				t.Errorf("%s: %d lines", name, len(lines))
			}
			for _, l := range lines {
				if w := runewidth.StringWidth(l); w > width {
					t.Errorf("%s: %d columns for %d: %s", name, w, width, l)
				}
			}
			colored := f.Text(width, true)
			if plain := ansi.ReplaceAllString(colored, ""); trimmed(plain) != trimmed(text) {
				t.Errorf("%s: with colours it is\n%s\nand without\n%s", name, plain, text)
			}
			if strings.Contains(text, "NaN") || strings.Contains(text, "\x1b") {
				t.Errorf("%s:\n%q", name, text)
			}
		}
		path := filepath.Join("testdata", fmt.Sprintf("text-%d.txt", width))
		if *update {
			if err := os.WriteFile(path, []byte(all.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("%v (run go test ./plots -update to write it, and look at it)", err)
		}
		if string(want) != all.String() {
			t.Errorf("%s is no longer what is drawn:\n%s", path, all.String())
		}
	}
}

func sorted(s []string) []string {
	for i := range s {
		for j := i; j > 0 && s[j] < s[j-1]; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
	return s
}

// trimmed is a text without spaces at the ends of lines.
func trimmed(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// A bar is as long as its value, to an eighth of a character where it is positive.
func TestTextBar(t *testing.T) {
	s := &sketch{}
	for _, c := range []struct {
		value Range
		lo    float64
		want  string
	}{
		{Exactly(0.5), 0, "████    "},
		{Exactly(0.5625), 0, "████▌   "},
		{Exactly(1), 0, "████████"},
		{Exactly(0), 0, "        "},
		{Range{0.25, 0.75}, 0, "██░░░░  "},
		{Exactly(-0.5), -1, "  ██│   "},
		{Exactly(0.5), -1, "    ██  "},
		{Range{-0.5, 0.5}, -1, "  ░░░░  "},
	} {
		if got := s.bar(textBar{value: c.value}, c.lo, (1-c.lo)/8, 8); got != c.want {
			t.Errorf("%v from %g on is %q, want %q", c.value, c.lo, got, c.want)
		}
	}
	for _, each := range []int{1, 2, 3, 7} {
		got, below := joined([]int{1, 2, 3, 4, 5, 6, 7}, 3, each)
		red, blue := 0, 0
		for i, n := range got {
			if i < below {
				red += n
			} else {
				blue += n
			}
		}
		if red != 6 || blue != 22 {
			t.Errorf("joined by %d: %v, %d of them red", each, got, below)
		}
	}
}

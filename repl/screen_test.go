package repl

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// screen is as much of a terminal as readline needs: what has been written to it can be
// read as a user would see it.
type screen struct {
	width, height int
	above         []string // lines that have scrolled away
	cells         [][]string
	row, col      int
	wrap          bool // the last column is full; the next character goes to the next line
	rest          []byte
	raw           []byte // everything that came
}

func newScreen(width, height int) *screen {
	s := &screen{width: width, height: height}
	for range height {
		s.cells = append(s.cells, s.blank())
	}
	return s
}

func (s *screen) blank() []string { return make([]string, s.width) }

// resize changes the size as xterm does: without flowing lines anew.
func (s *screen) resize(width, height int) {
	for i, line := range s.cells {
		s.cells[i] = append(make([]string, 0, width), line[:min(width, len(line))]...)
		for len(s.cells[i]) < width {
			s.cells[i] = append(s.cells[i], "")
		}
	}
	s.width = width
	for len(s.cells) < height {
		s.cells = append(s.cells, s.blank())
	}
	for len(s.cells) > height {
		s.above = append(s.above, text(s.cells[0]))
		s.cells = s.cells[1:]
		s.row = max(0, s.row-1)
	}
	s.height = height
	s.col = min(s.col, width-1)
}

func (s *screen) Write(p []byte) {
	s.raw = append(s.raw, p...)
	b := append(s.rest, p...)
	for len(b) > 0 {
		n := s.one(b)
		if n == 0 {
			break
		}
		b = b[n:]
	}
	s.rest = append([]byte(nil), b...)
}

// one obeys what b starts with, and returns its length, or 0 if b ends too soon.
func (s *screen) one(b []byte) int {
	switch b[0] {
	case '\r':
		s.col, s.wrap = 0, false
		return 1
	case '\n':
		s.down()
		return 1
	case '\b':
		if s.col > 0 && !s.wrap {
			s.col--
		}
		s.wrap = false
		return 1
	case 7:
		return 1
	case '\x1b':
		if len(b) < 2 {
			return 0
		}
		if b[1] != '[' {
			return 2
		}
		for i := 2; i < len(b); i++ {
			if b[i] >= '@' {
				s.sequence(string(b[2:i]), b[i])
				return i + 1
			}
		}
		return 0
	}
	if !utf8.FullRune(b) {
		return 0
	}
	r, n := utf8.DecodeRune(b)
	s.put(r)
	return n
}

func (s *screen) put(r rune) {
	w := runewidth.RuneWidth(r)
	if w == 0 {
		if s.col > 0 {
			s.cells[s.row][s.col-1] += string(r)
		}
		return
	}
	if s.wrap || s.col+w > s.width {
		s.col, s.wrap = 0, false
		s.down()
	}
	s.cells[s.row][s.col] = string(r)
	for i := 1; i < w; i++ {
		s.cells[s.row][s.col+i] = "\x00"
	}
	if s.col += w; s.col >= s.width {
		s.col, s.wrap = s.width-1, true
	}
}

func (s *screen) down() {
	s.wrap = false
	if s.row < s.height-1 {
		s.row++
		return
	}
	s.above = append(s.above, text(s.cells[0]))
	s.cells = append(s.cells[1:], s.blank())
}

func (s *screen) sequence(params string, final byte) {
	n, _ := strconv.Atoi(params)
	s.wrap = s.wrap && final == 'm'
	switch final {
	case 'A':
		s.row = max(0, s.row-max(n, 1))
	case 'B':
		s.row = min(s.height-1, s.row+max(n, 1))
	case 'C':
		s.col = min(s.width-1, s.col+max(n, 1))
	case 'D':
		s.col = max(0, s.col-max(n, 1))
	case 'H':
		s.row, s.col = 0, 0
	case 'J', 'K':
		from, to := s.col, s.width
		if n == 2 {
			from = 0
		}
		clear(s.cells[s.row][from:to])
		if final == 'J' {
			for i := s.row + 1; i < s.height; i++ {
				s.cells[i] = s.blank()
			}
		}
	}
}

func text(cells []string) string {
	var b strings.Builder
	for _, c := range cells {
		switch c {
		case "":
			b.WriteByte(' ')
		case "\x00":
		default:
			b.WriteString(c)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// String returns all lines, those that have scrolled away too, without empty
// ones at the end.
func (s *screen) String() string {
	lines := append([]string(nil), s.above...)
	for _, c := range s.cells {
		lines = append(lines, text(c))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// cursor is the line that the cursor is in, up to the cursor and after it.
func (s *screen) cursor() (before, after string) {
	line := s.cells[s.row]
	before = text(append(append([]string(nil), line[:s.col]...), "|"))
	return strings.TrimSuffix(before, "|"), text(line[s.col:])
}

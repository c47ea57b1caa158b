package syntax_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// chunk is a program of a test file. The file's chunks are separated by lines
// of "---". A line that is wrong says so at its end: ### "regexp" for the message
// without its place.
type chunk struct {
	line int // of the file
	text string
	want map[int]*regexp.Regexp // by line of the chunk
}

func readChunks(t *testing.T, file string) []chunk {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var chunks []chunk
	line := 1
	for _, text := range strings.Split(string(b), "\n---\n") {
		c := chunk{line: line, text: text, want: map[int]*regexp.Regexp{}}
		lines := strings.Split(text, "\n")
		for i, l := range lines {
			code, expect, ok := strings.Cut(l, "###")
			if !ok {
				continue
			}
			lines[i] = strings.TrimRight(code, " ")
			pattern, err := strconv.Unquote(strings.TrimSpace(expect))
			if err != nil {
				t.Fatalf("%s:%d: %s is no quoted regexp", file, line+i, expect)
			}
			c.want[i+1] = regexp.MustCompile(pattern)
		}
		c.text = strings.Join(lines, "\n")
		chunks = append(chunks, c)
		line += strings.Count(text, "\n") + 2
	}
	return chunks
}

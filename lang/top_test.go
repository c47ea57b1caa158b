package lang_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
)

// namesakes is a server's model whose name for the most probable token is that of
// another one, too.
type namesakes struct {
	*modeltest.Bigram
}

func (m namesakes) Read(ctx context.Context, prefixes [][]lm.Token, yield func(int, lm.Distribution) error) error {
	return m.Bigram.Read(ctx, prefixes, func(i int, d lm.Distribution) error {
		d.Among = map[int][]lm.Token{0: {d.Top[0].Token, 1 - min(1, d.Top[0].Token)}}
		return yield(i, d)
	})
}

// A token that is a guess has a mark, in JSON the ids that it may be, and a note.
func TestTopMarksGuesses(t *testing.T) {
	s := lang.New(lang.Options{Model: "server", Dir: t.TempDir(), Open: func(context.Context, string) (lm.Model, error) {
		return namesakes{modeltest.NewBigram(modeltest.Corpus, 20)}, nil
	}})
	defer s.Close()
	table := last[*lang.Table](t, eval(t, s, `top("A dog is", 3)`))
	for i, row := range table.Cells {
		if marked := strings.HasSuffix(row[1], "?"); marked != (i == 0) {
			t.Errorf("row %d has the token %s", i, row[1])
		}
	}
	if !strings.Contains(table.Note, "?: the server names several tokens") {
		t.Errorf("note %q", table.Note)
	}
	b, err := json.Marshal(table.Rows)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b, []byte(`"among":[`)); n != 1 {
		t.Errorf("%d rows of %s say what they may be, want 1", n, b)
	}
}

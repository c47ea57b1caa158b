package parquetfile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/modellog/modellog/internal/parquetfile"
)

// What is no Parquet file is told from one that is damaged.
func TestOpen(t *testing.T) {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[struct{ X string }](&b)
	if _, err := w.Write([]struct{ X string }{{"a"}, {"b"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := b.String()
	for _, c := range []struct{ text, want string }{
		{whole, ""},
		{"", "it is not a Parquet file"},
		{"x,y\n1,2\nand more", "it is not a Parquet file"},
		{whole[:len(whole)-20], "it is damaged: it begins as a Parquet file and has no end"},
		{"PAR1 and no more PAR1", "it is damaged"},
		{whole[:4] + whole[len(whole)/2:], "it is damaged"},
	} {
		path := filepath.Join(t.TempDir(), "x.parquet")
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parquetfile.Open(f)
		switch {
		case c.want == "" && (err != nil || file.NumRows() != 2):
			t.Errorf("a whole file: %v", err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%.20q: %v, want %q", c.text, err, c.want)
		}
		f.Close()
	}
}

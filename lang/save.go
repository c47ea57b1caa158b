package lang

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modellog/modellog/lang/syntax"
)

// saveCommand writes the figure or the definitions, by the file's extension,
// and tells the file's absolute path. A relative path starts in the working
// directory, also in a file that is loaded.
func (s *Session) saveCommand(ctx context.Context, u *unit, c *syntax.Command, words []syntax.Word) error {
	if len(words) != 1 {
		return usage(u, c)
	}
	path, err := s.abs(words[0].Text, s.opts.Dir)
	if err != nil {
		return u.src.Errorf(words[0], "%w", err)
	}
	var b bytes.Buffer
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case slices.Contains(figureFormats, ext):
		if s.figure == nil {
			return u.src.Errorf(words[0], "there is no figure yet; %%plot draws one")
		}
		if err := image(path, ext); err != nil {
			return u.src.Errorf(words[0], "%w", err)
		}
		if err := s.figure.Write(&b, ext[1:]); err != nil {
			return u.src.Errorf(words[0], "%w", err)
		}
	case ext == ".logic" || ext == ".txt":
		if err := ours(path); err != nil {
			return u.src.Errorf(words[0], "%w", err)
		}
		b.WriteString(savedHeader)
		s.writeDefinitions(&b)
	default:
		return u.src.Errorf(words[0], "what to write is told by the name's ending: %s for the figure, .logic or .txt for the definitions", strings.Join(figureFormats, " "))
	}
	if err := writeFile(path, b.Bytes()); err != nil {
		return u.src.Errorf(words[0], "%w", err)
	}
	return u.emit(&Note{What: "saved", Message: path, Path: path})
}

// savedHeader starts each file of definitions, so that %save never overwrites
// one that somebody wrote by hand.
const savedHeader = "# definitions, written by %save\n"

// ours reports an error if a file is there that %save did not write.
func ours(path string) error {
	return replaceable(path, "was not written by %save", func(start []byte) bool { return bytes.HasPrefix(start, []byte(savedHeader)) })
}

// image reports an error if a file is there that is no image of the kind that its name's ending
// tells.
func image(path, ext string) error {
	return replaceable(path, "is no "+strings.ToUpper(ext[1:])+" image", func(start []byte) bool {
		switch ext {
		case ".png":
			return bytes.HasPrefix(start, []byte("\x89PNG\r\n\x1a\n"))
		case ".pdf":
			return bytes.HasPrefix(start, []byte("%PDF-"))
		}
		return bytes.Contains(start, []byte("<svg"))
	})
}

// replaceable reports an error if a file is there whose start is not what it must be. An empty
// file may be replaced.
func replaceable(path, fault string, is func(start []byte) bool) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var n int
	start := make([]byte, 4096)
	if err == nil {
		defer f.Close()
		n, err = io.ReadFull(f, start)
	}
	switch {
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		return fmt.Errorf("%s cannot be written: %w", displayPath(path), underlying(err))
	case n > 0 && !is(start[:n]):
		return fmt.Errorf("%s is there already and %s; choose another name", displayPath(path), fault)
	}
	return nil
}

// writeDefinitions writes the names' definitions, each after those it mentions.
func (s *Session) writeDefinitions(b *bytes.Buffer) {
	written := map[string]bool{}
	var write func(name string)
	write = func(name string) {
		d := s.names[name]
		if d == nil || written[name] {
			return
		}
		written[name] = true
		syntax.Walk(d.body, func(x syntax.Expr) bool {
			switch x := x.(type) {
			case *syntax.Name:
				if !slices.Contains(d.params, x.Text) {
					write(x.Text)
				}
			case *syntax.Call:
				write(x.Fn.Text)
			}
			return true
		})
		fmt.Fprintf(b, "%s = %s\n", d.head(), syntax.Format(d.body, syntax.ASCII))
	}
	for _, name := range s.order {
		write(name)
	}
}

// writeFile writes a file whole or not at all. (By hand, as package plots does it: renameio is not for Windows, where both
// rooms are used.)
func writeFile(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".modellog-*")
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", displayPath(path), underlying(err))
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = fmt.Errorf("%s cannot be written: %w", displayPath(path), underlying(err))
		}
	}()
	if _, err = f.Write(data); err != nil {
		f.Close()
		return err
	}
	if err = f.Chmod(0o644); err != nil {
		f.Close()
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// underlying is an error of the file system without the path that it names.
func underlying(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		return pe.Err
	case errors.As(err, &le):
		return le.Err
	}
	return err
}

package store

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// copyMember unpacks a member of a wheel into w, at most as many bytes as the
// catalogue says it has, and checks its SHA-256. The error is a *contentError
// when it is the wheel that is wrong.
func copyMember(ctx context.Context, w io.Writer, wheel string, m Member) error {
	bad := func(format string, args ...any) error {
		return &contentError{fmt.Sprintf(format, args...)}
	}
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return bad("%s cannot be read as a wheel: %v", wheel, err)
	}
	defer z.Close()
	for _, f := range z.File {
		if f.Name != m.Path {
			continue
		}
		if f.UncompressedSize64 != uint64(m.Size) {
			return bad("%s in %s has %d bytes and should have %d", m.Path, wheel, f.UncompressedSize64, m.Size)
		}
		r, err := f.Open()
		if err != nil {
			return bad("%s in %s cannot be unpacked: %v", m.Path, wheel, err)
		}
		defer r.Close()
		return unpack(ctx, w, r, wheel, m)
	}
	return bad("%s has no file %s", wheel, m.Path)
}

// unpack copies what r has of an archive's member into w, and checks it.
func unpack(ctx context.Context, w io.Writer, r io.Reader, archive string, m Member) error {
	bad := func(format string, args ...any) error {
		return &contentError{fmt.Sprintf(format, args...)}
	}
	sum := sha256.New()
	// What w says is the disk's fault, what r says the archive's.
	out := &errorWriter{w: w}
	n, err := io.CopyBuffer(io.MultiWriter(out, sum), &contextReader{ctx, io.LimitReader(r, m.Size+1)}, make([]byte, 1<<20))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case out.err != nil:
		return out.err
	case err != nil:
		return bad("%s in %s is damaged: %v", m.Path, archive, err)
	case n != m.Size:
		return bad("%s in %s unpacks to %d bytes and should have %d", m.Path, archive, n, m.Size)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != m.SHA256 {
		return bad("%s in %s has the SHA-256 %s and should have %s", m.Path, archive, got, m.SHA256)
	}
	return nil
}

// contentError reports a wheel that is not what the catalogue says.
type contentError struct{ msg string }

func (e *contentError) Error() string { return e.msg }

// errorWriter remembers the first error of w.
type errorWriter struct {
	w   io.Writer
	err error
}

func (e *errorWriter) Write(p []byte) (int, error) {
	n, err := e.w.Write(p)
	if err != nil && e.err == nil {
		e.err = err
	}
	return n, err
}

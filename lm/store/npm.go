package store

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// npm downloads packages with the user's own npm.
type npm struct {
	program string
	dir     string // for temporary files; npm's own included
	notice  func(text string)
}

// download has npm put a package's archive into the folder, and returns its path. The
// folder is emptied first. None of the package's scripts is run.
func (n *npm) download(ctx context.Context, pkg Package) (string, error) {
	return retrying(ctx, pkg, n.notice, n.downloadOnce)
}

func (n *npm) downloadOnce(ctx context.Context, pkg Package) (string, error) {
	if err := os.RemoveAll(n.dir); err != nil {
		return "", err
	}
	tmp, dst := filepath.Join(n.dir, "tmp"), filepath.Join(n.dir, "pack")
	for _, dir := range []string{tmp, dst} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	cmd := exec.CommandContext(ctx, n.program, "pack", pkg.Name+"@"+pkg.Version, "--pack-destination", dst,
		"--ignore-scripts", "--no-audit", "--no-fund", "--no-progress", "--loglevel", "warn",
		// What is kept is kept by modellog; npm's cache would have it a second time.
		"--cache", filepath.Join(n.dir, "cache"))
	cmd.Dir = tmp
	cmd.Env = append(waits(os.Environ()), "TMPDIR="+tmp, "TEMP="+tmp, "TMP="+tmp, "NO_UPDATE_NOTIFIER=1", "npm_config_update_notifier=false")
	output := &tail{limit: 64 << 10}
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = 3 * time.Second
	ownGroup(cmd)
	err := cmd.Start()
	if err == nil {
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err = <-ended:
		case <-time.After(quiet):
			n.notice(fmt.Sprintf("npm is still trying to fetch %s %s; where its registry does not answer it gives up by itself", pkg.Name, pkg.Version))
			err = <-ended
		}
		endGroup(cmd)
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return "", &FetchError{
			Kind: ErrUnavailable,
			What: fmt.Sprintf("%s is fetched with npm, and there is no %q to run", pkg.Name, n.program),
			Remedy: map[string]string{
				"linux":   "install it (Debian, Ubuntu: sudo apt install npm), or install a WordNet otherwise (Debian, Ubuntu: sudo apt install wordnet-base) or name the folder of one with --wordnet or WNSEARCHDIR",
				"darwin":  "install it (brew install node), or name a WordNet's folder with --wordnet or WNSEARCHDIR (brew install wordnet)",
				"windows": "install Node.js, or name a WordNet's folder with --wordnet or WNSEARCHDIR",
			}[runtime.GOOS],
		}
	}
	if err != nil {
		return "", n.explain(pkg, output.String(), err)
	}
	packs, err := filepath.Glob(filepath.Join(dst, "*.tgz"))
	if err != nil {
		return "", err
	}
	if len(packs) != 1 {
		return "", n.explain(pkg, output.String(), fmt.Errorf("npm reported success and left %d archives", len(packs)))
	}
	fi, err := os.Stat(packs[0])
	if err != nil {
		return "", err
	}
	if limit := 2*pkg.Size + 16<<20; fi.Size() > limit {
		return "", &FetchError{
			Kind:   ErrUnavailable,
			What:   fmt.Sprintf("the registry sent %d bytes for %s %s, which has %d", fi.Size(), pkg.Name, pkg.Version, pkg.Size),
			Remedy: n.otherRegistry(),
		}
	}
	return packs[0], nil
}

// quiet is after how long it is said that npm, which tells nothing itself, is at work.
const quiet = 4 * time.Second

// waits adds to an environment how long npm waits for a registry that does not answer, as far as the
// environment does not say it. npm's own 10 and 60 seconds between its three tries, and 5 minutes for an
// answer, are too long for somebody who looks on.
func waits(env []string) []string {
	set := map[string]bool{}
	for _, e := range env {
		key, _, _ := strings.Cut(e, "=")
		set[strings.ReplaceAll(strings.ToLower(key), "-", "_")] = true
	}
	for _, w := range [][2]string{
		{"npm_config_fetch_retry_mintimeout", "1000"}, // milliseconds
		{"npm_config_fetch_retry_maxtimeout", "4000"},
		{"npm_config_fetch_timeout", "30000"},
	} {
		if !set[w[0]] {
			env = append(env, w[0]+"="+w[1])
		}
	}
	return env
}

func (n *npm) otherRegistry() string {
	return fmt.Sprintf("%s config get registry shows which registry npm uses; npm_config_registry names another", n.program)
}

// explain makes something of how npm failed, by its error codes.
func (n *npm) explain(pkg Package, output string, err error) error {
	e := &FetchError{Output: lastLines(output, 8), By: "npm"}
	has := func(codes ...string) bool {
		for _, c := range codes {
			if strings.Contains(output, c) {
				return true
			}
		}
		return false
	}
	what := fmt.Sprintf("%s %s", pkg.Name, pkg.Version)
	switch {
	case has("ENOSPC", "EDQUOT"):
		e.Kind = ErrNoSpace
		e.What = fmt.Sprintf("the disk is full: no room for %s (%s) in %s", what, megabytes(pkg.Size), n.dir)
		e.Remedy = "free some space, or set MODELLOG_HOME to a folder on another disk"
	case has("EINTEGRITY", "ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE", "Z_BUF_ERROR", "TAR_BAD_ARCHIVE"):
		e.Kind = ErrBroken
		e.What = fmt.Sprintf("the download of %s arrived broken", what)
		e.Remedy = "run the same command again"
	case has("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH", "CERT_", "SELF_SIGNED", "ERR_SOCKET_TIMEOUT"):
		e.Kind = ErrNetwork
		e.What = fmt.Sprintf("npm cannot reach its registry for %s", what)
		e.Remedy = "check the network and npm's settings (npm config list; HTTPS_PROXY and npm_config_registry are heeded), then run the same command again"
	case has("E404", "ETARGET", "E403", "E401"):
		e.Kind = ErrUnavailable
		e.What = fmt.Sprintf("npm's registry has no %s, or does not give it", what)
		e.Remedy = n.otherRegistry()
	default:
		e.Kind = ErrUnavailable
		e.What = fmt.Sprintf("npm did not download %s: %v", what, err)
	}
	return e
}

// maxTarEntries bounds the entries of an archive that are looked at.
const maxTarEntries = 10_000

// copyTarMember is copyMember for npm's archives.
func copyTarMember(ctx context.Context, w io.Writer, archive string, m Member) error {
	bad := func(format string, args ...any) error { return &contentError{fmt.Sprintf(format, args...)} }
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return bad("%s cannot be read as an archive: %v", archive, err)
	}
	// Whatever an archive unpacks to, more than this is not read.
	t := tar.NewReader(io.LimitReader(&contextReader{ctx, z}, 1<<30))
	for range maxTarEntries {
		h, err := t.Next()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return bad("%s is damaged: %v", archive, err)
		}
		if h.Name != m.Path || h.Typeflag != tar.TypeReg {
			continue
		}
		if h.Size != m.Size {
			return bad("%s in %s has %d bytes and should have %d", m.Path, archive, h.Size, m.Size)
		}
		return unpack(ctx, w, t, archive, m)
	}
	return bad("%s has no file %s", archive, m.Path)
}

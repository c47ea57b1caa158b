package bench

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed peers/*.txt
var requirements embed.FS

// Environment installs a peer's packages, as the file peers/PEER.txt pins them, into the
// virtual environment in the given folder, unless they are there, and returns its
// interpreter.
func Environment(ctx context.Context, dir, peer string, tell func(string)) (string, error) {
	wanted, err := requirements.ReadFile("peers/" + peer + ".txt")
	if errors.Is(err, fs.ErrNotExist) {
		return exec.LookPath("python3") // it needs nothing but Python
	}
	if err != nil {
		return "", err
	}
	python, list := filepath.Join(dir, "bin", "python"), filepath.Join(dir, peer+".txt")
	if have, err := os.ReadFile(list); err == nil && bytes.Equal(have, wanted) {
		return python, nil
	}
	tell(fmt.Sprintf("installing %s, which takes some minutes", peer))
	if _, err := os.Stat(python); err != nil {
		if err := run(ctx, "python3", "-m", "venv", dir); err != nil {
			return "", fmt.Errorf("python3 -m venv: %w", err)
		}
	}
	partial := list + ".partial"
	if err := os.WriteFile(partial, wanted, 0o666); err != nil {
		return "", err
	}
	if err := run(ctx, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--progress-bar", "off", "-r", partial); err != nil {
		return "", fmt.Errorf("pip: %w", err)
	}
	return python, os.Rename(partial, list) // its name says that they are installed
}

// run runs a program, whose last line is the error if it fails.
func run(ctx context.Context, name string, args ...string) error {
	out := &tail{most: 2000}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	if last := out.lastLine(); err != nil && last != "" {
		return errors.New(last)
	}
	return err
}

package store

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// The environment is read at each call, so a program or a test that changes
// HOME sees the change; packages that read it once at start do not do that.

// DataDir is modellog's data folder: $MODELLOG_HOME, else "modellog" in
// $XDG_DATA_HOME, else in the system's folder for data (~/.local/share,
// ~/Library/Application Support, %LocalAppData%). The folder need not exist.
func DataDir() (string, error) {
	return userDir("data", "MODELLOG_HOME", "XDG_DATA_HOME", map[string]string{
		"darwin":  "Library/Application Support",
		"windows": "AppData/Local",
	}, ".local/share")
}

// CacheDir is modellog's cache folder: $MODELLOG_CACHE, else "modellog" in
// $XDG_CACHE_HOME, else in the system's folder for caches (~/.cache,
// ~/Library/Caches, %LocalAppData%\cache). The folder need not exist. What is
// in it can be deleted at any time and is then made again.
//
// It holds the readings (readings.db), which wants a local disk: on a machine
// whose home folder is on a network, set $MODELLOG_CACHE to a local one.
func CacheDir() (string, error) {
	return userDir("cache", "MODELLOG_CACHE", "XDG_CACHE_HOME", map[string]string{
		"darwin":  "Library/Caches",
		"windows": "AppData/Local/cache",
	}, ".cache")
}

// OllamaDirs are the folders where Ollama keeps its models: $OLLAMA_MODELS when
// set, else ~/.ollama/models and, on Linux, the folder of Ollama's system
// service. They need not exist.
func OllamaDirs() []string {
	// Ollama itself strips white space and quotes from its variables.
	if dir := strings.Trim(strings.TrimSpace(os.Getenv("OLLAMA_MODELS")), `"'`); dir != "" {
		return []string{dir}
	}
	var dirs []string
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".ollama", "models"))
	}
	if runtime.GOOS == "linux" {
		dirs = append(dirs, "/usr/share/ollama/.ollama/models")
	}
	return dirs
}

func userDir(kind, own, xdg string, system map[string]string, other string) (string, error) {
	if dir := os.Getenv(own); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", fmt.Errorf("finding modellog's %s folder: %s=%q: %w", kind, own, dir, err)
		}
		return abs, nil
	}
	// The XDG specification has relative paths ignored.
	if dir := os.Getenv(xdg); filepath.IsAbs(dir) {
		return filepath.Join(dir, "modellog"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding modellog's %s folder: %w; set %s to a folder", kind, err, own)
	}
	sub, ok := system[runtime.GOOS]
	if !ok {
		sub = other
	}
	return filepath.Join(home, filepath.FromSlash(sub), "modellog"), nil
}

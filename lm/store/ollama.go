package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ollama/ollama/types/model"
)

const (
	// A manifest lists a handful of layers in a kilobyte or two; one that
	// lists each tensor of a large model runs to hundreds.
	maxManifest = 4 << 20

	// No more manifests than this are looked at in one folder.
	maxManifests = 20_000

	weightsLayer = "application/vnd.ollama.image.model"
)

// manifest is what is needed of Ollama's JSON for a model.
type manifest struct {
	Layers []struct {
		MediaType string `json:"mediaType"`
		Digest    string `json:"digest"`
		Size      int64  `json:"size"`
	} `json:"layers"`
}

// tagged is a manifest file with the name that its path gives it.
type tagged struct {
	name model.Name
	path string
}

func (s *Store) ollamaModels(ctx context.Context) ([]Model, error) {
	var models []Model
	seen := make(map[model.Name]bool)
	for _, dir := range s.ollama {
		tags, err := s.manifests(ctx, dir)
		if err != nil {
			return nil, err
		}
		for _, t := range tags {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if seen[t.name] {
				continue
			}
			m, err := readManifest(dir, t)
			if err != nil {
				s.warn(fmt.Errorf("model %s of Ollama is passed over: %w", t.name.DisplayShortest(), err))
				continue
			}
			seen[t.name] = true
			models = append(models, m)
		}
	}
	return models, nil
}

// ollamaModel finds a model by Ollama's rules: parts that are left out have
// Ollama's defaults, and case does not matter, but a name in the same case is
// preferred.
func (s *Store) ollamaModel(ctx context.Context, name string) (Model, bool, error) {
	if len(name) > 1000 {
		return Model{}, false, nil
	}
	want := model.ParseName(name)
	if !want.IsValid() {
		return Model{}, false, nil
	}
	var broken error
	for _, dir := range s.ollama {
		tags, err := s.manifests(ctx, dir)
		if err != nil {
			return Model{}, false, err
		}
		var found *tagged
		for i, t := range tags {
			if sameName(t.name, want) {
				found = &tags[i]
				break
			}
			if found == nil && t.name.EqualFold(want) {
				found = &tags[i]
			}
		}
		if found == nil {
			continue
		}
		m, err := readManifest(dir, *found)
		if err == nil {
			return m, true, nil
		}
		if broken == nil {
			broken = err
		}
	}
	return Model{}, false, broken
}

func sameName(a, b model.Name) bool {
	return a.Host == b.Host && a.Namespace == b.Namespace && a.Model == b.Model && a.Tag == b.Tag
}

// manifests lists the manifest files HOST/NAMESPACE/MODEL/TAG in one of Ollama's
// folders, of every host. Files whose path is no name of Ollama's, such as those
// that file managers leave, are none.
func (s *Store) manifests(ctx context.Context, dir string) ([]tagged, error) {
	root := filepath.Join(dir, "manifests")
	level := []string{""}
	looked := 0
	for range 4 {
		var next []string
		for _, rel := range level {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			entries, err := os.ReadDir(filepath.Join(root, rel))
			switch {
			case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			case errors.Is(err, fs.ErrPermission):
				s.warn(fmt.Errorf("models of Ollama in %s cannot be read: permission denied; to use them, join the group that owns the folder (sudo usermod -aG ollama $USER) and log in again", dir))
			default:
				s.warn(fmt.Errorf("listing Ollama's models: %w", err))
			}
			for _, e := range entries {
				if looked++; looked > maxManifests {
					s.warn(fmt.Errorf("folder %s of Ollama has more than %d entries; the rest is passed over", root, maxManifests))
					break
				}
				next = append(next, filepath.Join(rel, e.Name()))
			}
		}
		level = next
	}
	var tags []tagged
	for _, rel := range level {
		if name := model.ParseNameFromFilepath(rel); name.IsValid() {
			tags = append(tags, tagged{name: name, path: filepath.Join(root, rel)})
		}
	}
	return tags, nil
}

// readManifest finds the weights that a manifest speaks of.
func readManifest(dir string, t tagged) (Model, error) {
	again := fmt.Sprintf("ollama pull %s mends it", t.name.DisplayShortest())
	var m manifest
	if err := readJSON(t.path, maxManifest, &m); err != nil {
		return Model{}, fmt.Errorf("%w; %s", err, again)
	}
	fi, err := os.Stat(t.path)
	if err != nil {
		return Model{}, err
	}
	for _, layer := range m.Layers {
		if layer.MediaType != weightsLayer {
			continue
		}
		hex := blobName.FindStringSubmatch(layer.Digest)
		if hex == nil {
			return Model{}, fmt.Errorf("%s: the weights' digest %.100q is no SHA-256; %s", t.path, layer.Digest, again)
		}
		blob, size, err := findBlob(dir, hex[1])
		if err != nil {
			return Model{}, fmt.Errorf("%w; %s", err, again)
		}
		if layer.Size > 0 && size != layer.Size {
			return Model{}, fmt.Errorf("%s has %d bytes and should have %d; %s", blob, size, layer.Size, again)
		}
		return Model{
			Name:     t.name.DisplayShortest(),
			Origin:   Ollama,
			Path:     blob,
			Size:     size,
			Digest:   strings.ToLower(hex[1]),
			Source:   "ollama:" + t.name.String(),
			Modified: fi.ModTime(),
		}, nil
	}
	return Model{}, fmt.Errorf("%s names no weights in GGUF: the model runs in the cloud or is of another format", t.path)
}

// findBlob finds a blob by its SHA-256 under either of the names that versions
// of Ollama have given such files.
func findBlob(dir, hex string) (string, int64, error) {
	for _, digest := range []string{strings.ToLower(hex), hex} {
		for _, sep := range []string{"-", ":"} {
			path := filepath.Join(dir, "blobs", "sha256"+sep+digest)
			fi, err := os.Stat(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return "", 0, err
			}
			if !fi.Mode().IsRegular() {
				return "", 0, fmt.Errorf("%s is not a file", path)
			}
			return path, fi.Size(), nil
		}
	}
	return "", 0, fmt.Errorf("the weights sha256-%s are not in %s", strings.ToLower(hex), filepath.Join(dir, "blobs"))
}

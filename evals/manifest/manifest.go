// Package manifest writes beside a run's results what the run was made of: program,
// machine, models, calibrations, data, options, seeds and counts.
//
// A manifest is for readers of a published result and for the program itself: before
// a run goes on where it was interrupted, or two runs are compared, Compare says in words
// what is not the same.
//
// It does not tell who ran it or where: no names of hosts or users, and no absolute
// paths. A path below the working directory is written from there, any other as its last
// part; a server's address that is not this machine is left out.
package manifest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/google/renameio/v2"
	"github.com/klauspost/cpuid/v2"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lm"
)

// format is raised when an older program would misread a manifest.
const format = 1

// Manifest says what a run was made of. Its fields are written in this order.
type Manifest struct {
	Format       int               `json:"format"`
	Command      string            `json:"command"` // such as "probct run"
	Program      Program           `json:"program"`
	Machine      Machine           `json:"machine"`
	Models       []Model           `json:"models,omitempty"`
	Calibrations []Calibration     `json:"calibrations,omitempty"`
	Data         []Data            `json:"data,omitempty"`
	Options      map[string]string `json:"options,omitempty"` // as they were in force, defaults too
	Seeds        map[string]uint64 `json:"seeds,omitempty"`   // by what is drawn with them
	Counts       []Count           `json:"counts,omitempty"`
	Started      time.Time         `json:"started"` // UTC
	Seconds      float64           `json:"seconds"` // of work; of all parts of a run that was interrupted
}

// Program is the program that ran.
type Program struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`   // of the source it was built from
	Modified bool   `json:"modified,omitempty"` // the source was not as committed
	Go       string `json:"go"`
	Engine   string `json:"engine,omitempty"` // the embedded engine's module and version
}

// Machine is what may change the last digits of a result.
type Machine struct {
	OS       string   `json:"os"`
	Arch     string   `json:"arch"`
	CPU      string   `json:"cpu,omitempty"` // the maker's name for the processor
	Features []string `json:"features,omitempty"`
	Threads  int      `json:"threads"` // that the processors have for this program
}

// Model is a model that was asked.
type Model struct {
	Name         string `json:"name"`
	Backend      string `json:"backend"`
	Digest       string `json:"digest,omitempty"`
	Revision     string `json:"revision,omitempty"`
	Precision    string `json:"precision,omitempty"`
	Architecture string `json:"architecture,omitempty"`
	Quantization string `json:"quantization,omitempty"`
	Parameters   uint64 `json:"parameters,omitempty"`
	Vocabulary   int    `json:"vocabulary"`
	Context      int    `json:"context"`
	Whole        bool   `json:"whole"` // whole distributions were read; otherwise results are intervals
}

// Calibration is a calibration with its nucleus threshold, 0 where there is none.
type Calibration struct {
	Method string  `json:"method"`
	P      float64 `json:"p,omitempty"`
}

// Data is a file that was read.
type Data struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	Rows   int    `json:"rows"` // 0 where they were not counted
}

// Count says what became of the rows of one file under one model.
type Count struct {
	Model      string   `json:"model,omitempty"`
	Data       string   `json:"data,omitempty"` // the subset, or the file's path
	Rows       int      `json:"rows"`
	Scored     int      `json:"scored"`
	MultiToken int      `json:"multi_token"` // left out: a target has several tokens
	Bad        int      `json:"bad"`
	Reasons    []BadRow `json:"reasons,omitempty"` // of the first bad rows
}

// BadRow is why a row could not be used.
type BadRow struct {
	Line int    `json:"line"`
	Why  string `json:"why"`
}

// maxReasons is how many bad rows a manifest tells of one by one.
const maxReasons = 20

// AddBad counts a bad row, and keeps its reason if it is among the first.
func (c *Count) AddBad(line int, why string) {
	c.Bad++
	if len(c.Reasons) < maxReasons {
		c.Reasons = append(c.Reasons, BadRow{line, why})
	}
}

// New returns the manifest of a run that starts now. The version is what the program calls
// itself; with "" it is the module's.
func New(command, version string) *Manifest {
	m := &Manifest{
		Format: format, Command: command, Started: time.Now().UTC().Truncate(time.Second),
		Program: Program{Version: version, Go: runtime.Version()},
		Machine: Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuid.CPU.BrandName, Threads: runtime.NumCPU()},
	}
	for _, f := range features {
		if cpuid.CPU.Supports(f) {
			m.Machine.Features = append(m.Machine.Features, f.String())
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		m.Program.Version = cmp.Or(version, info.Main.Version)
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				m.Program.Commit = s.Value
			case "vcs.modified":
				m.Program.Modified = s.Value == "true"
			}
		}
		for _, d := range info.Deps {
			if d.Path == "github.com/ollama/ollama" {
				m.Program.Engine = d.Path + " " + d.Version
			}
		}
	}
	return m
}

// features are those by which the engine's arithmetic differs.
var features = []cpuid.FeatureID{
	cpuid.SSE42, cpuid.AVX, cpuid.F16C, cpuid.FMA3, cpuid.AVX2, cpuid.BMI2, cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512VNNI,
	cpuid.AVX512BF16, cpuid.AVXVNNI, cpuid.AMXTILE, cpuid.ASIMD, cpuid.ASIMDDP, cpuid.SVE,
}

// AddModel adds a model.
func (m *Manifest) AddModel(i lm.Info) {
	m.Models = append(m.Models, Model{
		Name: i.Name, Backend: i.Backend, Digest: i.Digest, Revision: i.Revision, Precision: i.Precision,
		Architecture: i.Architecture, Quantization: i.Quantization, Parameters: i.Parameters,
		Vocabulary: i.Vocabulary, Context: i.Context, Whole: i.Whole,
	})
}

// AddCalibration adds a calibration.
func (m *Manifest) AddCalibration(c calibrate.Calibration) {
	x := Calibration{Method: c.Method.String()}
	if c.Method.UsesNucleus() {
		x.P = c.P
	}
	m.Calibrations = append(m.Calibrations, x)
}

// AddData adds a file, which is read for its digest, and says how many rows it has.
func (m *Manifest) AddData(ctx context.Context, path string, rows int) error {
	d, err := digest(ctx, path)
	if err != nil {
		return fmt.Errorf("taking the digest of the data: %w", err)
	}
	d.Rows = rows
	m.Data = append(m.Data, d)
	return nil
}

func digest(ctx context.Context, path string) (Data, error) {
	f, err := os.Open(path)
	if err != nil {
		return Data{}, err
	}
	defer f.Close()
	h := sha256.New()
	buf := make([]byte, 256<<10)
	d := Data{Path: path}
	for {
		n, err := f.Read(buf)
		h.Write(buf[:n])
		d.Bytes += int64(n)
		switch {
		case err == io.EOF:
			d.SHA256 = hex.EncodeToString(h.Sum(nil))
			return d, nil
		case err != nil:
			return Data{}, err
		case ctx.Err() != nil:
			return Data{}, context.Cause(ctx)
		}
	}
}

// Save writes the manifest to a file, whole or not at all. What would tell of the place where
// it ran is left out.
func (m *Manifest) Save(path string) error {
	if err := m.save(path); err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	return nil
}

func (m *Manifest) save(path string) error {
	public := m.public()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(public); err != nil {
		return err
	}
	return renameio.WriteFile(path, b.Bytes(), 0o644)
}

// maxBytes bounds a manifest that is read.
const maxBytes = 16 << 20

// Load reads a manifest. Where there is none the error is an fs.ErrNotExist.
func Load(path string) (*Manifest, error) {
	m, err := load(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the manifest %s: %w", path, err)
	}
	return m, err
}

func load(path string) (*Manifest, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxBytes {
		return nil, fmt.Errorf("it has more than %d MB and is no manifest", maxBytes>>20)
	}
	m := new(Manifest)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("it is no manifest: %w", err)
	}
	switch {
	case m.Format == 0:
		return nil, errors.New(`it is no manifest: there is no "format"`)
	case m.Format > format:
		return nil, fmt.Errorf("it was written by a later version of modellog (format %d; this one reads up to %d)", m.Format, format)
	}
	return m, nil
}

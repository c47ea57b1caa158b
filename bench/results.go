package bench

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"github.com/klauspost/cpuid/v2"

	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/lm"
)

// Report is what is known about one model: its contestants, the first of which the others
// are compared with, and the peers that could not be had. A contestant without a pass is
// written as missing, with its error or with what ended the run.
type Report struct {
	Model     lm.Info
	Suite     *Suite
	Reference Pass // whose log-probabilities the others' are compared with
	Measured  []*Measured
	Skipped   []Skipped
	Ended     string // why the run ended before all passes; "" where it did not
}

// Skipped is a peer or a model that could not be had.
type Skipped struct{ Name, Why string }

// Passes is how many there are of all contestants.
func (r *Report) Passes() int {
	n := 0
	for _, m := range r.Measured {
		n += len(m.Seconds)
	}
	return n
}

// missing says why a contestant has no time, or why its time says nothing: a pass that
// cannot be compared with the reference did other work. It is "" for one that has one.
func (r *Report) missing(m *Measured) (why string, d *Difference) {
	switch {
	case len(m.Seconds) == 0 && m.Err != nil:
		return m.Err.Error(), nil
	case len(m.Seconds) == 0:
		return cmp.Or(r.Ended, "it had no turn"), nil
	case m.Last.LogP == nil || r.Reference.LogP == nil:
		return "", nil
	}
	compared, err := Compare(r.Reference, m.Last)
	if err != nil {
		return err.Error(), nil
	}
	return "", &compared
}

// absent are the contestants and peers without a time.
func (r *Report) absent() []Skipped {
	var out []Skipped
	for _, m := range r.Measured {
		if why, _ := r.missing(m); why != "" {
			out = append(out, Skipped{m.Name(), why})
		}
	}
	return append(out, r.Skipped...)
}

// Circumstances say what ran: the program, its commit, the machine, how busy it was.
type Circumstances struct {
	manifest.Manifest
	Processor string // the maker's name for it, with family and model, which tell processors of one name apart
	Load      string // averages over 1, 5 and 15 minutes at the beginning; "" where the system does not tell
	Threads   int    // that each contestant has
	Versions  []string
	Missing   []Skipped // models that have no report
}

// NewCircumstances looks at the program and the machine.
func NewCircumstances(command, version string, threads int) Circumstances {
	c := Circumstances{Manifest: *manifest.New(command, version), Threads: threads}
	c.Processor = c.Machine.CPU
	if cpu := cpuid.CPU; cpu.Family > 0 {
		c.Processor = fmt.Sprintf("%s (family %d, model %d)", c.Processor, cpu.Family, cpu.Model)
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		c.Load = strings.Join(strings.Fields(string(b))[:3], " ")
	}
	return c
}

// WriteText writes reports for reading.
func WriteText(w io.Writer, c Circumstances, reports []*Report) error {
	p := &Printer{W: w}
	p.F("%s, %s\n", c.Command, c.Started.Format(time.RFC3339))
	p.F("modellog %s, %s, engine %s; %s\n", c.Program.Version, c.Program.Go, c.Program.Engine, strings.Join(c.Versions, ", "))
	p.F("%s/%s, %s, %d threads each, load average before %s\n", c.Machine.OS, c.Machine.Arch, c.Processor, c.Threads, c.Load)
	p.F("processor features %s\n", strings.Join(c.Machine.Features, " "))
	for _, r := range reports {
		weights := ""
		if r.Model.Precision == "exact" {
			weights = fmt.Sprintf(", %.0f MB of weights", 4*float64(r.Model.Parameters)/1e6)
		}
		p.F("\n%s (%s, %s precision%s): %d events after %d distinct prefixes of %d tokens, %d of them read by modellog\n", r.Model.Name, r.Model.Quantization, r.Model.Precision, weights, r.Suite.Events, len(r.Suite.Prefixes), r.Suite.Tokens, r.Suite.Read)
		if r.Ended != "" {
			p.F("  not all passes: %s\n", r.Ended)
		}
		p.F("  %-58s %6s %8s %8s %7s %7s %7s %7s   %s\n", "", "passes", "shortest", "prefixes", "× the", "least", "× the", "peak", "difference in log P")
		p.F("  %-58s %6s %8s %8s %7s %7s %7s %7s   %s\n", "", "", "s", "per s", "first", "CPU s", "first", "MB", "most, mean, of")
		for _, m := range r.Measured {
			why, d := r.missing(m)
			if why != "" {
				continue
			}
			difference := "–"
			if d != nil {
				difference = fmt.Sprintf("%.2g, %.2g, %d of %d", d.Most, d.Mean, d.Compared, d.Events)
			}
			// Without a pass of the first there is nothing that the others are a multiple of.
			ratio, cpu, ratioCPU := "–", "–", "–"
			if first := r.Measured[0]; len(first.Seconds) > 0 {
				ratio = fmt.Sprintf("%.2f", m.Best()/first.Best())
			}
			if s, ok := m.BestCPU(); ok {
				cpu = fmt.Sprintf("%.2f", s)
				if first, ok := r.Measured[0].BestCPU(); ok && first > 0 {
					ratioCPU = fmt.Sprintf("%.2f", s/first)
				}
			}
			peak := "–"
			if m.Peak > 0 {
				peak = fmt.Sprintf("%.0f", m.Peak/1e6)
			}
			if m.Err != nil {
				difference += "; then it failed: " + m.Err.Error()
			}
			p.F("  %-26s %-31s %6d %8.2f %8.1f %7s %7s %7s %7s   %s\n", m.Name(), m.Setting(), len(m.Seconds), m.Best(), float64(len(r.Suite.Prefixes))/m.Best(), ratio, cpu, ratioCPU, peak, difference)
		}
		for _, s := range r.absent() {
			p.F("  %-26s missing: %s\n", s.Name, s.Why)
		}
	}
	for _, s := range c.Missing {
		p.F("\n%s is missing: %s\n", s.Name, s.Why)
	}
	return p.Err
}

// Printer writes formatted text, and nothing more after an error.
type Printer struct {
	W   io.Writer
	Err error // the first
}

// F writes as [fmt.Fprintf] does.
func (p *Printer) F(format string, args ...any) {
	if p.Err == nil {
		_, p.Err = fmt.Fprintf(p.W, format, args...)
	}
}

// WriteCSV writes reports with a line for each pass, and one for each contestant or model
// that is missing, which has the reason and no times.
func WriteCSV(w io.Writer, c Circumstances, reports []*Report) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"date", "version", "cpu", "threads", "model", "precision", "events", "prefixes", "tokens", "tokens_read", "contestant", "setting", "pass", "seconds", "cpu_seconds", "peak_bytes", "logp_compared", "logp_most", "logp_mean", "missing"}}
	of := []string{c.Started.Format(time.RFC3339), c.Program.Version, c.Processor, strconv.Itoa(c.Threads)}
	for _, r := range reports {
		of := append(slices.Clone(of), r.Model.Name, r.Model.Precision,
			strconv.Itoa(r.Suite.Events), strconv.Itoa(len(r.Suite.Prefixes)), strconv.Itoa(r.Suite.Tokens), strconv.Itoa(r.Suite.Read))
		for _, m := range r.Measured {
			why, d := r.missing(m)
			if why != "" {
				continue
			}
			compared := []string{"", "", ""}
			if d != nil {
				compared = []string{strconv.Itoa(d.Compared), Number(d.Most), Number(d.Mean)}
			}
			for i, s := range m.Seconds {
				cpu := ""
				if len(m.CPU) == len(m.Seconds) {
					cpu = Number(m.CPU[i])
				}
				peak := ""
				if m.Peak > 0 {
					peak = strconv.FormatFloat(m.Peak, 'f', 0, 64)
				}
				lines = append(lines, slices.Concat(of, []string{m.Name(), m.Setting(), strconv.Itoa(i + 1), Number(s), cpu, peak}, compared, []string{""}))
			}
		}
		for _, s := range r.absent() {
			lines = append(lines, slices.Concat(of, []string{s.Name, "", "", "", "", "", "", "", "", s.Why}))
		}
	}
	for _, s := range c.Missing {
		lines = append(lines, slices.Concat(of, []string{s.Name}, make([]string, 14), []string{s.Why}))
	}
	return out.WriteAll(lines)
}

// Number is how a figure stands in a CSV file.
func Number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// Save writes reports into a folder as name.txt and name.csv.
func Save(dir, name string, c Circumstances, reports []*Report) error {
	return SaveForms(dir, name,
		func(w io.Writer) error { return WriteText(w, c, reports) },
		func(w io.Writer) error { return WriteCSV(w, c, reports) })
}

// SaveForms writes results in both forms into a folder, as name.txt and name.csv, in the place of what an
// earlier run wrote.
func SaveForms(dir, name string, text, csv func(io.Writer) error) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for ending, write := range map[string]func(io.Writer) error{".txt": text, ".csv": csv} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return err
		}
		if err := renameio.WriteFile(filepath.Join(dir, name+ending), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

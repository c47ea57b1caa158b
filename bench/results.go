package bench

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/lm"
)

// Report is what is known at the end about one model: its contestants, the first of which
// the others are compared with, and the reasons why some are missing.
type Report struct {
	Model     lm.Info
	Suite     *Suite
	Reference Pass // whose log-probabilities the others' are compared with
	Measured  []*Measured
	Skipped   []Skipped
}

// Skipped is a peer that could not be had.
type Skipped struct{ Name, Why string }

// Circumstances say what ran: the program, its commit, the machine, how busy it was.
type Circumstances struct {
	manifest.Manifest
	Load     string // averages over 1, 5 and 15 minutes at the beginning; "" where the system does not tell
	Threads  int    // that each contestant has
	Versions []string
}

// NewCircumstances looks at the program and the machine.
func NewCircumstances(command, version string, threads int) Circumstances {
	c := Circumstances{Manifest: *manifest.New(command, version), Threads: threads}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		c.Load = strings.Join(strings.Fields(string(b))[:3], " ")
	}
	return c
}

// WriteText writes reports for reading.
func WriteText(w io.Writer, c Circumstances, reports []*Report) error {
	p := &printer{w: w}
	p.f("%s, %s\n", c.Command, c.Started.Format(time.RFC3339))
	p.f("modellog %s, %s, engine %s; %s\n", c.Program.Version, c.Program.Go, c.Program.Engine, strings.Join(c.Versions, ", "))
	p.f("%s/%s, %s, %d threads each, load average before %s\n", c.Machine.OS, c.Machine.Arch, c.Machine.CPU, c.Threads, c.Load)
	p.f("processor features %s\n", strings.Join(c.Machine.Features, " "))
	for _, r := range reports {
		p.f("\n%s (%s, %s precision): %d events after %d distinct prefixes of %d tokens, %d of them read by modellog\n", r.Model.Name, r.Model.Quantization, r.Model.Precision, r.Suite.Events, len(r.Suite.Prefixes), r.Suite.Tokens, r.Suite.Read)
		p.f("  %-58s %8s %8s %7s %7s %7s   %s\n", "", "shortest", "prefixes", "× the", "least", "× the", "difference in log P")
		p.f("  %-58s %8s %8s %7s %7s %7s   %s\n", "", fmt.Sprintf("of %d, s", len(r.Measured[0].Seconds)), "per s", "first", "CPU s", "first", "most, mean, of")
		first := r.Measured[0].Best()
		firstCPU, _ := r.Measured[0].BestCPU()
		for _, m := range r.Measured {
			difference := "–"
			if m.Last.LogP != nil {
				d, err := Compare(r.Reference, m.Last)
				if err != nil {
					return fmt.Errorf("%s: %w", m.Name(), err)
				}
				difference = fmt.Sprintf("%.2g, %.2g, %d of %d", d.Most, d.Mean, d.Compared, d.Events)
			}
			cpu, ratio := "–", "–"
			if s, ok := m.BestCPU(); ok && firstCPU > 0 {
				cpu, ratio = fmt.Sprintf("%.2f", s), fmt.Sprintf("%.2f", s/firstCPU)
			}
			p.f("  %-26s %-31s %8.2f %8.1f %7.2f %7s %7s   %s\n", m.Name(), m.Setting(), m.Best(), float64(len(r.Suite.Prefixes))/m.Best(), m.Best()/first, cpu, ratio, difference)
		}
		for _, s := range r.Skipped {
			p.f("  %-26s skipped: %s\n", s.Name, s.Why)
		}
	}
	return p.err
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// WriteCSV writes reports with a line for each pass.
func WriteCSV(w io.Writer, c Circumstances, reports []*Report) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"date", "version", "cpu", "threads", "model", "precision", "events", "prefixes", "tokens", "tokens_read", "contestant", "setting", "pass", "seconds", "cpu_seconds", "logp_compared", "logp_most", "logp_mean"}}
	for _, r := range reports {
		for _, m := range r.Measured {
			compared := []string{"", "", ""}
			if m.Last.LogP != nil {
				d, err := Compare(r.Reference, m.Last)
				if err != nil {
					return fmt.Errorf("%s: %w", m.Name(), err)
				}
				compared = []string{strconv.Itoa(d.Compared), number(d.Most), number(d.Mean)}
			}
			for i, s := range m.Seconds {
				cpu := ""
				if len(m.CPU) == len(m.Seconds) {
					cpu = number(m.CPU[i])
				}
				lines = append(lines, append([]string{
					c.Started.Format(time.RFC3339), c.Program.Version, c.Machine.CPU, strconv.Itoa(c.Threads), r.Model.Name, r.Model.Precision,
					strconv.Itoa(r.Suite.Events), strconv.Itoa(len(r.Suite.Prefixes)), strconv.Itoa(r.Suite.Tokens), strconv.Itoa(r.Suite.Read),
					m.Name(), m.Setting(), strconv.Itoa(i + 1), number(s), cpu,
				}, compared...))
			}
		}
	}
	return out.WriteAll(lines)
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// Save writes both forms into a folder, as name.txt and name.csv.
func Save(dir, name string, c Circumstances, reports []*Report) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for ending, write := range map[string]func(io.Writer, Circumstances, []*Report) error{".txt": WriteText, ".csv": WriteCSV} {
		f, err := os.Create(filepath.Join(dir, name+ending))
		if err != nil {
			return err
		}
		err = write(f, c, reports)
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

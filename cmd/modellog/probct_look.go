package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modellog/modellog/evals/bootstrap"
	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/evals/probct"
	"github.com/modellog/modellog/evals/table"
)

type probctWorstCmd struct {
	Dir         string          `arg:"" name:"run" type:"path" help:"Folder of a run."`
	Model       string          `short:"m" placeholder:"NAME" help:"Model; needed where the run has several."`
	Subset      string          `short:"s" placeholder:"NAME" help:"Subset, by its schema's name. Default: all."`
	N           rowsFlag        `short:"n" default:"10" help:"How many rows. Default: ${default}."`
	Calibration calibrationFlag `default:"nucleus-entropy:0.95" help:"Calibration, as METHOD or METHOD:P. Default: ${default}."`
	JSON        bool            `help:"Print each row as a JSON object on a line of its own."`
}

func (c *probctWorstCmd) Run(std streams) error {
	if err := checkRunFolder(c.Dir); err != nil {
		return err
	}
	run, err := probct.OpenRun(c.Dir)
	if err != nil {
		return err
	}
	model, err := run.Model(c.Model)
	if err != nil {
		return err
	}
	rows, err := run.Worst(model.Name, c.Subset, c.Calibration.Calibration, int(c.N))
	if err != nil {
		return err
	}
	if c.JSON {
		e := json.NewEncoder(std.out)
		e.SetEscapeHTML(false)
		for _, r := range rows {
			if err := e.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	fmt.Fprintf(std.out, "%s · %s · the lowest ρ\n", model.Name, c.Calibration)
	for _, r := range rows {
		u := r.Under(c.Calibration.Calibration)
		fmt.Fprintf(std.out, "\nρ %s   WMC %s   %s:%d\n", bound(u.Rho), bound(u.WMC), r.Subset, r.Line)
		for i, e := range r.Events {
			mark := " "
			if i == u.Blame() {
				mark = "←"
			}
			p := e.LogP.Interval()
			fmt.Fprintf(std.out, "  %s %s▸%s   P %s   event %s   ∂WMC %s\n", mark, e.Prefix, e.Token,
				bound(probct.Numbers{math.Exp(p.Lo), math.Exp(p.Hi)}), bound(u.EventP[i]), bound(u.Gradient[i]))
		}
	}
	fmt.Fprintln(std.out, "\n← the event that WMC answers to most")
	return nil
}

// bound shows a number, or the interval that it lies in, with three digits.
func bound(n probct.Numbers) string {
	x := n.Interval()
	if math.IsNaN(x.Lo) {
		return "undefined"
	}
	lo, hi := fmt.Sprintf("%.3g", x.Lo), fmt.Sprintf("%.3g", x.Hi)
	if lo == hi {
		return lo
	}
	return lo + " … " + hi
}

type probctDiffCmd struct {
	Dirs        []string        `arg:"" name:"run" type:"path" help:"Folders of one or two runs."`
	Model       []string        `short:"m" placeholder:"NAME" help:"Model of the first run, and again for that of the second; needed where a run has several."`
	Calibration calibrationFlag `default:"nucleus-entropy:0.95" help:"Calibration, as METHOD or METHOD:P. Default: ${default}."`
	Examples    countFlag       `default:"3" help:"How many rows of each subset to show whose ρ fell most, and rose most. Default: ${default}."`
	Resamples   positiveFlag    `default:"1000" help:"Resamples of the paired bootstrap. Default: ${default}."`
	Seed        uint64          `default:"42" help:"Its seed. Default: ${default}."`
	Format      string          `enum:"text,csv,markdown,latex" default:"text" help:"Form of the table: text, csv, markdown or latex. Default: ${default}."`
}

func (c *probctDiffCmd) Run(std streams) error {
	format, err := table.ParseFormat(c.Format)
	if err != nil {
		return usageError{err}
	}
	if len(c.Dirs) > 2 || len(c.Model) > 2 {
		return usageError{errors.New("two models are compared, of one run or of two")}
	}
	if c.Resamples > bootstrap.MaxResamples {
		return usageError{fmt.Errorf("--resamples is at most %d", bootstrap.MaxResamples)}
	}
	for _, dir := range c.Dirs {
		if err := checkRunFolder(dir); err != nil {
			return err
		}
	}
	var runs [2]*probct.RunFolder
	var models [2]string
	for i := range runs {
		if runs[i], err = probct.OpenRun(c.Dirs[min(i, len(c.Dirs)-1)]); err != nil {
			return err
		}
		asked := ""
		if len(c.Model) > 0 {
			asked = c.Model[min(i, len(c.Model)-1)]
		} else if names := runs[i].Manifest.Models; len(c.Dirs) == 1 && len(names) == 2 {
			asked = names[i].Name // the run's two
		}
		m, err := runs[i].Model(asked)
		if err != nil {
			return err
		}
		models[i] = m.Name
	}
	if len(c.Dirs) == 1 && models[0] == models[1] {
		return usageError{fmt.Errorf("a model of one run is compared with itself; name two models or two runs")}
	}
	changes, err := probct.Diff(runs[0], models[0], runs[1], models[1], probct.DiffOptions{
		Calibration: c.Calibration.Calibration, Examples: int(c.Examples),
		Bootstrap: bootstrap.Options{Resamples: int(c.Resamples), Seed: c.Seed},
	})
	if err != nil {
		return err
	}
	if len(c.Dirs) == 2 {
		if d := besides(runs, models); d != "" {
			fmt.Fprintf(std.err, "warning: from the first run to the second, %s\n", d)
		}
	}
	note := fmt.Sprintf("95 %% intervals: paired bootstrap over rows, %d resamples, seed %d.", c.Resamples, c.Seed)
	t := probct.DiffTable(changes, models[0], models[1], c.Calibration.Calibration, note)
	if err := writeTables(std.out, format, t); err != nil {
		return err
	}
	if format != table.PlainText {
		return nil
	}
	for _, x := range changes {
		for _, part := range []struct {
			what string
			rows []probct.RowChange
		}{{"fell", x.Fallen}, {"rose", x.Risen}} {
			if len(part.rows) > 0 {
				fmt.Fprintf(std.out, "\n%s: ρ %s most\n", x.Subset, part.what)
			}
			for _, r := range part.rows {
				fmt.Fprintf(std.out, "  line %d   %.3g → %.3g   %s\n", r.Line, r.A, r.B, strings.Join(r.Values, " · "))
			}
		}
	}
	return nil
}

// besides says in what two runs differ that may change figures: the program, the machine, and
// how a model was read that both have measured.
func besides(runs [2]*probct.RunFolder, models [2]string) string {
	var out []string
	for _, d := range manifest.Compare(only(runs[0], models[0]), only(runs[1], models[1])) {
		switch d.Kind {
		case manifest.OfProgram, manifest.OfMachine:
			out = append(out, d.Text)
		case manifest.OfModel:
			if models[0] == models[1] {
				out = append(out, d.Text)
			}
		}
	}
	return strings.Join(out, "; ")
}

// only is a run's manifest with one of its models.
func only(r *probct.RunFolder, model string) *manifest.Manifest {
	m := *r.Manifest
	m.Models = slices.DeleteFunc(slices.Clone(m.Models), func(x manifest.Model) bool { return x.Name != model })
	return &m
}

package main

import (
	"fmt"
	"strings"

	"github.com/modellog/modellog/calibrate"
)

type probctCmd struct {
	Build    probctBuildCmd    `cmd:"" help:"Build the suite from WordNet and GeoNames."`
	Annotate probctAnnotateCmd `cmd:"" help:"Judge a suite's candidates by hand, or report what two annotators say."`
	Run      probctRunCmd      `cmd:"" help:"Measure models on a suite and write tables, figures and rows."`
	Worst    probctWorstCmd    `cmd:"" help:"Show a run's rows with the lowest ρ, and which event is to blame."`
	Diff     probctDiffCmd     `cmd:"" help:"Show what changed between two models or runs."`
}

// calibrationFlag is a calibration: a method and, after a colon, p.
type calibrationFlag struct{ calibrate.Calibration }

func (f *calibrationFlag) UnmarshalText(text []byte) error {
	name, p, given := strings.Cut(string(text), ":")
	m, err := calibrate.ParseMethod(name)
	if err != nil {
		return err
	}
	f.Calibration = calibrate.Calibration{Method: m}
	if m.UsesNucleus() {
		f.P = calibrate.Default().P
	}
	if given {
		if _, err := fmt.Sscan(p, &f.P); err != nil || !m.UsesNucleus() {
			return fmt.Errorf("%q is no calibration; one is nucleus-entropy:0.95, nucleus-size:0.9, entropy or raw", text)
		}
	}
	return f.Validate()
}

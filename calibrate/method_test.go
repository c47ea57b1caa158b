package calibrate

import (
	"math"
	"strings"
	"testing"
)

func TestMethodNames(t *testing.T) {
	for _, m := range calibrations {
		got, err := ParseMethod(strings.ToUpper(m.String()))
		if err != nil || got != m {
			t.Errorf("ParseMethod(%q) = %v, %v", m, got, err)
		}
	}
	if _, err := ParseMethod("nucleus"); err == nil || !strings.Contains(err.Error(), "nucleus-entropy") {
		t.Errorf("an unknown name: %v", err)
	}
	if got := Method(9).String(); got != "Method(9)" {
		t.Errorf("Method(9) is called %q", got)
	}
}

func TestOffset(t *testing.T) {
	s, err := Summarize([]float32{0, 0, 0, 0, -50}, []float64{0.5, 0.95})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		Calibration
		want float64
	}{
		{Calibration{}, 0},
		{Calibration{Raw, 7}, 0}, // p is not used
		{Calibration{Entropy, 0}, math.Log(4)},
		{Default(), math.Log(4)},
		{Calibration{NucleusEntropy, 0.5}, math.Ln2},
		{Calibration{NucleusSize, 0.5}, math.Ln2},
		{Calibration{NucleusSize, 0.95}, math.Log(4)},
	} {
		got, err := c.Offset(s)
		if err != nil || !got.IsExact() || math.Abs(got.Lo-c.want) > 1e-14 {
			t.Errorf("%v: C = %v, %v; want %v", c.Calibration, got, err, c.want)
		}
	}
	for _, c := range []struct {
		Calibration
		want string
	}{
		{Calibration{NucleusSize, 0.8}, "not summarised for p = 0.8"},
		{Calibration{NucleusEntropy, 0}, "p = 0 is outside (0, 1]"},
		{Calibration{Method(-1), 0.5}, "method -1"},
		{Calibration{Method(4), 0.5}, "method 4"},
	} {
		if _, err := c.Offset(s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v; want %q", c.Calibration, err, c.want)
		}
	}
}

func TestInterval(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		i     Interval
		exact bool
		width float64
		text  string
	}{
		{Exact(2.5), true, 0, "2.5"},
		{Interval{1, 2}, false, 1, "1 … 2"},
		{Exact(-inf), true, 0, "-Inf"},
		{Interval{-inf, 0}, false, inf, "-Inf … 0"},
		{Interval{-math.MaxFloat64, math.MaxFloat64}, false, inf, "-1.79769e+308 … 1.79769e+308"},
	} {
		if c.i.IsExact() != c.exact || c.i.Width() != c.width || c.i.String() != c.text {
			t.Errorf("%+v: %v %v %q", c.i, c.i.IsExact(), c.i.Width(), c.i.String())
		}
	}
}

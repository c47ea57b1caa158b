package calibrate

import (
	"fmt"
	"math"
	"strings"
)

// A Method is a choice of the offset C of Eq. 4.
type Method int

const (
	Raw            Method = iota // C = 0: the event's probability is the token's
	NucleusEntropy               // C = entropy of the renormalised nucleus, in nats
	Entropy                      // C = entropy of the whole distribution, in nats
	NucleusSize                  // C = ln of the number of tokens in the nucleus
)

var methodNames = [...]string{"raw", "nucleus-entropy", "entropy", "nucleus-size"}

// String returns the method's name as [ParseMethod] reads it.
func (m Method) String() string {
	if m < 0 || int(m) >= len(methodNames) {
		return fmt.Sprintf("Method(%d)", int(m))
	}
	return methodNames[m]
}

// ParseMethod returns the method called name: raw, nucleus-entropy, entropy or
// nucleus-size, in any case.
func ParseMethod(name string) (Method, error) {
	for m, s := range methodNames {
		if strings.EqualFold(s, name) {
			return Method(m), nil
		}
	}
	return 0, fmt.Errorf("no calibration is called %q; there are %s", name, strings.Join(methodNames[:], ", "))
}

// UsesNucleus reports whether the method depends on a nucleus threshold p.
func (m Method) UsesNucleus() bool { return m == NucleusEntropy || m == NucleusSize }

// A Calibration is a method together with the nucleus threshold it uses.
// Its zero value is the raw calibration.
type Calibration struct {
	Method Method
	P      float64 // nucleus threshold in (0, 1]; ignored by Raw and Entropy
}

// Default returns the paper's main calibration, nucleus entropy with p = 0.95.
func Default() Calibration { return Calibration{NucleusEntropy, 0.95} }

// TableThresholds returns the nucleus values p that the paper's tables average over: 0.80,
// 0.85, 0.90 and 0.95.
func TableThresholds() []float64 { return []float64{0.80, 0.85, 0.90, 0.95} }

// Thresholds returns the values of p that [Summarize] and [SummarizeTop] must be
// asked for so that Offset can answer: P for a method that uses the nucleus, none
// otherwise.
func (c Calibration) Thresholds() []float64 {
	if c.Method.UsesNucleus() {
		return []float64{c.P}
	}
	return nil
}

// Validate returns an error if the method is none of the four, or if it uses the
// nucleus and P is not in (0, 1].
func (c Calibration) Validate() error {
	if c.Method < 0 || int(c.Method) >= len(methodNames) {
		return fmt.Errorf("calibration method %d is none of %s", int(c.Method), strings.Join(methodNames[:], ", "))
	}
	if c.Method.UsesNucleus() {
		return checkThreshold(c.P)
	}
	return nil
}

// String describes the calibration for people, for example
// "nucleus-entropy, p = 0.95" or "raw".
func (c Calibration) String() string {
	if c.Method.UsesNucleus() {
		return fmt.Sprintf("%v, p = %g", c.Method, c.P)
	}
	return c.Method.String()
}

// Offset returns C of Eq. 4 for the summarised distribution, in nats. It is an
// error if the calibration is not valid, or uses the nucleus of a threshold for
// which s was not computed.
func (c Calibration) Offset(s Summary) (Interval, error) {
	if err := c.Validate(); err != nil {
		return Interval{}, err
	}
	switch c.Method {
	case Raw:
		return Exact(0), nil
	case Entropy:
		return s.Entropy, nil
	}
	for _, n := range s.Nuclei {
		if n.P != c.P {
			continue
		}
		if c.Method == NucleusEntropy {
			return n.Entropy, nil
		}
		return Interval{math.Log(n.Size.Lo), math.Log(n.Size.Hi)}, nil
	}
	return Interval{}, fmt.Errorf("calibration %v: the distribution was not summarised for p = %g", c, c.P)
}

func checkThreshold(p float64) error {
	if !(p > 0 && p <= 1) {
		return fmt.Errorf("nucleus threshold p = %g is outside (0, 1]", p)
	}
	return nil
}

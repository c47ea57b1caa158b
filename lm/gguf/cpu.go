package gguf

/*
// Each bit is a feature that the C compiler was allowed to use.
static unsigned modellog_built_for(void) {
	unsigned f = 0;
#ifdef __OPTIMIZE__
	f |= 1u << 0;
#endif
#ifdef __SSE4_2__
	f |= 1u << 1;
#endif
#ifdef __AVX__
	f |= 1u << 2;
#endif
#ifdef __F16C__
	f |= 1u << 3;
#endif
#ifdef __FMA__
	f |= 1u << 4;
#endif
#ifdef __AVX2__
	f |= 1u << 5;
#endif
#ifdef __BMI2__
	f |= 1u << 6;
#endif
#ifdef __AVX512F__
	f |= 1u << 7;
#endif
#ifdef __AVX512VNNI__
	f |= 1u << 8;
#endif
#ifdef __AVX512BF16__
	f |= 1u << 9;
#endif
#ifdef __ARM_FEATURE_FMA
	f |= 1u << 10;
#endif
#ifdef __ARM_FEATURE_DOTPROD
	f |= 1u << 11;
#endif
#ifdef __ARM_FEATURE_SVE
	f |= 1u << 12;
#endif
	return f;
}
*/
import "C"

import (
	"fmt"
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// feature is something of a processor that the engine can make use of.
type feature struct {
	bit  uint
	name string
	id   cpuid.FeatureID
}

var features = []feature{
	{1, "SSE4.2", cpuid.SSE42},
	{2, "AVX", cpuid.AVX},
	{3, "F16C", cpuid.F16C},
	{4, "FMA", cpuid.FMA3},
	{5, "AVX2", cpuid.AVX2},
	{6, "BMI2", cpuid.BMI2},
	{7, "AVX512F", cpuid.AVX512F},
	{8, "AVX512VNNI", cpuid.AVX512VNNI},
	{9, "AVX512BF16", cpuid.AVX512BF16},
	{10, "FMA", cpuid.FP},
	{11, "DOTPROD", cpuid.ASIMDDP},
	{12, "SVE", cpuid.SVE},
}

// Build says what the engine was compiled for and what the processor has.
type Build struct {
	Optimised bool     // compiled with -O1 or more
	For       []string // processor features that the compiler used
	Unused    []string // features that the processor has and the compiler did not use
	Missing   []string // features that the compiler used and the processor lacks
}

// BuiltFor says what the engine was compiled for.
func BuiltFor() Build {
	bits := uint(C.modellog_built_for())
	b := Build{Optimised: bits&1 != 0}
	for _, f := range features {
		used, has := bits>>f.bit&1 != 0, cpuid.CPU.Supports(f.id)
		switch {
		case used && has:
			b.For = append(b.For, f.name)
		case used:
			b.For = append(b.For, f.name)
			b.Missing = append(b.Missing, f.name)
		case has && f.id != cpuid.FP:
			b.Unused = append(b.Unused, f.name)
		}
	}
	return b
}

// CheckCPU returns an error where the engine was compiled for a processor with
// features that this one lacks: it would end with an illegal instruction.
func CheckCPU() error {
	if missing := BuiltFor().Missing; len(missing) > 0 {
		return fmt.Errorf("this program was built for a processor with %s, which this one lacks; build it again on this machine with make", strings.Join(missing, ", "))
	}
	return nil
}

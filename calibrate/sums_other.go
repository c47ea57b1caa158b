//go:build !amd64

package calibrate

const wide = false

func sums4(*float32, int, float64, float64, float64, *float32, *[4]float64, *[4]float64, *[4]int64) int {
	panic("calibrate: no vector instructions")
}

func extremes8(*float32, int, *[8]float32, *[8]float32) bool {
	panic("calibrate: no vector instructions")
}

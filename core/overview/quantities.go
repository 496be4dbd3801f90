package overview

import (
	"math"
	"strconv"

	"flotilla/core/strict"
)

// Cores shows a CPU quantity in cores, "44650m" as 44.6; what is no quantity stays as it is.
func Cores(text string) string {
	q, err := strict.ParseQuantity(text)
	if err != nil {
		return text
	}
	return OneDecimal(q.AsApproximateFloat64())
}

// Gibibytes shows a memory quantity in GiB, "78336Mi" as 76.5Gi.
func Gibibytes(text string) string {
	q, err := strict.ParseQuantity(text)
	if err != nil {
		return text
	}
	return OneDecimal(q.AsApproximateFloat64()/(1<<30)) + "Gi"
}

// OneDecimal rounds down, so that nothing is shown as free that is not.
func OneDecimal(f float64) string {
	return strconv.FormatFloat(math.Floor(f*10)/10, 'f', -1, 64)
}

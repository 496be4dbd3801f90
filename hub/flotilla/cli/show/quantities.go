package show

import (
	"math"
	"strconv"

	"flotilla/core/strict"
)

// cores shows a CPU quantity in cores, "44650m" as 44.6; what is no quantity stays as it is.
func cores(text string) string {
	q, err := strict.ParseQuantity(text)
	if err != nil {
		return text
	}
	return oneDecimal(q.AsApproximateFloat64())
}

// gibibytes shows a memory quantity in GiB, "78336Mi" as 76.5Gi.
func gibibytes(text string) string {
	q, err := strict.ParseQuantity(text)
	if err != nil {
		return text
	}
	return oneDecimal(q.AsApproximateFloat64()/(1<<30)) + "Gi"
}

// oneDecimal rounds down, so that nothing is shown as free that is not.
func oneDecimal(f float64) string {
	return strconv.FormatFloat(math.Floor(f*10)/10, 'f', -1, 64)
}

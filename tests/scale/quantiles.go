package main

import (
	"math"
	"slices"
	"time"
)

// Quantiles are those of durations, in seconds.
type Quantiles struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// quantilesOf are those of values that were seen: the smallest that such a part of all does not exceed.
func quantilesOf(took []time.Duration) Quantiles {
	if len(took) == 0 {
		return Quantiles{}
	}
	took = slices.Sorted(slices.Values(took))
	at := func(part float64) float64 {
		return took[max(0, int(math.Ceil(part*float64(len(took))))-1)].Seconds()
	}
	return Quantiles{len(took), at(0.5), at(0.9), at(0.99), at(1)}
}

// median is the middle one, the mean of the two in the middle of an even count, 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}

// Package sim makes fleets and policies in memory from a seed, for property tests and simulations.
//
// Equal seeds give equal fleets on every machine, so a failing seed is a whole bug report. Values are
// drawn to collide: few regions, few node counts, equal scores, ages on both sides of a threshold.
package sim

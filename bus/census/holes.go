//go:build !uncensused

package census

import "flotilla/bus/watch"

// Holes are what state has lost, by what was said of it; nil when it is whole.
func Holes(cells map[string]watch.Cell, b *Book, settled uint64) *Damage {
	return judge(cells, b, settled)
}

//go:build !uncensused

package bus

// holes are what state has lost, by what was said of it; nil when it is whole.
func holes(cells map[string]cell, b *book, settled uint64) *Damage { return judge(cells, b, settled) }

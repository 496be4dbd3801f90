package object

import "github.com/aymanbagabas/go-udiff"

// unifiedDiff is the unified diff of two texts, empty when they are equal.
func unifiedDiff(name, before, after string) string {
	return udiff.Unified("live/"+name, "applied/"+name, before, after)
}

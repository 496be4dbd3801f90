package eviction

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Evictions that were decided on are kept for so long, and so many of them.
const (
	KeptFor  = 30 * 24 * time.Hour
	MostKept = 1000
)

// Decided is an eviction that was decided on; At is zero where nobody knows when.
type Decided struct {
	Name string
	At   time.Time
}

// Outlived are those that are kept no longer, by name, and when the next one is to go; zero where none is. An eviction of which
// nobody knows when it was decided on counts as the newest.
func Outlived(all []Decided, now time.Time) (gone []string, next time.Time) {
	newest := slices.SortedFunc(slices.Values(all), func(a, b Decided) int {
		return cmp.Or(cmp.Compare(old(a), old(b)), b.At.Compare(a.At), strings.Compare(a.Name, b.Name))
	})
	for i, e := range newest {
		switch ends := e.At.Add(KeptFor); {
		case i >= MostKept, !e.At.IsZero() && !now.Before(ends):
			gone = append(gone, e.Name)
		case !e.At.IsZero():
			next = ends // the last of those that stay is the oldest
		}
	}
	slices.Sort(gone)
	return gone, next
}

func old(e Decided) int {
	if e.At.IsZero() {
		return 0
	}
	return 1
}

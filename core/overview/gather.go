package overview

import (
	"slices"
	"strings"
)

// In is the name of the group that a member is in, grouped by what Groups takes; empty for none.
func (m *Member) In(by string) string { return m.value(by) }

// Gather puts members of a group beside each other, the groups by name and those without one last; within a group they
// stay as they are.
func Gather(members []*Member, by string) {
	slices.SortStableFunc(members, func(a, b *Member) int {
		x, y := a.value(by), b.value(by)
		if (x == "") != (y == "") {
			return strings.Compare(y, x)
		}
		return strings.Compare(x, y)
	})
}

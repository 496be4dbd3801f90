package version

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is a Kubernetes version. An alias, "1.29", stands for the newest patch of its minor.
type Version struct {
	Major, Minor, Patch int
	Alias               bool
}

// Parse reads "1.29.4" or "1.29", each with an optional leading "v"; the whole text must match.
func Parse(text string) (Version, bool) {
	parts := strings.Split(strings.TrimPrefix(text, "v"), ".")
	if len(parts) < 2 || len(parts) > 3 {
		return Version{}, false
	}
	numbers, ok := integers(parts)
	if !ok {
		return Version{}, false
	}
	v := Version{Major: numbers[0], Minor: numbers[1], Alias: len(parts) == 2}
	if !v.Alias {
		v.Patch = numbers[2]
	}
	return v, true
}

// integers reads every part as a number without a sign.
func integers(parts []string) ([]int, bool) {
	numbers := make([]int, len(parts))
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return nil, false
		}
		numbers[i] = int(n)
	}
	return numbers, true
}

// String is the version without "v".
func (v Version) String() string {
	if v.Alias {
		return fmt.Sprintf("%d.%d", v.Major, v.Minor)
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// IsZero reports whether v is no version at all.
func (v Version) IsZero() bool { return v == Version{} }

// Compare orders versions by number: -1, 0 or 1. The patch of an alias counts as 0.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

// sameMinor reports whether both are patches of one minor.
func (v Version) sameMinor(w Version) bool { return v.Major == w.Major && v.Minor == w.Minor }

// Move is what a control plane at one version may do about another.
type Move string

// The moves of a control plane.
const (
	MoveAtTarget Move = "AtTarget"
	MoveAllowed  Move = "Allowed"         // a later patch, or the next minor
	MoveAhead    Move = "Ahead"           // the target is older; never attempted
	MoveMinorGap Move = "RefusedMinorGap" // two minors or more
	MoveMajor    Move = "RefusedMajor"
)

// MoveTo judges the way from v to target.
func (v Version) MoveTo(target Version) Move {
	switch {
	case v.Major != target.Major:
		return MoveMajor
	case v.Compare(target) == 0:
		return MoveAtTarget
	case v.Compare(target) > 0:
		return MoveAhead
	case target.Minor-v.Minor > 1:
		return MoveMinorGap
	default:
		return MoveAllowed
	}
}

// MaxSkew is how many minors a kubelet may be older than its API server.
const MaxSkew = 3

// SkewHolds reports whether a control plane at target may keep a pool at version.
func SkewHolds(target, pool Version) bool {
	return target.Major == pool.Major && target.Minor-pool.Minor <= MaxSkew
}

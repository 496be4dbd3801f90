package strict

import "strings"

// LongestMeant is up to how many bytes a key may be meant to be a name: no name of ours is longer, and a key costs its length
// times that of each name.
const LongestMeant = 128

// Nearest returns the name that key was most likely meant to be, or "". A key of more than LongestMeant bytes is meant to be none.
func Nearest(key string, names []string) string {
	if len(key) > LongestMeant {
		return ""
	}
	best, least := "", 1+max(1, len(key)/4)
	key = strings.ToLower(key)
	for _, name := range names {
		if d := distanceBelow(key, strings.ToLower(name), least); d < least {
			best, least = name, d
		}
	}
	return best
}

// Distance counts the insertions, deletions, replacements and swaps of neighbours between a and b.
func Distance(a, b string) int { return distanceBelow(a, b, len(a)+len(b)+1) }

// distanceBelow is the distance between a and b where it is less than a limit, else any number that is not. It stops at
// a row of which nothing is less: the row before it is less by at most one, so that no swap leads to less either.
func distanceBelow(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		least := fillRow(a, b, i, before, last, row)
		if least >= limit {
			return limit
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// fillRow fills row i of the table of distances from the two rows before it, and returns the least of it.
func fillRow(a, b string, i int, before, last, row []int) int {
	row[0] = i
	least := i
	for j := 1; j <= len(b); j++ {
		change := last[j-1]
		if a[i-1] != b[j-1] {
			change++
		}
		row[j] = min(last[j]+1, row[j-1]+1, change)
		if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
			row[j] = min(row[j], before[j-2]+1)
		}
		least = min(least, row[j])
	}
	return least
}

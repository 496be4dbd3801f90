package cli

import (
	"slices"
	"strings"
)

// nearest returns the candidates that word was probably meant to be, best first, at most three.
func nearest(word string, candidates []string) []string {
	type scored struct {
		word string
		d    int
	}
	word = strings.ToLower(word)
	limit := max(1, len(word)/3)
	var found []scored
	for _, c := range candidates {
		d := distance(word, c)
		if d <= limit || (len(word) > 2 && strings.HasPrefix(c, word)) {
			found = append(found, scored{c, d})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		if a.d != b.d {
			return a.d - b.d
		}
		return strings.Compare(a.word, b.word)
	})
	var words []string
	for _, s := range found {
		if len(words) < 3 && !slices.Contains(words, s.word) {
			words = append(words, s.word)
		}
	}
	return words
}

// distance counts the insertions, deletions, replacements and swaps of neighbours between a and b.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// meant is ", did you mean x or y?" or nothing.
func meant(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return ", did you mean " + strings.Join(words, " or ") + "?"
}

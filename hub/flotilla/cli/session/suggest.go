package session

import (
	"slices"
	"strings"

	"flotilla/core/strict"
)

// Nearest returns the candidates that word was probably meant to be, best first, at most three.
func Nearest(word string, candidates []string) []string {
	type scored struct {
		word string
		d    int
	}
	word = strings.ToLower(word)
	limit := max(1, len(word)/3)
	var found []scored
	for _, c := range candidates {
		d := strict.Distance(word, c)
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

// Meant is ", did you mean x or y?" or nothing.
func Meant(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return ", did you mean " + strings.Join(words, " or ") + "?"
}

// BoolInt is 1 for true.
func BoolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

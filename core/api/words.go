package api

import (
	"fmt"
	"strings"
)

// enumerated is how many names a list names.
const enumerated = 20

// Counted is "1 node", "2 nodes".
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Enumerate lists the first of names and says how many more there are.
func Enumerate(names []string) string {
	if len(names) <= enumerated {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:enumerated], ", "), len(names)-enumerated)
}

package page

import (
	"maps"
	"slices"
)

// ActionVerbs are the verbs of all actions.
func ActionVerbs() []string { return slices.Sorted(maps.Keys(looks)) }

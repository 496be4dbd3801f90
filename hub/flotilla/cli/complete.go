package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// targeted are the commands that begin with what parseTarget reads.
var targeted = []string{"get", "describe", "delete", "wait", "edit", "scale", "label", "annotate", "why", "events"}

// completeTarget completes TYPE, then the names of its objects on the hub, in both of kubectl's forms.
func (a *app) completeTarget(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 && !strings.Contains(word, "/") {
		plurals := []string{"members", "placements"}
		for i := range kinds {
			plurals = append(plurals, kinds[i].plural)
		}
		slices.Sort(plurals)
		return beginning(plurals, word), cobra.ShellCompDirectiveNoFileComp
	}
	kind, _, slash := strings.Cut(word, "/")
	if !slash && len(args) > 0 {
		kind = args[0]
	}
	t, err := parseTarget([]string{kind}, a.namespace)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	objects, _, err := a.fetchTarget(cmd.Context(), t, selection{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, obj := range objects {
		name := obj.GetName()
		if slash {
			name = kind + "/" + name
		}
		names = append(names, name)
	}
	return beginning(names, word), cobra.ShellCompDirectiveNoFileComp
}

func beginning(words []string, with string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, with) })
}

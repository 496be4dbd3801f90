package resource

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"flotilla/core/api"
)

// Targeted are the commands that begin with what parseTarget reads.
var Targeted = []string{"get", "describe", "delete", "wait", "edit", "scale", "label", "annotate", "why", "events"}

// CompleteTarget completes TYPE, then the names of its objects on the hub, in both of kubectl's forms.
func (a *Client) CompleteTarget(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 && !strings.Contains(word, "/") {
		plurals := []string{"members", "placements", "runs", "strategies", "profiles", "catalogs", "maintenance", "pools"}
		for i := range Kinds {
			plurals = append(plurals, Kinds[i].Plural)
		}
		slices.Sort(plurals)
		return Beginning(plurals, word), cobra.ShellCompDirectiveNoFileComp
	}
	kind, _, slash := strings.Cut(word, "/")
	if !slash && len(args) > 0 {
		kind = args[0]
	}
	t, err := ParseTarget([]string{kind}, a.Namespace)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	objects, _, err := a.FetchTarget(cmd.Context(), t, Selection{})
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
	return Beginning(names, word), cobra.ShellCompDirectiveNoFileComp
}

// Beginning are the words that begin with what was typed.
func Beginning(words []string, with string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, with) })
}

// CompleteNames completes the names of objects of a kind, for commands that take one name.
func (a *Client) CompleteNames(kind string) completion {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return Beginning(a.NamesOf(cmd.Context(), kind), word), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteNodes completes the nodes of the member of -m, or of all.
func (a *Client) CompleteNodes(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return Beginning(a.NamesOf(cmd.Context(), api.KindMemberNode), word), cobra.ShellCompDirectiveNoFileComp
}

type completion = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// NamesOf are the names of all objects of a kind, none when the hub does not tell.
func (a *Client) NamesOf(ctx context.Context, kind string) []string {
	objects, err := a.FetchAll(ctx, Known(kind), Selection{Brief: true})
	if err != nil {
		return nil
	}
	names := make([]string, len(objects))
	for i, obj := range objects {
		names[i] = obj.GetName()
	}
	return names
}

// CompleteFlag completes the values of a flag.
func (a *Client) CompleteFlag(cmd *cobra.Command, flag string, complete completion) {
	// The only error is that of a flag that does not exist or is completed already.
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}

// CompleteFlagNames completes a flag that names an object of a kind.
func (a *Client) CompleteFlagNames(cmd *cobra.Command, flag, kind string) {
	a.CompleteFlag(cmd, flag, func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return Beginning(a.NamesOf(cmd.Context(), kind), word), cobra.ShellCompDirectiveNoFileComp
	})
}

// CompleteFlagWords completes a flag that takes one of a few words.
func (a *Client) CompleteFlagWords(cmd *cobra.Command, flag string, known ...string) {
	a.CompleteFlag(cmd, flag, func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return Beginning(slices.Clone(known), word), cobra.ShellCompDirectiveNoFileComp
	})
}

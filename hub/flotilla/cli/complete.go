package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"flotilla/core/api"
)

// targeted are the commands that begin with what parseTarget reads.
var targeted = []string{"get", "describe", "delete", "wait", "edit", "scale", "label", "annotate", "why", "events"}

// completeTarget completes TYPE, then the names of its objects on the hub, in both of kubectl's forms.
func (a *Client) completeTarget(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 && !strings.Contains(word, "/") {
		plurals := []string{"members", "placements", "runs", "strategies", "profiles", "catalogs", "maintenance", "pools"}
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

// completeNames completes the names of objects of a kind, for commands that take one name.
func (a *Client) completeNames(kind string) completion {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return beginning(a.namesOf(cmd.Context(), kind), word), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNodes completes the nodes of the member of -m, or of all.
func (a *Client) completeNodes(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return beginning(a.namesOf(cmd.Context(), api.KindMemberNode), word), cobra.ShellCompDirectiveNoFileComp
}

type completion = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

func (a *Client) namesOf(ctx context.Context, kind string) []string {
	k := resourceKind{}
	for i := range kinds {
		if kinds[i].kind == kind {
			k = kinds[i]
		}
	}
	objects, err := a.fetchAll(ctx, k, selection{brief: true})
	if err != nil {
		return nil
	}
	names := make([]string, len(objects))
	for i, obj := range objects {
		names[i] = obj.GetName()
	}
	return names
}

// completeFlag completes the values of a flag.
func (a *Client) completeFlag(cmd *cobra.Command, flag string, complete completion) {
	// The only error is that of a flag that does not exist or is completed already.
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}

func (a *Client) completeFlagNames(cmd *cobra.Command, flag, kind string) {
	a.completeFlag(cmd, flag, func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return beginning(a.namesOf(cmd.Context(), kind), word), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeFlagWords completes a flag that takes one of a few words.
func (a *Client) completeFlagWords(cmd *cobra.Command, flag string, known ...string) {
	a.completeFlag(cmd, flag, func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return beginning(slices.Clone(known), word), cobra.ShellCompDirectiveNoFileComp
	})
}

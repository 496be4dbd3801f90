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
func (a *app) completeTarget(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
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
func (a *app) completeNames(kind string) completion {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return beginning(a.namesOf(cmd.Context(), kind), word), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNodes completes the nodes of the member of -m, or of all.
func (a *app) completeNodes(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return beginning(a.namesOf(cmd.Context(), api.KindMemberNode), word), cobra.ShellCompDirectiveNoFileComp
}

type completion = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

func (a *app) namesOf(ctx context.Context, kind string) []string {
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
func (a *app) completeFlag(cmd *cobra.Command, flag string, complete completion) {
	// The only error is that of a flag that does not exist or is completed already.
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}

func (a *app) completeFlagNames(cmd *cobra.Command, flag, kind string) {
	a.completeFlag(cmd, flag, func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return beginning(a.namesOf(cmd.Context(), kind), word), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeFlagWords completes a flag that takes one of a few words.
func (a *app) completeFlagWords(cmd *cobra.Command, flag string, known ...string) {
	a.completeFlag(cmd, flag, func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return beginning(slices.Clone(known), word), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeGate completes the gates of the run that is named which wait.
func (a *app) completeGate(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	run, err := a.fetchRun(cmd.Context(), args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var paths []string
	for _, g := range pendingGates(run) {
		paths = append(paths, gatePath(&g))
	}
	return beginning(paths, word), cobra.ShellCompDirectiveNoFileComp
}

// completeSkip completes the run, then what of it is not finished.
func (a *app) completeSkip(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return beginning(a.namesOf(cmd.Context(), api.KindUpdateRun), word), cobra.ShellCompDirectiveNoFileComp
	}
	run, err := a.fetchRun(cmd.Context(), args[0])
	if err != nil || run.Status == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var targets []string
	for i := range run.Status.Stages {
		targets = append(targets, unfinished(&run.Status.Stages[i])...)
	}
	return beginning(targets, word), cobra.ShellCompDirectiveNoFileComp
}

// unfinished lists what of a stage could be skipped.
func unfinished(stage *api.StageStatus) []string {
	if stage.Status.State.Done() {
		return nil
	}
	targets := []string{"stage/" + stage.Name}
	if w := stage.Wait; w != nil && !w.Status.State.Done() {
		targets = append(targets, "wait/"+stage.Name)
	}
	for j := range stage.Groups {
		g := &stage.Groups[j]
		if !g.Status.State.Done() {
			targets = append(targets, "group/"+g.Name)
		}
		for k := range g.Members {
			if state := g.Members[k].Status.State; !state.Done() && state != api.StateRunning {
				targets = append(targets, "member/"+g.Members[k].Name)
			}
		}
	}
	return targets
}

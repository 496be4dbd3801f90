package run

import (
	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/hub/flotilla/cli/resource"

	"github.com/spf13/cobra"
)

// completeGate completes the gates of the run that is named which wait.
func (a commands) completeGate(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	run, err := a.fetchRun(cmd.Context(), args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var paths []string
	for _, g := range pendingGates(run) {
		paths = append(paths, stage.GatePath(&g))
	}
	return resource.Beginning(paths, word), cobra.ShellCompDirectiveNoFileComp
}

// completeSkip completes the run, then what of it is not finished.
func (a commands) completeSkip(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return resource.Beginning(a.NamesOf(cmd.Context(), api.KindUpdateRun), word), cobra.ShellCompDirectiveNoFileComp
	}
	run, err := a.fetchRun(cmd.Context(), args[0])
	if err != nil || run.Status == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var targets []string
	for i := range run.Status.Stages {
		targets = append(targets, unfinished(&run.Status.Stages[i])...)
	}
	return resource.Beginning(targets, word), cobra.ShellCompDirectiveNoFileComp
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

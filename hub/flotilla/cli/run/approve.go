package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/hub/flotilla/cli/session"
)

func (a commands) runApproveCommand() *cobra.Command {
	var gate, dryRun string
	cmd := &cobra.Command{
		Use:   "approve NAME [--gate GATE]",
		Short: "Open a gate that waits; a scheduled start is let go early",
		Long: `Open a gate that waits: the one of the run that does, or, where several wait, the one that --gate names by its id or its
path, stage/before/Approval or stage/group/after/Approval. A scheduled start is let go early.`,
		Example: `  flotilla run approve spring
  flotilla run approve spring --gate prod/before/Approval`,
		Args: oneRun,
		RunE: a.onRun(func(ctx context.Context, name string) error {
			if gate == "" {
				var err error
				if gate, err = a.waitingGate(ctx, name); err != nil {
					return err
				}
			}
			o := &operation{verb: api.VerbRunApprove, request: api.RunRequest{Run: name, Gate: gate}, done: "opened gate " + gate, dryRun: dryRun}
			return a.operateAndFollow(ctx, o, false)
		}),
	}
	cmd.Flags().StringVar(&gate, "gate", "", "the gate to open, by id or path")
	session.DryRunFlag(cmd, &dryRun)
	a.CompleteFlag(cmd, "gate", a.completeGate)
	return cmd
}

// waitingGate is the path of the one gate of a run that waits for approval, or of the one gate that
// waits at all.
func (a commands) waitingGate(ctx context.Context, name string) (string, error) {
	run, err := a.fetchRun(ctx, name)
	if err != nil {
		return "", err
	}
	pending := pendingGates(run)
	approvals := pending[:0:0]
	for _, g := range pending {
		if g.Spec.GateType == api.GateApproval {
			approvals = append(approvals, g)
		}
	}
	if len(approvals) > 0 {
		pending = approvals
	}
	switch len(pending) {
	case 1:
		return stage.GatePath(&pending[0]), nil
	case 0:
		return "", &session.Failure{Code: session.ExitRefused, Message: fmt.Sprintf("no gate of run %s waits", name), Next: "flotilla run status " + name}
	}
	var paths []string
	for i := range pending {
		paths = append(paths, stage.GatePath(&pending[i]))
	}
	return "", &session.Failure{
		Code: session.ExitUsage, Message: fmt.Sprintf("%d gates of run %s wait, name one with --gate: %s", len(paths), name, strings.Join(paths, ", ")),
		Next: fmt.Sprintf("flotilla run approve %s --gate %s", name, paths[0]),
	}
}

func pendingGates(run *api.UpdateRun) []api.Gate {
	if run.Status == nil {
		return nil
	}
	var pending []api.Gate
	for _, g := range stage.Gates(run.Status) {
		if g.Status.State == api.StatePending {
			pending = append(pending, g)
		}
	}
	return pending
}

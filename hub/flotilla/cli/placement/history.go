package placement

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

func (a Commands) historyCommand() *cobra.Command {
	revision, format := int64(0), ""
	cmd := &cobra.Command{
		Use:   "history placement/NAME",
		Short: "List the revisions of a placement that are kept",
		Long: `List the revisions of a placement that are kept: what it selected, oldest first, who changed that, how many
members were given it, and what became of objects. With --revision the objects of one that were added, changed and removed.`,
		Example: `  flotilla rollout history placement/web
  flotilla rollout history placement/web --revision 2`,
		RunE: a.Do(func(ctx context.Context, args []string) error { return a.history(ctx, args, revision, format) }),
	}
	a.NamespaceFlag(cmd.Flags())
	cmd.Flags().Int64Var(&revision, "revision", 0, "what changed with this one")
	cmd.Flags().StringVarP(&format, "output", "o", "", "json")
	return cmd
}

func (a Commands) history(ctx context.Context, args []string, revision int64, format string) error {
	if err := a.Format(format, "json"); err != nil {
		return err
	}
	r, err := resource.PlacementRef(args, a.Namespace)
	if err != nil {
		return err
	}
	var answer api.HistoryResponse
	if err := a.Call(ctx, api.VerbRolloutHistory, api.HistoryRequest{Object: r.Object()}, &answer); err != nil {
		return err
	}
	switch {
	case a.Machine:
		return session.PrintJSON(a.Out, answer)
	case revision != 0:
		return a.revision(r, &answer, revision)
	}
	return a.revisions(r, &answer)
}

// revision prints what changed with one of them.
func (a Commands) revision(r resource.Ref, answer *api.HistoryResponse, revision int64) error {
	for i := range answer.Revisions {
		one := &answer.Revisions[i]
		if one.Revision != revision {
			continue
		}
		a.Printf("%s revision %d: %s\n", r, one.Revision, overview.WhatOf(one))
		for _, group := range []struct {
			mark    string
			objects []api.ObjectRef
		}{{"+", one.Added}, {"~", one.Changed}, {"-", one.Removed}} {
			for _, object := range group.objects {
				a.Printf("  %s %s\n", group.mark, object)
			}
		}
		return nil
	}
	return &session.Failure{Code: session.ExitDifferent, Message: fmt.Sprintf("%s has no revision %d that is kept", r, revision), Next: "flotilla rollout history " + r.String()}
}

func (a Commands) revisions(r resource.Ref, answer *api.HistoryResponse) error {
	w := a.Columns(2)
	session.Say(w, "REVISION\tAGE\tBY\tMEMBERS\tWHAT\n")
	for i := range answer.Revisions {
		one := &answer.Revisions[i]
		session.Say(w, "%d\t%s\t%s\t%d\t%s\n", one.Revision, session.Since(a.Now(), one.Created.Time), session.OrDash(one.By), one.Members, overview.WhatOf(one))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if n := len(answer.Revisions); n > 0 {
		a.Next("flotilla rollout history %s --revision %d", r, answer.Revisions[n-1].Revision)
	}
	return nil
}

package hub

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

type freezeOptions struct {
	reason string
	dryRun string
}

func (a commands) freezeCommand() *cobra.Command {
	o := &freezeOptions{}
	cmd := &cobra.Command{
		Use:   "freeze [member NAME | placements | runs | nodes] --reason WHY",
		Short: "Keep the fleet, or a part of it, as it is",
		Long: `Keep the fleet, or a part of it, as it is until "flotilla unfreeze". While placements are frozen no member gets
another revision, or a placement, and none gives one up; evictions are refused, drains wait, and placements and members
cannot be deleted. While runs are frozen no member of an update run or a staged run begins. While nodes are frozen no
disruption begins. What is under way goes on. A frozen member is all of that for itself.`,
		Example: `  flotilla freeze --reason "the shop has its sale"
  flotilla freeze placements --reason "registry is down"
  flotilla freeze member berlin --reason "somebody debugs there"`,
		RunE: a.Do(func(ctx context.Context, args []string) error { return a.freeze(ctx, o, api.VerbFreeze, args) }),
	}
	cmd.Flags().StringVar(&o.reason, "reason", "", "why, for those who wait")
	session.DryRunFlag(cmd, &o.dryRun)
	return cmd
}

func (a commands) unfreezeCommand() *cobra.Command {
	o := &freezeOptions{}
	cmd := &cobra.Command{
		Use:   "unfreeze [member NAME | placements | runs | nodes]",
		Short: "Let the fleet, or a part of it, go on that was frozen",
		Long:  `Let the fleet, or a part of it, go on that was frozen. It ends the freeze of what it names alone: "status" shows the others.`,
		Example: `  flotilla unfreeze
  flotilla unfreeze member berlin`,
		RunE: a.Do(func(ctx context.Context, args []string) error { return a.freeze(ctx, o, api.VerbUnfreeze, args) }),
	}
	session.DryRunFlag(cmd, &o.dryRun)
	return cmd
}

func (a commands) freeze(ctx context.Context, o *freezeOptions, verb string, args []string) error {
	dry, err := session.ParseDryRun(o.dryRun)
	if err != nil {
		return err
	}
	scope, err := scopeOf(args)
	if err != nil {
		return err
	}
	if verb == api.VerbFreeze && o.reason == "" {
		return session.Usagef("found no reason, expected --reason WHY: it is told to everybody who waits")
	}
	request := api.FreezeRequest{Request: resource.NewRequestID(), Scope: scope, Reason: o.reason, DryRun: dry}
	var answer api.FreezeResponse
	if err := a.Call(ctx, verb, request, &answer); err != nil {
		return err
	}
	done := answer.Action
	if answer.Action == api.ActionUnchanged && answer.Freeze.By != "" {
		a.Note("%s", answer.Freeze.String())
	}
	if dry {
		done += " (server dry run)"
	}
	a.Printf("%s %s\n", answer.Freeze.What(), done)
	for i := range answer.Others {
		a.Note("%s", answer.Others[i].String())
	}
	if verb == api.VerbFreeze && !dry {
		a.Next("%s", answer.Freeze.Unfreeze())
	} else {
		a.Next("flotilla status")
	}
	return nil
}

// scopeOf reads what is to be frozen: all where nothing is named.
func scopeOf(args []string) (string, error) {
	switch {
	case len(args) == 0:
		return api.FreezeFleet, nil
	case len(args) == 1 && slices.Contains([]string{api.FreezeFleet, api.FreezePlacements, api.FreezeRuns, api.FreezeNodes}, args[0]):
		return args[0], nil
	case len(args) > 1 || strings.Contains(args[0], "/"):
		name, err := resource.MemberName(args, false)
		return api.FreezeOf(name), err
	}
	return "", session.Usagef("found %q, expected member NAME, placements, runs, nodes, or nothing for all of the fleet", args[0])
}

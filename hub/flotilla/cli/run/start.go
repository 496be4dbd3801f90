package run

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

// startFlags are what start and rerun share.
type startFlags struct {
	ignoreWindows bool
	reason        string
	watch         bool
	dryRun        string
}

func (f *startFlags) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&f.ignoreWindows, "ignore-maintenance-windows", false, "start members outside their windows too; needs --reason")
	flags.StringVar(&f.reason, "reason", "", "why windows are ignored; it is kept with the run")
	flags.BoolVarP(&f.watch, "watch", "w", false, "follow the run until it ends")
}

func (f *startFlags) check() error {
	if f.ignoreWindows && f.reason == "" {
		return session.Usagef("--ignore-maintenance-windows needs --reason TEXT")
	}
	if !f.ignoreWindows && f.reason != "" {
		return session.Usagef("--reason says why windows are ignored: add --ignore-maintenance-windows")
	}
	return nil
}

func (a commands) runStartCommand() *cobra.Command {
	f, includeSkipped := &startFlags{}, false
	cmd := &cobra.Command{
		Use:   "start NAME",
		Short: "Start a run, or take up one that was stopped or has failed",
		Long: `Start a run, or take up one that was stopped or has failed. Members that are done stay as they are, failed ones
are tried again, and those that users skipped stay skipped unless --include-skipped is given.`,
		Example: `  flotilla run start spring --watch
  flotilla run start spring --ignore-maintenance-windows --reason 'CVE-2026-1234'`,
		Args: oneRun,
		RunE: a.onRun(func(ctx context.Context, name string) error {
			if err := f.check(); err != nil {
				return err
			}
			request := api.RunRequest{Run: name, IncludeSkipped: includeSkipped, IgnoreMaintenanceWindows: f.ignoreWindows, Reason: f.reason}
			o := &operation{verb: api.VerbRunStart, request: request, done: "started", already: "is under way", warns: true, dryRun: f.dryRun}
			return a.operateAndFollow(ctx, o, f.watch)
		}),
	}
	f.addFlags(cmd.Flags())
	session.DryRunFlag(cmd, &f.dryRun)
	cmd.Flags().BoolVar(&includeSkipped, "include-skipped", false, "take up members that users skipped too")
	return cmd
}

// operateAndFollow follows the run after an operation that makes it go on.
func (a commands) operateAndFollow(ctx context.Context, o *operation, watch bool) error {
	if dry, err := session.ParseDryRun(cmp.Or(o.dryRun, "none")); dry || err != nil {
		if err != nil {
			return err
		}
		return a.foresee(ctx, o)
	}
	o.warns = o.warns && !watch // the status that follows shows them
	reply, err := a.operate(ctx, o)
	if err != nil {
		return err
	}
	if watch {
		return a.runStatus(ctx, &statusOptions{watch: true}, reply.Run)
	}
	a.nextOf(&reply)
	return nil
}

// nextOf names the command that brings a run on, or that shows it where an older hub names none.
func (a commands) nextOf(reply *api.RunResponse) {
	a.Next("%s", cmp.Or(reply.Next, "flotilla run status "+reply.Run))
}

func (a commands) runStopCommand() *cobra.Command {
	var dryRun string
	cmd := &cobra.Command{
		Use:     "stop NAME",
		Short:   "Start no more members; those that are under way finish",
		Example: `  flotilla run stop spring`,
		Args:    oneRun,
		RunE: a.onRun(func(ctx context.Context, name string) error {
			o := &operation{verb: api.VerbRunStop, request: api.RunRequest{Run: name}, done: "stopped", already: "was stopped before", dryRun: dryRun}
			return a.operateAndFollow(ctx, o, false)
		}),
	}
	session.DryRunFlag(cmd, &dryRun)
	return cmd
}

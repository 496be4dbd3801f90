package run

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// expectEvery is how often the expected end of a run is asked for while it is watched.
const expectEvery = 10 * time.Second

type statusOptions struct {
	watch   bool
	timeout time.Duration
}

func (a commands) runStatusCommand() *cobra.Command {
	o := &statusOptions{}
	cmd := &cobra.Command{
		Use:   "status NAME [--watch]",
		Short: "Show a run as a tree: stages, groups, members, gates and waits, with reasons and the expected end",
		Long: `Show a run as a tree: stages, groups and members with their state, reason, window and attempt, the gates and the waits, and when
the run is expected to end. With --watch the tree is drawn again as the run goes on; where the output is no
terminal, every change is a line.

Exit 0 when the run is Completed or Skipped, 1 when it is not finished, 4 when it failed or members of it
did, 124 when --timeout passed or a signal ended the watch.`,
		Example: `  flotilla run status spring
  flotilla run status spring --watch --timeout 2h`,
		Args: oneRun,
		RunE: a.onRun(func(ctx context.Context, name string) error {
			return a.runStatus(ctx, o, name)
		}),
	}
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "follow the run until it ends or is stopped")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "how long to follow, then exit 124; 0 for ever")
	return cmd
}

// following is what is known of a run that is watched.
type following struct {
	run      *api.UpdateRun
	expected outlook
	asked    time.Time
	shown    *screen
}

func (a commands) runStatus(ctx context.Context, o *statusOptions, name string) error {
	ctx, cancel := session.WithTimeout(ctx, o.timeout)
	defer cancel()
	f := &following{shown: &screen{session: a.Session, redraws: o.watch && a.Terminal}}
	var news *resource.Changes
	if o.watch {
		var err error
		if news, err = a.ChangesOf(ctx, api.WatchedKind{APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun}); err != nil {
			return err
		}
		news.Hurry()
	}
	for {
		run, why, err := a.fetchWithWhy(ctx, name)
		if err != nil {
			if ctx.Err() != nil && f.run != nil {
				return o.ended(ctx, f.run)
			}
			return err
		}
		f.run, f.shown.why = run, why
		a.expect(ctx, f)
		f.shown.show(f, a.Now())
		if !o.watch || runEnded(run) {
			return a.runOutcome(run)
		}
		more, err := news.NextWhile(ctx, func() { f.shown.show(f, a.Now()) })
		if err != nil {
			return err
		}
		if !more {
			return o.ended(ctx, run)
		}
	}
}

// expect asks when the run will end, now and then.
func (a commands) expect(ctx context.Context, f *following) {
	if f.run.Status == nil || !resource.GoesOn(f.run.Status.Status.State) {
		f.expected = outlook{}
		return
	}
	if a.Now().Sub(f.asked) < expectEvery {
		return
	}
	f.asked, f.expected = a.Now(), outlook{}
	for _, run := range a.Expected(ctx, []string{f.run.Name}) {
		if run.Name == f.run.Name && run.ExpectedEnd != nil {
			f.expected = outlook{end: run.ExpectedEnd.Time, fails: run.State == string(api.StateFailed)}
		}
	}
}

// runEnded says that nothing more happens to a run by itself.
func runEnded(run *api.UpdateRun) bool {
	if run.Status == nil {
		return false
	}
	state := run.Status.Status.State
	return state.Terminal() || state == api.StateStopped
}

// ended says how a run was when it was followed no longer, and what becomes of it.
func (o *statusOptions) ended(ctx context.Context, run *api.UpdateRun) error {
	var state api.UpdateState
	if run.Status != nil {
		state = run.Status.Status.State
	}
	message := fmt.Sprintf("run %s has not ended after %s: it is %s", run.Name, o.timeout, cmp.Or(string(state), "not looked at yet"))
	if session.IsInterrupted(ctx) {
		message = fmt.Sprintf("interrupted: run %s is %s", run.Name, cmp.Or(string(state), "not looked at yet"))
	}
	if session.IsInterrupted(ctx) && resource.GoesOn(state) {
		message += ", and goes on without this command"
	}
	return &session.Failure{Code: session.ExitTimedOut, Message: message, Next: "flotilla run status " + run.Name + " --watch"}
}

// runOutcome names the next command, and ends with the exit code of the run's state.
func (a commands) runOutcome(run *api.UpdateRun) error {
	if run.Status == nil {
		a.Next("flotilla run status %s --watch", run.Name)
		return session.Different()
	}
	a.Notes(run.Status.Warnings)
	a.Next("%s", stage.Next(run.Status))
	switch state := run.Status.Status.State; {
	case state == api.StateFailed, run.Status.FailureCount > 0 && state.Done():
		return &session.Failure{Code: session.ExitPartial}
	case state.Done():
		return nil
	}
	return session.Different()
}

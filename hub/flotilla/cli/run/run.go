package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

func (a commands) runCommand() *cobra.Command {
	cmd := session.Group("run", "Upgrade members: make, start, follow and steer update runs",
		a.runCreateCommand(), a.runStartCommand(), a.runStatusCommand(), a.runStopCommand(), a.runSkipCommand(),
		a.runApproveCommand(), a.runRerunCommand(), a.runDeleteCommand(), a.runGenerateCommand())
	for _, child := range cmd.Commands() {
		switch child.Name() {
		case "create":
		case "generate":
			child.ValidArgsFunction = a.CompleteNames(api.KindAutoUpgradeProfile)
		case "skip":
			child.ValidArgsFunction = a.completeSkip
		default:
			child.ValidArgsFunction = a.CompleteNames(api.KindUpdateRun)
		}
	}
	return cmd
}

// oneRun wants exactly the name of an update run.
func oneRun(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return session.Usagef("found %d arguments, expected the name of one update run", len(args))
	}
	return nil
}

// runName reads "NAME" or "run/NAME".
func runName(arg string) (string, error) {
	return resource.NameOfKind(arg, api.KindUpdateRun, "an update run")
}

// onRun is what a command does whose only argument is the name of an update run.
func (a commands) onRun(do func(ctx context.Context, name string) error) func(*cobra.Command, []string) error {
	return a.Do(func(ctx context.Context, args []string) error {
		name, err := runName(args[0])
		if err != nil {
			return err
		}
		return do(ctx, name)
	})
}

// operation is one operation on a run: its verb, what it asks, and how it says that it was done.
type operation struct {
	verb    string
	request api.RunRequest
	done    string
	// already is said when the run was so before.
	already string
	// warns shows the warnings of the run.
	warns bool
}

// operate asks for an operation and says what came of it.
func (a commands) operate(ctx context.Context, o *operation) (api.RunResponse, error) {
	o.request.Request = rand.Text()
	var reply api.RunResponse
	if err := a.Call(ctx, o.verb, o.request, &reply); err != nil {
		return reply, a.withNearRuns(ctx, err, o.request.Run)
	}
	reply.Run = cmp.Or(reply.Run, o.request.Run)
	if o.warns {
		a.Notes(reply.Warnings)
	}
	done := o.done
	if reply.Unchanged {
		done = cmp.Or(o.already, o.done)
	}
	a.Printf("run %s %s%s\n", reply.Run, done, stateSuffix(reply.State))
	return reply, nil
}

func stateSuffix(state api.UpdateState) string {
	if state == "" {
		return ""
	}
	return ", " + string(state)
}

// withNearRuns adds to an error about a missing run the names it may have been meant to be.
func (a commands) withNearRuns(ctx context.Context, err error, name string) error {
	return a.withNear(ctx, err, api.KindUpdateRun, name)
}

// withNear adds to an error about a missing object of a kind the names it may have been meant to be.
// When the object is there, what is missing is something that the request names inside it: that is a
// refusal like any other.
func (a commands) withNear(ctx context.Context, err error, kind, name string) error {
	if !session.IsNotFound(err) {
		return err
	}
	names := a.NamesOf(ctx, kind)
	failure := session.FailureOf(err)
	if slices.Contains(names, name) {
		failure.Code = session.ExitRefused
		return failure
	}
	return &session.Failure{
		Code: failure.Code, Message: failure.Message + session.Meant(session.Nearest(name, names)),
		Faults: failure.Faults, Next: cmp.Or(failure.Next, "flotilla get runs"),
	}
}

package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

func (a commands) runCommand() *cobra.Command {
	cmd := session.Group("run", "Upgrade members, or bring content to them in stages: make, start, follow and steer runs",
		a.runCreateCommand(), a.runStartCommand(), a.runStatusCommand(), a.runStopCommand(), a.runSkipCommand(),
		a.runApproveCommand(), a.runRerunCommand(), a.runDeleteCommand(), a.runGenerateCommand())
	for _, child := range cmd.Commands() {
		if name := child.Name(); name != "create" && name != "generate" {
			a.NamespaceFlag(child.Flags())
		}
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

// runName reads "NAME" or "run/NAME", of a run of either kind; that of one that lies in a namespace is "NAMESPACE/NAME", or
// its name where -n says the namespace.
func (a commands) runName(arg string) (string, error) {
	word, rest, slash := strings.Cut(arg, "/")
	if !slash {
		return api.Keyed(a.Namespace, arg), nil
	}
	k, err := resource.KindByWord(word)
	if err != nil {
		return arg, nil
	}
	r, err := resource.OneRef([]string{arg}, a.Namespace)
	if err != nil {
		return "", err
	}
	switch k.Kind {
	case api.KindUpdateRun:
		return rest, nil
	case api.KindClusterStagedUpdateRun, api.KindStagedUpdateRun:
		return api.Keyed(r.Namespace, r.Name), nil
	}
	return "", session.Usagef("%s is not an update run", arg)
}

// onRun is what a command does whose only argument is the name of an update run.
func (a commands) onRun(do func(ctx context.Context, name string) error) func(*cobra.Command, []string) error {
	return a.Do(func(ctx context.Context, args []string) error {
		name, err := a.runName(args[0])
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
	// dryRun is the value of --dry-run.
	dryRun string
}

// foresee shows what would become of the run with an operation.
func (a commands) foresee(ctx context.Context, o *operation) error {
	request := api.PlanRequest{Runs: []string{o.request.Run}, Operation: &api.RunOperation{Verb: o.verb, Ask: o.request}}
	var answer plan.Answer
	if err := a.Call(ctx, api.VerbPlan, request, &answer); err != nil {
		return a.withNearRuns(ctx, err, o.request.Run)
	}
	for i := range answer.RunDetails {
		if refusal := answer.RunDetails[i].Refusal; refusal != nil {
			return refusal.Failure()
		}
	}
	a.Notes(answer.Notes)
	a.Paint(a.Coloured(answer.String()))
	a.Printf("run %s %s (server dry run)\n", o.request.Run, o.done)
	return nil
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

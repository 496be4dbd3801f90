package member

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

type drainOptions struct {
	dryRun  string
	wait    bool
	timeout time.Duration
}

// drainCommand makes "drain member NAME", under "flotilla member" "drain NAME".
func (a commands) drainCommand(bare bool) *cobra.Command {
	o := &drainOptions{}
	cmd := &cobra.Command{
		Use: "drain member NAME", Short: "Take every placement off a member, within disruption budgets", Example: "  flotilla drain member berlin",
		Long: `Take every placement off a member, within disruption budgets. First the member is cordoned, with the taint
flotilla.io/cordoned=drain:NoSchedule, which no toleration helps against; then the hub takes its placements away, each as
soon as its budget lets it, also when this command ends before. "flotilla uncordon" ends it: PickAll placements return then.
PickFixed placements that name the member stay: they are listed, and the exit code is 4.`,
	}
	if bare {
		cmd.Use, cmd.Example, cmd.Long, cmd.Args = "drain NAME", "  flotilla member drain berlin", "", oneName
	}
	cmd.RunE = a.Do(func(ctx context.Context, args []string) error {
		dry, err := session.ParseDryRun(o.dryRun)
		if err != nil {
			return err
		}
		name, err := resource.MemberName(args, bare)
		if err != nil {
			return notANode(err)
		}
		return a.drain(ctx, o, name, dry)
	})
	session.DryRunFlag(cmd, &o.dryRun)
	cmd.Flags().BoolVar(&o.wait, "wait", true, "follow until nothing is left that goes")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "how long to follow, then exit 124; 0 for ever")
	return cmd
}

func (a commands) drain(ctx context.Context, o *drainOptions, name string, dry bool) error {
	c := taintChange{taint: api.Taint{Key: api.TaintCordoned, Value: api.TaintDrain, Effect: api.EffectNoSchedule}}
	if err := a.setTaints(ctx, name, []taintChange{c}, "cordoned, draining", dry); err != nil || dry {
		return err
	}
	r := resource.Named(api.KindMemberCluster, name)
	if !o.wait {
		a.Next("flotilla describe %s", r)
		return nil
	}
	ctx, cancel := session.WithTimeout(ctx, o.timeout)
	defer cancel()
	return a.followDrain(ctx, r)
}

// notANode says too how a node is drained, as kubectl does it with this verb.
func notANode(err error) error {
	if f, isUsage := errors.AsType[*session.Failure](err); isUsage && f.Code == session.ExitUsage {
		f.Message += "; a node is drained by flotilla delete node NAME -m MEMBER"
	}
	return err
}

// followDrain prints how far a drain is until nothing is left that goes.
func (a commands) followDrain(ctx context.Context, r resource.Ref) error {
	for last := ""; ; {
		d, err := a.drainOf(ctx, r)
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case err != nil:
		case drainLine(d) != last:
			last = drainLine(d)
			a.Printf("%s: %s\n", r, last)
			fallthrough
		default:
			if d.Leaving+d.Waits == 0 {
				return a.drained(r, d)
			}
		}
		if !session.Pause(ctx, session.PollInterval) {
			return &session.Failure{Code: session.ExitTimedOut, Message: fmt.Sprintf("%s: %s; the drain goes on without this command", r, last), Next: "flotilla describe " + r.String()}
		}
	}
}

// drainOf is how far the drain of a member is; that there is none is an error.
func (a commands) drainOf(ctx context.Context, r resource.Ref) (*api.MemberDrain, error) {
	obj, err := a.Fetch(ctx, r)
	if err != nil {
		return nil, err
	}
	m := resource.Into[api.MemberCluster](obj)
	if m.Status == nil || m.Status.Drain == nil {
		return nil, &session.Failure{Code: session.ExitPartial, Message: fmt.Sprintf("%s is not drained: nobody heard of it yet, or somebody changed its taints", r), Next: "flotilla get members -o wide"}
	}
	return m.Status.Drain, nil
}

// drainLine is how far a drain has come: "2 leave, 1 waits, 1 stays; waits: web: Eviction is blocked by …".
func drainLine(d *api.MemberDrain) string {
	parts := []string{fmt.Sprintf("%d %s, %d %s, %d %s", d.Leaving, session.Plural(d.Leaving, "leaves", "leave"), d.Waits, session.Plural(d.Waits, "waits", "wait"),
		d.Stays, session.Plural(d.Stays, "stays", "stay"))}
	for _, p := range d.Placements {
		if p.Reason != "" && p.Stage != drainStays {
			parts = append(parts, p.Placement+": "+p.Reason)
		}
	}
	return strings.Join(parts, "; ")
}

// drainStays is the stage of a placement that no drain takes away.
const drainStays = "Stays"

// shownStays is how many placements that stay an answer names.
const shownStays = 20

// drained ends a drain: with those that stay it is not whole.
func (a commands) drained(r resource.Ref, d *api.MemberDrain) error {
	if d.Stays == 0 {
		a.Printf("%s is empty\n", r)
		a.Next("flotilla uncordon %s", r)
		return nil
	}
	names := make([]string, 0, len(d.Placements))
	for _, p := range d.Placements {
		names = append(names, strings.TrimSuffix(p.Placement+" ("+p.Reason+")", " ()"))
	}
	return &session.Failure{
		Code: session.ExitPartial, Message: fmt.Sprintf("%s keeps %s", r, phrase.First(names[:min(len(names), shownStays)], d.Stays)), Next: "flotilla describe " + r.String(),
	}
}

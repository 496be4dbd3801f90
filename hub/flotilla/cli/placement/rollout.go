package placement

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// reasonUnfulfilled is the reason of a condition Scheduled that found too few members.
const reasonUnfulfilled = "SchedulingPolicyUnfulfilled"

type rolloutOptions struct {
	watch   bool
	timeout time.Duration
}

func (a Commands) rolloutCommand() *cobra.Command {
	return session.Group("rollout", "Follow and steer how a placement reaches its members",
		a.rolloutStatusCommand(), a.historyCommand(), a.undoCommand(), a.pauseCommand(), a.resumeCommand(), a.restartCommand())
}

func (a Commands) rolloutStatusCommand() *cobra.Command {
	o := &rolloutOptions{}
	cmd := &cobra.Command{
		Use:   "status placement/NAME",
		Short: "Follow a rollout until every picked member runs the newest content",
		Long: `Follow a rollout until every picked member runs the newest content. It ends with exit code 1 once all
of them do and the policy wants more members than there are, and with exit code 4 once no member has
advanced for the progress deadline (annotation flotilla.io/progress-deadline, 10m), naming the members
that hold it up and what each lacks; so it does once the checks of its RolloutCheck failed, and members have gone back. Until then they are named in every line. One that somebody paused,
or pinned to an earlier revision, says who did.`,
		Example: `  flotilla rollout status placement/web
  flotilla rollout status placement/web --watch=false`,
		RunE: a.Do(func(ctx context.Context, args []string) error { return a.rolloutStatus(ctx, o, args) }),
	}
	a.NamespaceFlag(cmd.Flags())
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", true, "follow until it is done; without, exit 1 when it is not")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "how long to follow, then exit 124; 0 for ever")
	return cmd
}

func (a Commands) rolloutStatus(ctx context.Context, o *rolloutOptions, args []string) error {
	r, err := resource.PlacementRef(args, a.Namespace)
	if err != nil {
		return err
	}
	ctx, cancel := session.WithTimeout(ctx, o.timeout)
	defer cancel()
	var news *resource.Changes
	if o.watch {
		if news, err = a.ChangesOf(ctx, api.WatchedKind{APIVersion: r.APIVersion, Kind: r.Kind}); err != nil {
			return err
		}
		news.Hurry()
	}
	last := ""
	for {
		obj, err := a.Fetch(ctx, r)
		if err != nil {
			if ctx.Err() != nil {
				return rolloutTimeout(ctx, r, o.timeout, last)
			}
			return err
		}
		line, done := rolloutLine(obj)
		a.progress(obj, line, last, done)
		last = line
		switch {
		case done:
			a.noteUnconfirmed(obj)
			return nil
		case lacksMembers(obj):
			a.endProgress()
			a.Next("flotilla why %s", r)
			return session.Different()
		case standsStill(obj):
			a.endProgress()
			return stuck(r, obj)
		case !o.watch:
			a.endProgress()
			a.Next("flotilla get %s --members", r)
			return session.Different()
		}
		more, err := news.Next(ctx)
		if err != nil {
			return err
		}
		if !more {
			return rolloutTimeout(ctx, r, o.timeout, last)
		}
	}
}

// stuck is the end of a rollout in which no member advanced for too long.
func stuck(r resource.Ref, obj *unstructured.Unstructured) error {
	message := ""
	for _, c := range placementOf(obj).Conditions {
		if c.Status == metav1.ConditionFalse && strings.HasSuffix(c.Type, api.ConditionRolloutProgressing) {
			message = c.Message
		}
	}
	failure := &session.Failure{
		Code: session.ExitPartial, Message: fmt.Sprintf("%s stands still: %s", r, message), Next: fmt.Sprintf("flotilla get %s --members", r),
	}
	if checks := placementOf(obj).Checks; checks.Failed() {
		failure.Message = fmt.Sprintf("%s is not rolled out: %s", r, checks.Shown())
		failure.Next = fmt.Sprintf("flotilla events %s", r)
	}
	return failure
}

// noteUnconfirmed says of whom no confirmation of a withdrawal is near, which a rollout does not wait for.
func (a Commands) noteUnconfirmed(obj *unstructured.Unstructured) {
	now := a.Now()
	list := slices.DeleteFunc(placementOf(obj).Withdrawals, func(w api.Withdrawal) bool { return !w.Troubled(now) })
	if len(list) > 0 {
		a.Note("its withdrawal is not confirmed by %s", resource.UnconfirmedText(now, list))
	}
}

// progress prints a line when it is new; on a terminal it is written over, with a bar, until the
// rollout is done.
func (a Commands) progress(obj *unstructured.Unstructured, line, last string, done bool) {
	switch {
	case !a.Terminal && line != last:
		a.Printf("%s\n", line)
	case a.Terminal:
		counts := placementOf(obj).Counts
		a.Control("\r\033[K")
		a.Printf("%s %s", session.Bar(counts.Available, counts.Picked), line)
		if done {
			a.Printf("\n")
		}
	}
}

// endProgress leaves the line that a terminal would write over.
func (a Commands) endProgress() {
	if a.Terminal {
		a.Printf("\n")
	}
}

// rolloutTimeout says how far a rollout was when it was followed no longer.
func rolloutTimeout(ctx context.Context, r resource.Ref, timeout time.Duration, last string) error {
	next := fmt.Sprintf("flotilla get %s --members", r)
	last = strings.TrimPrefix(last, r.String()+": ")
	switch {
	case session.IsInterrupted(ctx) && last == "":
		return &session.Failure{Code: session.ExitTimedOut, Message: fmt.Sprintf("interrupted before the hub said how far %s is", r), Next: next}
	case session.IsInterrupted(ctx):
		return &session.Failure{Code: session.ExitTimedOut, Message: fmt.Sprintf("interrupted, %s: %s; the rollout goes on without this command", r, last), Next: next}
	case last == "":
		return &session.Failure{Code: session.ExitUnreachable, Message: fmt.Sprintf("no hub answered about %s within %s", r, timeout), Next: "flotilla version"}
	}
	return &session.Failure{Code: session.ExitTimedOut, Message: fmt.Sprintf("%s is not done after %s: %s", r, timeout, last), Next: next}
}

// rolloutLine says in one line how far a rollout is, and whether it is done: everything picked runs
// the newest snapshot and is available, as observed on the present generation.
func rolloutLine(obj *unstructured.Unstructured) (string, bool) {
	line, done := rolloutState(obj)
	s := placementOf(obj)
	if s.Paused != nil && !strings.Contains(line, s.Paused.String()) {
		line += "; " + s.Paused.String()
	}
	if names := heldMembers(s); s.Paused != nil && len(names) > 0 {
		line += "; held: " + phrase.List(names, shownHeld)
	}
	if s.Checks != nil {
		if text := s.Checks.Shown(); text != "" && !strings.Contains(line, text) {
			line += "; " + text
		}
	}
	if s.Pinned != nil {
		line += "; " + s.Pinned.String()
	}
	if strategy, _, _ := unstructured.NestedString(obj.Object, "spec", "strategy", "type"); done && strategy == api.StrategyExternal {
		line += broughtText(s)
	}
	return line, done
}

// broughtText is what a rollout that only staged runs carry on has come to: there may be newer content.
func broughtText(s *api.PlacementStatus) string {
	for _, c := range s.Conditions {
		if strings.HasSuffix(c.Type, api.ConditionRolloutStarted) {
			return "; " + c.Message
		}
	}
	return ""
}

// shownHeld is how many members that a pause holds a line names.
const shownHeld = 5

// heldMembers are the members that wait for something.
func heldMembers(s *api.PlacementStatus) (names []string) {
	for i := range s.PlacementStatuses {
		if m := &s.PlacementStatuses[i]; m.State == api.EntryWaiting || m.State == api.EntryPending {
			names = append(names, m.ClusterName)
		}
	}
	return names
}

// rolloutState is how far a rollout is, whoever steers it.
func rolloutState(obj *unstructured.Unstructured) (string, bool) {
	name, s := resource.RefOf(obj).String(), placementOf(obj)
	if s.ObservedGeneration < obj.GetGeneration() {
		return fmt.Sprintf("%s: waiting for the hub to look at generation %d", name, obj.GetGeneration()), false
	}
	counts := fmt.Sprintf("%d of %d current, %d applied, %d available", s.Counts.Current, s.Counts.Picked, s.Counts.Applied, s.Counts.Available)
	if s.Counts.Failed > 0 {
		counts += fmt.Sprintf(", %d failed", s.Counts.Failed)
	}
	if s.Rollout != nil && s.Rollout.HeldUpTotal > 0 && s.Rollout.Message != "" {
		return fmt.Sprintf("%s: %s; %s", name, counts, s.Rollout.Message), false
	}
	blocked := ""
	if i := slices.IndexFunc(s.Conditions, func(c metav1.Condition) bool { return c.Status != metav1.ConditionTrue }); i >= 0 {
		c := s.Conditions[i]
		blocked = fmt.Sprintf("; %s %s: %s", resource.ShortCondition(obj.GetKind(), c.Type), c.Status, c.Message)
	}
	if blocked == "" && resource.HasCondition(obj, api.ConditionScheduled) && allDone(s) {
		return fmt.Sprintf("%s: rolled out, %s", name, counts), true
	}
	return fmt.Sprintf("%s: %s%s", name, counts, strings.TrimRight(blocked, " ")), false
}

// allDone says that each picked member runs the newest snapshot and is available.
func allDone(s *api.PlacementStatus) bool {
	return s.Counts.Available >= s.Counts.Picked && s.Counts.Current >= s.Counts.Picked
}

// lacksMembers says that all picked members are done and that the policy wants more than there are:
// nothing more will roll out until the fleet changes.
func lacksMembers(obj *unstructured.Unstructured) bool {
	s := placementOf(obj)
	return s.ObservedGeneration >= obj.GetGeneration() && allDone(s) &&
		slices.ContainsFunc(s.Conditions, func(c metav1.Condition) bool { return c.Reason == reasonUnfulfilled })
}

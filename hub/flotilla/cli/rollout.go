package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// reasonUnfulfilled is the reason of a condition Scheduled that found too few members.
const reasonUnfulfilled = "SchedulingPolicyUnfulfilled"

type rolloutOptions struct {
	watch   bool
	timeout time.Duration
}

func (a placementCommands) rolloutCommand() *cobra.Command {
	return group("rollout", "Follow how a placement reaches its members", a.rolloutStatusCommand())
}

func (a placementCommands) rolloutStatusCommand() *cobra.Command {
	o := &rolloutOptions{}
	cmd := &cobra.Command{
		Use:   "status placement/NAME",
		Short: "Follow a rollout until every picked member runs the newest content",
		Long: `Follow a rollout until every picked member runs the newest content. It ends with exit code 1 once all
of them do and the policy wants more members than there are, and with exit code 4 once no member has
advanced for the progress deadline (annotation flotilla.io/progress-deadline, 10m), naming the members
that hold it up and what each lacks. Until then they are named in every line.`,
		Example: `  flotilla rollout status placement/web
  flotilla rollout status placement/web --watch=false`,
		RunE: a.do(func(ctx context.Context, args []string) error { return a.rolloutStatus(ctx, o, args) }),
	}
	a.namespaceFlag(cmd.Flags())
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", true, "follow until it is done; without, exit 1 when it is not")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "how long to follow, then exit 124; 0 for ever")
	return cmd
}

func (a placementCommands) rolloutStatus(ctx context.Context, o *rolloutOptions, args []string) error {
	r, err := placementRef(args, a.namespace)
	if err != nil {
		return err
	}
	ctx, cancel := withTimeout(ctx, o.timeout)
	defer cancel()
	var news *changes
	if o.watch {
		if news, err = a.changesOf(ctx, api.WatchedKind{APIVersion: r.apiVersion, Kind: r.kind}); err != nil {
			return err
		}
		news.hurry()
	}
	last := ""
	for {
		obj, err := a.fetch(ctx, r)
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
			a.next("flotilla why %s", r)
			return different()
		case standsStill(obj):
			a.endProgress()
			return stuck(r, obj)
		case !o.watch:
			a.endProgress()
			a.next("flotilla get %s --members", r)
			return different()
		}
		more, err := news.next(ctx)
		if err != nil {
			return err
		}
		if !more {
			return rolloutTimeout(ctx, r, o.timeout, last)
		}
	}
}

// stuck is the end of a rollout in which no member advanced for too long.
func stuck(r ref, obj *unstructured.Unstructured) error {
	message := ""
	for _, c := range sliceOfMaps(view{object: obj}.field("status", "conditions")) {
		if c["reason"] == api.ReasonDeadlineExceeded {
			message = stringOf(c["message"])
		}
	}
	return &Failure{
		Code: ExitPartial, Message: fmt.Sprintf("%s stands still: %s", r, message), Next: fmt.Sprintf("flotilla get %s --members", r),
	}
}

// noteUnconfirmed says of whom no confirmation of a withdrawal is near, which a rollout does not wait for.
func (a placementCommands) noteUnconfirmed(obj *unstructured.Unstructured) {
	s, now := placementStatusOf(obj), a.Now()
	if s == nil {
		return
	}
	list := slices.DeleteFunc(slices.Clone(s.Withdrawals), func(w api.Withdrawal) bool { return !w.Troubled(now) })
	if len(list) > 0 {
		a.note("its withdrawal is not confirmed by %s", unconfirmedText(now, list))
	}
}

// progress prints a line when it is new; on a terminal it is written over, with a bar, until the
// rollout is done.
func (a placementCommands) progress(obj *unstructured.Unstructured, line, last string, done bool) {
	switch {
	case !a.Terminal && line != last:
		a.printf("%s\n", line)
	case a.Terminal:
		v := view{object: obj}
		a.control("\r\033[K")
		a.printf("%s %s", bar(v.count("available"), v.count("picked")), line)
		if done {
			a.printf("\n")
		}
	}
}

// endProgress leaves the line that a terminal would write over.
func (a placementCommands) endProgress() {
	if a.Terminal {
		a.printf("\n")
	}
}

// rolloutTimeout says how far a rollout was when it was followed no longer.
func rolloutTimeout(ctx context.Context, r ref, timeout time.Duration, last string) error {
	next := fmt.Sprintf("flotilla get %s --members", r)
	last = strings.TrimPrefix(last, r.String()+": ")
	switch {
	case isInterrupted(ctx) && last == "":
		return &Failure{Code: ExitTimedOut, Message: fmt.Sprintf("interrupted before the hub said how far %s is", r), Next: next}
	case isInterrupted(ctx):
		return &Failure{Code: ExitTimedOut, Message: fmt.Sprintf("interrupted, %s: %s; the rollout goes on without this command", r, last), Next: next}
	case last == "":
		return &Failure{Code: ExitUnreachable, Message: fmt.Sprintf("no hub answered about %s within %s", r, timeout), Next: "flotilla version"}
	}
	return &Failure{Code: ExitTimedOut, Message: fmt.Sprintf("%s is not done after %s: %s", r, timeout, last), Next: next}
}

// rolloutLine says in one line how far a rollout is, and whether it is done: everything picked runs
// the newest snapshot and is available, as observed on the present generation.
func rolloutLine(obj *unstructured.Unstructured) (string, bool) {
	v := view{object: obj}
	name := refOf(obj).String()
	if v.number("status", "observedGeneration") < obj.GetGeneration() {
		return fmt.Sprintf("%s: waiting for the hub to look at generation %d", name, obj.GetGeneration()), false
	}
	picked := v.count("picked")
	counts := fmt.Sprintf("%d of %d current, %d applied, %d available", v.count("current"), picked, v.count("applied"), v.count("available"))
	if failed := v.count("failed"); failed > 0 {
		counts += fmt.Sprintf(", %d failed", failed)
	}
	blocked := ""
	for _, c := range sliceOfMaps(v.field("status", "conditions")) {
		if c["status"] != "True" {
			kind := shortCondition(obj.GetKind(), fmt.Sprint(c["type"]))
			blocked = fmt.Sprintf("; %s %v: %v", kind, c["status"], c["message"])
			break
		}
	}
	if held := heldUpBy(v); held != "" {
		return fmt.Sprintf("%s: %s; %s", name, counts, held), false
	}
	if blocked == "" && hasCondition(obj, api.ConditionScheduled) && v.count("available") >= picked && v.count("current") >= picked {
		return fmt.Sprintf("%s: rolled out, %s", name, counts), true
	}
	return fmt.Sprintf("%s: %s%s", name, counts, strings.TrimRight(blocked, " ")), false
}

// lacksMembers says that all picked members are done and that the policy wants more than there are:
// nothing more will roll out until the fleet changes.
func lacksMembers(obj *unstructured.Unstructured) bool {
	v := view{object: obj}
	if v.number("status", "observedGeneration") < obj.GetGeneration() {
		return false
	}
	for _, c := range sliceOfMaps(v.field("status", "conditions")) {
		if c["reason"] == reasonUnfulfilled {
			return v.count("available") >= v.count("picked") && v.count("current") >= v.count("picked")
		}
	}
	return false
}

package resource

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

// Goal is one object that is to go. Another object of its name may come: one made again, or a member
// that left and whose agent still reports.
type Goal struct {
	Ref
	UID string
}

func (g *Goal) gone(obj *unstructured.Unstructured, err error) bool {
	return session.IsNotFound(err) || err == nil && string(obj.GetUID()) != g.UID
}

// WaitGone polls until none of the objects is left, and says which members have not confirmed when
// the time is up.
func (a *Client) WaitGone(ctx context.Context, goals []Goal, timeout time.Duration) error {
	ctx, cancel := session.WithTimeout(ctx, timeout)
	defer cancel()
	for _, g := range goals {
		var last *unstructured.Unstructured
		for {
			obj, err := a.Fetch(ctx, g.Ref)
			if g.gone(obj, err) {
				break
			}
			if err == nil {
				last = obj
			} else if ctx.Err() == nil {
				return err
			}
			if !session.Pause(ctx, session.PollInterval) {
				return a.notGone(ctx, g.Ref, last, timeout)
			}
		}
	}
	return nil
}

// GoalsNow records which objects are there now; those that are not are gone already.
func (a *Client) GoalsNow(ctx context.Context, refs []Ref) ([]Goal, error) {
	var goals []Goal
	for _, r := range refs {
		obj, err := a.Fetch(ctx, r)
		switch {
		case session.IsNotFound(err):
		case err != nil:
			return nil, err
		case obj.GetUID() != "":
			goals = append(goals, Goal{r, string(obj.GetUID())})
		}
	}
	return goals, nil
}

// lastLook is an object that an interrupt kept from being looked at, nil when that is not known soon.
func (a *Client) lastLook(ctx context.Context, r Ref) *unstructured.Unstructured {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	obj, err := a.Fetch(ctx, r)
	if err != nil {
		return nil
	}
	return obj
}

// leftAlone says what becomes of an object, as it was last seen, that is waited for no longer.
func leftAlone(r Ref, last *unstructured.Unstructured) string {
	switch {
	case last == nil:
		return fmt.Sprintf("interrupted before the hub said whether %s is gone", r)
	case last.GetDeletionTimestamp() == nil:
		return fmt.Sprintf("interrupted: %s is not gone yet", r)
	case r.Kind != api.KindMemberCluster:
		return fmt.Sprintf("interrupted: %s is not gone yet, its deletion goes on without this command", r)
	case LeavesNothing(last):
		return fmt.Sprintf("interrupted: %s is leaving, and goes on without this command: what was placed on it is withdrawn, then it is gone", r)
	}
	return fmt.Sprintf("interrupted: %s is leaving, and goes on without this command: what was placed on it stays there", r)
}

func (a *Client) notGone(ctx context.Context, r Ref, last *unstructured.Unstructured, timeout time.Duration) error {
	message := fmt.Sprintf("%s is not gone after %s", r, timeout)
	if session.IsInterrupted(ctx) {
		if last == nil {
			last = a.lastLook(context.WithoutCancel(ctx), r)
		}
		message = leftAlone(r, last)
	}
	if last != nil {
		unconfirmed, _, _ := unstructured.NestedStringSlice(last.Object, "status", "unconfirmed")
		if len(unconfirmed) > 0 && r.Kind == api.KindNodePool {
			return &session.Failure{Code: session.ExitTimedOut, Message: message + "; it waits for " + strings.Join(unconfirmed, ", "), Next: "flotilla get disruptions"}
		}
		message += a.notConfirmed(context.WithoutCancel(ctx), r, string(last.GetUID()))
		if r.Kind == api.KindMemberNode {
			message += a.whyNotGone(context.WithoutCancel(ctx), last)
		}
	}
	return &session.Failure{Code: session.ExitTimedOut, Message: message, Next: "flotilla wait --for=delete " + r.String()}
}

// whyNotGone says what a node that is being deleted waits for.
func (a *Client) whyNotGone(ctx context.Context, last *unstructured.Unstructured) string {
	id, _, _ := unstructured.NestedString(last.Object, "status", "disruption")
	if id == "" {
		return ""
	}
	objects, err := a.fetchOnMembers(ctx, api.KindNodeDisruption, id, Selection{})
	if err != nil || len(objects) != 1 {
		return ""
	}
	phase, _, _ := unstructured.NestedString(objects[0].Object, "status", "phase")
	message, _, _ := unstructured.NestedString(objects[0].Object, "status", "message")
	return strings.TrimSuffix("; disruption "+id+" is "+phase+": "+message, ": ")
}

// LeavesNothing says that what is placed on a member goes when it leaves.
func LeavesNothing(member *unstructured.Unstructured) bool {
	how, _, _ := unstructured.NestedString(member.Object, "spec", "deleteOptions", "whenLeaving")
	return how == api.WhenLeavingDelete
}

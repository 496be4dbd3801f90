package deed

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/stage"
)

// Todo is one thing that waits for a person.
type Todo struct {
	Sign   overview.Sign `json:"sign"`
	Object string        `json:"object"` // as events name it, "run/spring"
	// What is what it is in a word or two, Message tells more.
	What    string      `json:"what"`
	Message string      `json:"message,omitempty"`
	Since   metav1.Time `json:"since,omitzero"`
	// Do is what somebody may do about it, by the names of the page's actions, Verb what that asks; both empty where somebody has
	// to look. Gate is that of an approval.
	Do   string `json:"do,omitempty"`
	Verb string `json:"verb,omitempty"`
	Gate string `json:"gate,omitempty"`
}

// TodoOf lists what waits for people: gates, held withdrawals, rollouts that stand still or are paused, runs that were not started,
// members that join, and freezes; of each the oldest first.
func TodoOf(f *overview.Fleet, gates []api.Gate) []Todo {
	var all []Todo
	list := func(some []Todo) {
		slices.SortStableFunc(some, func(a, b Todo) int { return cmp.Or(a.Since.Compare(b.Since.Time), strings.Compare(a.Object, b.Object)) })
		all = append(all, some...)
	}
	list(gatesToOpen(gates))
	list(each(f.Placements, held))
	list(each(f.Placements, still))
	list(each(f.Runs, unbegun))
	list(each(f.Members, joins))
	list(each(f.Status.Frozen, freezeToEnd))
	return all
}

func each[R any](rows []R, of func(*R) *Todo) (out []Todo) {
	for i := range rows {
		if t := of(&rows[i]); t != nil {
			out = append(out, *t)
		}
	}
	return out
}

func gatesToOpen(gates []api.Gate) []Todo {
	return each(gates, func(g *api.Gate) *Todo {
		if g.Status.State != api.StatePending {
			return nil
		}
		t := &Todo{
			Sign: overview.Waiting, Object: api.AuditObject(api.AuditRun, g.Spec.Target.Run), What: "gate waits", Since: g.Status.StartTime,
			Message: strings.TrimSpace(stage.GatePath(g) + " " + g.Spec.DisplayName), Do: "approve", Verb: api.VerbRunApprove, Gate: stage.GatePath(g),
		}
		if g.Spec.GateType == api.GateScheduledStart && g.Spec.ScheduledStartProperties != nil {
			t.What = "opens " + g.Spec.ScheduledStartProperties.AbsoluteStartTime.UTC().Format("2006-01-02 15:04Z")
		}
		return t
	})
}

func objectOf(p *overview.Placement) string { return api.AuditObject(api.AuditPlacement, p.Key) }

func held(p *overview.Placement) *Todo {
	if !p.Held {
		return nil
	}
	return &Todo{Sign: overview.Warn, Object: objectOf(p), What: "withdrawal held", Message: p.Message, Since: p.Since, Do: "approve-withdrawal", Verb: api.VerbApproveWithdrawal}
}

// still is a rollout that does not go on by itself: paused, or stopped for want of progress.
func still(p *overview.Placement) *Todo {
	switch {
	case p.Paused != nil && p.Frozen == "":
		return &Todo{Sign: overview.Waiting, Object: objectOf(p), What: "rollout paused", Message: p.Paused.String(), Since: p.Paused.Since, Do: "resume", Verb: api.VerbRolloutResume}
	case p.State == api.ConditionRolloutProgressing+"=False":
		return &Todo{Sign: overview.Bad, Object: objectOf(p), What: "rollout stands still", Message: cmp.Or(p.Waits, p.Message), Since: p.Since}
	}
	return nil
}

func unbegun(r *overview.Run) *Todo {
	if r.State != api.StateNotStarted {
		return nil
	}
	return &Todo{Sign: overview.Waiting, Object: api.AuditObject(api.AuditRun, r.Key), What: "run not started", Message: cmp.Or(r.Message, r.Target), Since: r.Created, Do: "start", Verb: api.VerbRunStart}
}

func joins(m *overview.Member) *Todo {
	if m.Admitted {
		return nil
	}
	return &Todo{Sign: overview.Waiting, Object: api.AuditObject(api.AuditMember, m.Name), What: "member joins", Message: m.Message, Since: m.Since, Do: "admit", Verb: api.VerbAdmit}
}

func freezeToEnd(f *api.Freeze) *Todo {
	object := api.AuditObject("fleet", f.Scope)
	if member := f.Member(); member != "" {
		object = api.AuditObject(api.AuditMember, member)
	}
	return &Todo{Sign: overview.Waiting, Object: object, What: "frozen", Message: fmt.Sprintf("by %s: %s", f.By, f.Reason), Since: f.Since, Do: "unfreeze", Verb: api.VerbUnfreeze}
}

// DoWords is Do as people read it.
func (t *Todo) DoWords() string { return strings.ReplaceAll(t.Do, "-", " ") }

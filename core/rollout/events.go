package rollout

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// Reasons of the events of a rollout.
const (
	EventReleased  = "PlacementReleased"
	EventWithdrawn = "PlacementWithdrawn"
	EventConfirmed = "PlacementWithdrawalConfirmed"
	EventDropped   = "PlacementMemberGone"
)

// events tells one story a step and kind of step, whatever the number of members, causes first: who gave
// the placement up makes room for who gets it.
func (r *rollout) events(p *Plan) []api.Audit {
	var out []api.Audit
	tell := func(kind, reason, before string, members []string, after string) {
		if len(members) == 0 {
			return
		}
		e := api.Audit{
			Header: api.NewHeader(api.KindAudit), At: metav1.NewTime(r.in.Now).Rfc3339Copy(),
			Object: api.AuditObject(api.AuditPlacement, p.Release.Placement), Type: kind, Reason: reason,
			Message: before + phrase.List(members, shownMembers) + after, By: "roller", Step: p.Release.Step,
		}
		if reason == EventReleased {
			e.Snapshot = r.latest.Index
		}
		if len(members) == 1 {
			e.Member = members[0]
		}
		out = append(out, e)
	}
	tell("Normal", EventConfirmed, "", p.Confirmed, " gave it up")
	tell("Warning", EventDropped, "", p.Dropped, " left the fleet before the withdrawal was confirmed; what runs there was not touched")
	if r.latest != nil {
		tell("Warning", EventRolledBack, fmt.Sprintf("the checks of snapshot %d failed: ", r.latest.Index), p.Back, phrase.Plural(len(p.Back), " goes", " go")+" back to what was there before")
	}
	tell("Normal", EventWithdrawn, "withdrawn from ", p.Withdraw, "")
	if r.latest != nil {
		tell("Normal", EventReleased, fmt.Sprintf("snapshot %d released to ", r.latest.Index), p.Advance, r.progress())
	}
	return out
}

// progress counts the members that are released to the newest snapshot now.
func (r *rollout) progress() string {
	bound, current := 0, 0
	for _, s := range r.slots {
		if s.binding == nil {
			continue
		}
		bound++
		if s.bound() && !r.stale(s) {
			current++
		}
	}
	return fmt.Sprintf(" (%d of %d)", current, bound)
}

package upgrade

import (
	"fmt"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/version"
	"flotilla/core/window"
)

// verdict is what the checks say of a member that a slot is offered to.
type verdict struct {
	// state is Running (go), Pending (not yet), Skipped (nothing to do or never) or Failed.
	state   api.UpdateState
	reason  string
	message string
	// next is when a Pending member should be looked at again; zero when no time is known.
	next  time.Time
	class window.Class
	moves moves
}

func wait(reason, format string, args ...any) *verdict {
	return &verdict{state: api.StatePending, reason: reason, message: fmt.Sprintf(format, args...)}
}

func skip(reason, format string, args ...any) *verdict {
	return &verdict{state: api.StateSkipped, reason: reason, message: fmt.Sprintf(format, args...)}
}

func fail(reason, format string, args ...any) *verdict {
	return &verdict{state: api.StateFailed, reason: reason, message: fmt.Sprintf(format, args...)}
}

// candidate is a member that a slot is offered to, with what the checks need.
type candidate struct {
	status  *api.MemberUpdateStatus
	member  *Member
	opening window.Opening
}

// check judges one candidate. The order of the checks is that of updates.md 2.7: still a member, at
// the target already, a consistent image exists, version rules, reachable, busy or locked, available
// in the region, maintenance window.
func (e *engine) check(c *candidate) verdict {
	if v := removed(c.member, c.status.ClusterResourceID); v != nil {
		return *v
	}
	if c.member.ControlPlane.IsZero() && (e.goal.kind != api.UpgradeNodeImageOnly || len(c.member.Pools) == 0) {
		return *wait(api.ReasonMemberUnreachable, "its agent has not reported what runs on it yet")
	}
	m := e.goal.movesOf(c.member, e.view.Catalog)
	checks := []func(*candidate, *moves) *verdict{
		e.atTarget, e.consistentImage, e.versionRules, e.reachable, e.busy, e.available, e.inWindow,
	}
	for _, judge := range checks {
		if v := judge(c, &m); v != nil {
			v.class = c.opening.Class
			return *v
		}
	}
	return verdict{state: api.StateRunning, class: c.opening.Class, moves: m, message: m.describe(c.member.ControlPlane, e.goal.version)}
}

// removed is the verdict on a member that the run froze and that is no more, or not for long; nil when it
// is there to stay.
func removed(m *Member, id string) *verdict {
	switch {
	case m == nil || !m.is(id):
		return skip(api.ReasonMemberRemoved, "the member left the fleet, or another one bears its name")
	case m.Leaving:
		return skip(api.ReasonMemberRemoved, "the member is leaving the fleet")
	default:
		return nil
	}
}

func (e *engine) atTarget(c *candidate, m *moves) *verdict {
	versionsDone := !m.controlPlane && !m.poolVersions
	switch {
	case m.ahead && !m.poolVersions:
		return skip(api.ReasonAheadOfTarget, "its control plane is at %s, ahead of %s", c.member.ControlPlane, e.goal.version)
	case !versionsDone || m.poolImages || len(m.withoutChoice) > 0:
		return nil
	case e.goal.kind == api.UpgradeNodeImageOnly && e.goal.images == api.ImagesCustom && !m.listed:
		return skip(api.ReasonNoMatchingPools, "no node pool has an image family that the run lists")
	default:
		return skip(api.ReasonAlreadyAtTarget, "%s", atTargetMessage(&e.goal, m))
	}
}

func atTargetMessage(g *goal, m *moves) string {
	var left []string
	for i := range m.pools {
		left = append(left, describePool(&m.pools[i]))
	}
	if g.kind != api.UpgradeNodeImageOnly {
		left = append([]string{"the control plane is at " + g.version.String()}, left...)
	}
	return strings.Join(left, "; ")
}

func (e *engine) consistentImage(_ *candidate, m *moves) *verdict {
	if len(m.withoutChoice) == 0 {
		return nil
	}
	return skip(api.ReasonConsistentNotFound, "the run selected no image for %s", strings.Join(m.withoutChoice, ", "))
}

func (e *engine) reachable(c *candidate, _ *moves) *verdict {
	p := &e.st.Policy
	if c.member.Inventory.PowerState == api.PowerStopped {
		return byPolicy(p.OnStopped, api.PolicySkip, api.ReasonMemberStopped, "the member is powered off")
	}
	if !c.member.Reachable {
		text := "nothing was ever heard of its agent"
		if !c.member.LastSeen.IsZero() {
			text = "its agent was last heard of at " + c.member.LastSeen.UTC().Format(time.RFC3339)
		}
		return byPolicy(p.OnUnreachable, api.PolicyWait, api.ReasonMemberUnreachable, text)
	}
	return nil
}

func byPolicy(policy, otherwise, reason, message string) *verdict {
	if policy == "" {
		policy = otherwise
	}
	switch policy {
	case api.PolicySkip:
		return skip(reason, "%s", message)
	case api.PolicyFail:
		return fail(reason, "%s", message)
	default:
		return wait(reason, "%s", message)
	}
}

func (e *engine) busy(c *candidate, _ *moves) *verdict {
	if until := c.status.NextEligibleTime.Time; c.status.Reason == api.ReasonPreflightBlocked && e.now.Before(until) {
		v := wait(api.ReasonPreflightBlocked, "%s", c.status.Message)
		v.next = until
		return v
	}
	if c.status.Locked {
		return wait(api.ReasonOperationInProgress, "attempt %d has not been confirmed as ended yet", c.status.Attempt)
	}
	if op := c.member.Inventory.CurrentOperation; op != "" && op != c.status.OperationID {
		return wait(api.ReasonOperationInProgress, "operation %s is in progress on the member", op)
	}
	if owner, locked := e.view.Locks[c.member.Name]; locked {
		return wait(api.ReasonLockedByRun, "%s holds the member", owner)
	}
	return nil
}

func (e *engine) available(c *candidate, m *moves) *verdict {
	region, catalog := c.member.Inventory.Region, e.view.Catalog
	if (m.controlPlane || m.poolVersions) && !catalog.Has(region, e.goal.version) {
		return wait(api.ReasonKubernetesNotHere, "Kubernetes %s is not available in region %s yet%s", e.goal.version, region, catalog.Tracker())
	}
	for i := range m.pools {
		image, ok := version.ParseImage(m.pools[i].To)
		if ok && !catalog.HasImage(region, image) {
			return wait(api.ReasonImageNotHere, "pool %s: image %s is not available in region %s yet%s",
				m.pools[i].Pool, m.pools[i].To, region, catalog.Tracker())
		}
	}
	return nil
}

func (e *engine) inWindow(c *candidate, _ *moves) *verdict {
	o, schedule := c.opening, c.member.window(e.goal.kind)
	if !o.Class.MayStart() {
		v := wait(api.ReasonWindowClosed, "its maintenance window %s", opensAt(schedule, o.Opens))
		v.next = o.Opens
		return v
	}
	least := api.Span(e.st.Policy.MinRemaining)
	if o.Class == window.Open && !o.Closes.IsZero() && o.Closes.Sub(e.now) < least {
		next := schedule.Next(o.Closes)
		v := wait(api.ReasonWindowClosed, "its window closes at %s, sooner than in %s; the next one %s",
			o.Closes.Format(time.RFC3339), least, opensAt(schedule, next.Opens))
		v.next = next.Opens
		return v
	}
	return nil
}

// opensAt tells an opening in UTC and on the clock of the schedule.
func opensAt(schedule *window.Schedule, at time.Time) string {
	if at.IsZero() {
		return "does not open within 400 days"
	}
	return "opens at " + at.Format(time.RFC3339) + schedule.Local(at).Format(" (Mon 15:04 MST)")
}

// opening returns what the member's schedule says, none when windows are ignored.
func (e *engine) opening(m *Member) window.Opening {
	if m == nil || e.st.WindowsIgnored != "" {
		return window.Opening{Class: window.None}
	}
	return m.window(e.goal.kind).Next(e.now)
}

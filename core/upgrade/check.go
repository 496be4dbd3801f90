package upgrade

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/core/phrase"
	"flotilla/core/stage"
	"flotilla/core/version"
	"flotilla/core/window"
)

// candidate is a member that a slot is offered to, with what the checks need.
type candidate struct {
	status  *api.MemberUpdateStatus
	member  *Member
	opening window.Opening
}

// Check judges a member in this order: still a member, at the target already, a consistent image
// exists, what was chosen is there for a region that nobody wrote, version rules, not frozen, reachable, busy or locked, available in the region, maintenance window.
func (e *engine) Check(status *api.MemberUpdateStatus, opening window.Opening) stage.Verdict {
	if v := e.Removed(status); v != nil {
		return *v
	}
	c := &candidate{status: status, member: e.view.Fleet.members[status.Name], opening: opening}
	if c.member.ControlPlane.IsZero() && (e.goal.kind != api.UpgradeNodeImageOnly || len(c.member.Pools) == 0) {
		return *stage.Wait(api.ReasonMemberUnreachable, "its agent has not reported what runs on it yet")
	}
	m := e.goal.movesOf(c.member, e.view.Catalog)
	checks := []func(*candidate, *moves) *stage.Verdict{
		e.atTarget, e.consistentImage, e.regionWritten, e.versionRules, e.thawed, e.reachable, e.busy, e.available, e.inWindow,
	}
	for _, judge := range checks {
		if v := judge(c, &m); v != nil {
			v.Class = opening.Class
			return *v
		}
	}
	return stage.Verdict{
		State: api.StateRunning, Class: opening.Class, Message: m.describe(c.member.ControlPlane, e.goal.version),
		Begin: func(status *api.MemberUpdateStatus) { e.begin(status, c.member, &m) },
	}
}

// begin writes down from what and to what a member moves.
func (e *engine) begin(status *api.MemberUpdateStatus, f *Member, m *moves) {
	status.FromVersion, status.ToVersion = "", ""
	if !f.ControlPlane.IsZero() {
		status.FromVersion = f.ControlPlane.String()
	}
	if m.controlPlane {
		status.ToVersion = e.goal.version.String()
	}
	status.NodeImages = systemFirst(m.pools, f.Pools)
}

// systemFirst orders the pools of an operation: system pools come first.
func systemFirst(moves []api.PoolUpgrade, pools []Pool) []api.PoolUpgrade {
	mode := make(map[string]bool, len(pools))
	for i := range pools {
		mode[pools[i].Name] = pools[i].Mode == "System"
	}
	slices.SortStableFunc(moves, func(a, b api.PoolUpgrade) int {
		switch {
		case mode[a.Pool] == mode[b.Pool]:
			return 0
		case mode[a.Pool]:
			return -1
		default:
			return 1
		}
	})
	return moves
}

func (e *engine) atTarget(c *candidate, m *moves) *stage.Verdict {
	versionsDone := !m.controlPlane && !m.poolVersions
	switch {
	case m.ahead && !m.poolVersions:
		return stage.Skip(api.ReasonAheadOfTarget, "its control plane is at %s, ahead of %s", c.member.ControlPlane, e.goal.version)
	case !versionsDone || m.poolImages || len(m.withoutChoice) > 0:
		return nil
	case e.goal.kind == api.UpgradeNodeImageOnly && e.goal.images == api.ImagesCustom && !m.listed:
		return stage.Skip(api.ReasonNoMatchingPools, "no node pool has an image family that the run lists")
	default:
		return stage.Skip(api.ReasonAlreadyAtTarget, "%s", atTargetMessage(&e.goal, m))
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

// mostPools and mostLetters are how much is told of what an agent states, so that there is room for what to do about it.
const (
	mostPools   = 3
	mostLetters = 63
)

// consistentImage leaves out a member that no image was selected for, or whose region has none to select from, and says
// what to do for it.
func (e *engine) consistentImage(c *candidate, m *moves) *stage.Verdict {
	region := c.member.Inventory.Region
	if len(m.withoutChoice) > 0 {
		return stage.Skip(api.ReasonConsistentNotFound, "the run selected no image for %s%s: correct the region of the member, or what the VersionCatalog lists for it, "+
			"then create another run, which selects again", phrase.Names(m.withoutChoice, mostPools), inRegion(region))
	}
	if lacks := e.withoutOffer(region, m); len(lacks) > 0 {
		return stage.Skip(api.ReasonConsistentNotFound, "the VersionCatalog lists no image for %s%s: correct the region of the member, or the catalog, "+
			"then: flotilla run rerun %s --members %s", phrase.Names(lacks, mostPools), inRegion(region), e.Status.Run, c.member.Name)
	}
	return nil
}

// withoutOffer are the pools that are to get a consistent image in a region that has none of their family.
func (e *engine) withoutOffer(region string, m *moves) (pools []string) {
	if e.goal.images != api.ImagesConsistent {
		return nil
	}
	for i := range m.pools {
		image, ok := version.ParseImage(m.pools[i].To)
		if ok && !e.view.Catalog.HasFamily(region, image.Family) {
			pools = append(pools, poolText(m.pools[i].Pool, image.Family))
		}
	}
	return pools
}

// inRegion is " in region weu", and nothing for a member without one.
func inRegion(region string) string {
	if region == "" {
		return ""
	}
	return fmt.Sprintf(" in region %.*s", mostLetters, region)
}

func (e *engine) thawed(c *candidate, _ *moves) *stage.Verdict {
	if freeze := e.view.Freezes.On(api.FreezeRuns, c.member.Name); freeze != nil {
		return stage.Wait(api.ReasonFrozen, "%s", guard.Waits(freeze))
	}
	return nil
}

func (e *engine) reachable(c *candidate, _ *moves) *stage.Verdict {
	p := &e.Status.Policy
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

func byPolicy(policy, otherwise, reason, message string) *stage.Verdict {
	if policy == "" {
		policy = otherwise
	}
	switch policy {
	case api.PolicySkip:
		return stage.Skip(reason, "%s", message)
	case api.PolicyFail:
		return stage.Fail(reason, "%s", message)
	default:
		return stage.Wait(reason, "%s", message)
	}
}

func (e *engine) busy(c *candidate, _ *moves) *stage.Verdict {
	if until := c.status.NextEligibleTime.Time; c.status.Reason == api.ReasonPreflightBlocked && e.Now.Before(until) {
		v := stage.Wait(api.ReasonPreflightBlocked, "%s", c.status.Message)
		v.Next = until
		return v
	}
	if c.status.Locked {
		return stage.Wait(api.ReasonOperationInProgress, "attempt %d has not been confirmed as ended yet", c.status.Attempt)
	}
	if op := c.member.Inventory.CurrentOperation; op != "" && op != c.status.OperationID {
		return stage.Wait(api.ReasonOperationInProgress, "operation %s is in progress on the member", op)
	}
	if owner, locked := e.view.Locks[c.member.Name]; locked {
		return stage.Wait(api.ReasonLockedByRun, "%s holds the member", owner)
	}
	return nil
}

func (e *engine) available(c *candidate, m *moves) *stage.Verdict {
	region, catalog := c.member.Inventory.Region, e.view.Catalog
	if (m.controlPlane || m.poolVersions) && !catalog.Has(region, e.goal.version) {
		return stage.Wait(api.ReasonKubernetesNotHere, "Kubernetes %s is not available in region %s yet%s", e.goal.version, region, catalog.Tracker())
	}
	for i := range m.pools {
		image, ok := version.ParseImage(m.pools[i].To)
		if ok && !catalog.HasImage(region, image) {
			return stage.Wait(api.ReasonImageNotHere, "pool %s: image %s is not available in region %s yet%s",
				m.pools[i].Pool, m.pools[i].To, region, catalog.Tracker())
		}
	}
	return nil
}

func (e *engine) inWindow(c *candidate, _ *moves) *stage.Verdict {
	o, schedule := c.opening, c.member.window(e.goal.kind)
	if !o.Class.MayStart() {
		v := stage.Wait(api.ReasonWindowClosed, "its maintenance window %s", schedule.Opens(o.Opens))
		v.Next = o.Opens
		return v
	}
	least := api.Span(e.Status.Policy.MinRemaining)
	if o.Class == window.Open && !o.Closes.IsZero() && o.Closes.Sub(e.Now) < least {
		next := schedule.Next(o.Closes)
		v := stage.Wait(api.ReasonWindowClosed, "its window closes at %s, sooner than in %s; the next one %s",
			o.Closes.Format(time.RFC3339), least, schedule.Opens(next.Opens))
		v.Next = next.Opens
		return v
	}
	return nil
}

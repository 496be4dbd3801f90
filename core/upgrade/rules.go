package upgrade

import (
	"strings"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/version"
)

// versionRules judges the way of the control plane, long term support, the skew to pools, and the age of
// images.
func (e *engine) versionRules(c *candidate, m *moves) *stage.Verdict {
	if v := e.goal.moveRule(c.member, e.view.Catalog, e.Status.Policy.OnIneligible); v != nil {
		return v
	}
	if v := e.goal.supportRule(c.member, e.view.Catalog); v != nil {
		return v
	}
	if e.goal.kind == api.UpgradeControlPlaneOnly {
		for i := range c.member.Pools {
			p := &c.member.Pools[i]
			if !p.Kubernetes.IsZero() && !version.SkewHolds(e.goal.version, p.Kubernetes) {
				return stage.Fail(api.ReasonNodeSkewExceeded, "pool %s at %s would be %d minors behind control plane %s, %d are allowed",
					p.Name, p.Kubernetes, e.goal.version.Minor-p.Kubernetes.Minor, e.goal.version, version.MaxSkew)
			}
		}
	}
	return e.expiredImage(m)
}

// moveRule judges the way of the control plane. Runs of profiles, and those that skip whom they cannot move, fail for nobody.
func (g *goal) moveRule(m *Member, catalog *version.Catalog, onIneligible string) *stage.Verdict {
	if g.kind == api.UpgradeNodeImageOnly {
		return nil
	}
	skips := g.auto || onIneligible == api.PolicySkip
	switch m.ControlPlane.MoveTo(g.version) {
	case version.MoveMajor:
		if skips {
			return stage.Skip(api.ReasonUnsupportedVersion, "from %s to %s is a change of the major version", m.ControlPlane, g.version)
		}
		return stage.Fail(api.ReasonUnsupportedVersion, "from %s to %s is a change of the major version", m.ControlPlane, g.version)
	case version.MoveMinorGap:
		if isLTS(catalog, m.ControlPlane) && isLTS(catalog, g.version) {
			return nil
		}
		if skips {
			return stage.Skip(api.ReasonMinorVersionGap, "from %s to %s are more than one minor", m.ControlPlane, g.version)
		}
		return stage.Fail(api.ReasonMinorSkipNotAllowed, "from %s to %s are more than one minor; upgrade to %d.%d first",
			m.ControlPlane, g.version, m.ControlPlane.Major, m.ControlPlane.Minor+1)
	default:
		return nil
	}
}

// supportRule judges long term support, and for runs of profiles the window of supported minors.
func (g *goal) supportRule(m *Member, catalog *version.Catalog) *stage.Verdict {
	if g.kind != api.UpgradeNodeImageOnly && isLTS(catalog, g.version) && !m.Inventory.LongTermSupport {
		return stage.Fail(api.ReasonLtsRequired, "%s has long term support only, and the member is not on such a plan", g.version)
	}
	if !g.auto || m.Inventory.LongTermSupport || m.ControlPlane.IsZero() {
		return nil
	}
	top, ok := catalog.ChannelTarget(api.ChannelRapid, "", false)
	if ok && m.ControlPlane.Minor < top.Minor-2 {
		return stage.Skip(api.ReasonUnsupportedVersion, "%s is older than the three minors that are supported, up to %d.%d", m.ControlPlane, top.Major, top.Minor)
	}
	return nil
}

func isLTS(catalog *version.Catalog, v version.Version) bool {
	r, ok := catalog.Find(v)
	return ok && r.State == api.ReleaseLTS
}

func (e *engine) expiredImage(m *moves) *stage.Verdict {
	for i := range m.pools {
		image, ok := version.ParseImage(m.pools[i].To)
		if !ok {
			continue
		}
		if age, known := e.view.Catalog.ImageAge(image, e.Now); known && age > imageExpiryAge {
			return stage.Fail(api.ReasonImageExpired, "pool %s: image %s was published %d days ago, images expire after 90",
				m.pools[i].Pool, m.pools[i].To, int(age.Hours()/24))
		}
	}
	return nil
}

// preflight refuses the first start of a manual run whose members the version rules forbid, unless
// the run skips such members, and one whose target is below every member (A51). A member that is ahead is
// no reason to refuse, as nothing moves it; members that users skipped do not count (A25).
func (e *engine) preflight() *api.Refusal {
	if e.goal.auto || e.goal.kind == api.UpgradeNodeImageOnly {
		return nil
	}
	var gap, ahead []string
	counted := 0
	for _, m := range e.wanted() {
		counted++
		moves := e.goal.movesOf(m, e.view.Catalog)
		switch v := e.goal.moveRule(m, e.view.Catalog, e.Status.Policy.OnIneligible); {
		case moves.ahead && !moves.poolVersions: // there is nothing to forbid: it is skipped, also by another major version
			ahead = append(ahead, m.Name)
		case v != nil && v.State == api.StateFailed:
			gap = append(gap, m.Name)
		}
	}
	switch {
	case len(gap) > 0:
		return &api.Refusal{
			Code: api.CodeIneligible, Members: gap,
			Message: "the version rules forbid the way to " + e.goal.version.String() + " for " + strings.Join(gap, ", ") +
				"; upgrade them to the minor between first, or set spec.policy.onIneligible: Skip",
			Next: "flotilla get members -o wide",
		}
	case counted > 0 && len(ahead) == counted:
		return &api.Refusal{
			Code: api.CodeIneligible, Members: ahead, Message: "every member is ahead of " + e.goal.version.String(),
			Next: "flotilla get members -o wide",
		}
	}
	return nil
}

// wanted returns the members of the run that are in the fleet and that no user skipped.
func (e *engine) wanted() []*Member {
	var out []*Member
	e.Each(func(s *api.MemberUpdateStatus) {
		m := e.frozen(s)
		if m != nil && s.SkippedBy != api.SkippedByUser && !m.ControlPlane.IsZero() {
			out = append(out, m)
		}
	})
	return out
}

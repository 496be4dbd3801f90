package plan

import (
	"cmp"
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/schedule"
)

func (c *collector) allMembers() []api.Member {
	members := make([]api.Member, 0, len(c.members))
	for _, docs := range c.members {
		members = append(members, api.MemberOf(docs.merged()))
	}
	slices.SortFunc(members, func(a, b api.Member) int { return cmp.Compare(a.Name, b.Name) })
	return members
}

// merged is the member as it is to be, with the status it has.
func (docs *memberDocs) merged() *api.MemberCluster {
	switch {
	case docs.exported == nil:
		return docs.wanted
	case docs.wanted == nil:
		return docs.exported
	}
	merged := *docs.exported
	merged.Labels, merged.Spec = docs.wanted.Labels, docs.wanted.Spec
	status := *merged.Status
	status.Labels = nil
	merged.Status = &status
	return &merged
}

// allSubjects pairs every placement with its bindings. Files do not tell what a placement that is bound
// already holds, so only the content of a fresh one is shown.
func (c *collector) allSubjects() []Subject {
	subjects := make([]Subject, 0, len(c.placements))
	for key, docs := range c.placements {
		s := Subject{Placement: docs.after(), Existing: c.existingOf(key, docs)}
		if c.index.Len() > 0 && len(s.Existing) == 0 {
			s.Content = Compare(&s.Placement, nil, c.index)
		}
		subjects = append(subjects, s)
	}
	slices.SortFunc(subjects, func(a, b Subject) int { return cmp.Compare(a.Placement.Key(), b.Placement.Key()) })
	return subjects
}

// after is the placement as it is to be.
func (docs *placementDocs) after() api.Placement {
	if docs.wanted == nil {
		return *docs.exported
	}
	p := *docs.wanted
	if docs.exported != nil {
		p.UID, p.Generation = docs.exported.UID, docs.exported.Generation+1
	}
	return p
}

// existingOf reads present bindings from the best source there is.
func (c *collector) existingOf(key string, docs *placementDocs) []schedule.Existing {
	var current string
	if docs.exported != nil {
		current = schedule.PolicyDigest(docs.exported.Spec.Policy)
	}
	if bound := c.bindings[key]; len(bound) > 0 {
		return existingOfBindings(key, bound, c.policies, current)
	}
	if s := c.schedules[key]; s != nil {
		return Existing(s, nil, "")
	}
	if docs.status != nil {
		return existingOfStatus(docs.status, current)
	}
	return nil
}

// leftOver says what was found in the files and is of no use to a plan.
func (c *collector) leftOver() []string {
	var notes []string
	for key, bound := range c.bindings {
		if c.placements[key] == nil {
			notes = append(notes, fmt.Sprintf("%d %s of placement %s, which is not in the files, left out", len(bound), plural(len(bound), "binding", "bindings"), key))
		}
	}
	for kind, n := range c.ignored {
		notes = append(notes, fmt.Sprintf("%d %s left out: a plan does not need them", n, kind))
	}
	notes = append(notes, c.upgradeNotes()...)
	slices.Sort(notes)
	return notes
}

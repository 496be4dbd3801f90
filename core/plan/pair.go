package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"flotilla/core/api"
	"flotilla/core/phrase"
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
	for _, key := range slices.Sorted(maps.Keys(c.placements)) {
		docs := c.placements[key]
		s := Subject{Placement: docs.after(), Existing: c.existingOf(key, docs)}
		if c.index.Len() > 0 && len(s.Existing) == 0 {
			s.Content = Compare(&s.Placement, nil, c.index)
		}
		s.Released = c.releasedOf(docs, &s)
		subjects = append(subjects, s)
	}
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
	if bound := c.bindings[key]; len(bound) > 0 {
		existing, missing := existingOfBindings(bound, c.policies)
		if len(missing) > 0 {
			c.notes = append(c.notes, unknownPolicies(new(docs.after()), missing))
		}
		return existing
	}
	if s := c.schedules[key]; s != nil {
		return Existing(s, nil, "")
	}
	if docs.status != nil {
		return c.existingOfStatus(docs)
	}
	return nil
}

// existingOfStatus reads the bindings that an exported placement's status lists. A status that is older
// than the spec tells of another policy.
func (c *collector) existingOfStatus(docs *placementDocs) []schedule.Existing {
	p := docs.exported
	policy := schedule.PolicyDigest(p.Spec.Policy)
	seen := docs.status.ObservedGeneration
	if seen >= p.Generation {
		return existingOfStatus(docs.status, policy)
	}
	existing := existingOfStatus(docs.status, obsoletePolicy+"status")
	if n := len(existing); n > 0 {
		c.notes = append(c.notes, fmt.Sprintf("%s/%s: %d %s judged anew, as of an older policy, because the status is of generation %d and the spec of %d",
			p.Kind, p.Key(), n, phrase.Plural(n, "binding is", "bindings are"), seen, p.Generation))
	}
	return existing
}

// leftOver says what was found in the files and is of no use to a plan.
func (c *collector) leftOver() []string {
	var notes []string
	for key, bound := range c.bindings {
		if c.placements[key] == nil {
			notes = append(notes, phrase.Count(len(bound), "binding")+" of placement "+key+", which is not in the files, left out")
		}
	}
	for kind, n := range c.ignored {
		notes = append(notes, fmt.Sprintf("%d %s left out: a plan does not need them", n, kind))
	}
	notes = append(notes, c.upgradeNotes()...)
	slices.Sort(notes)
	return notes
}

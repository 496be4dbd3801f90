package whatif

import (
	"cmp"
	"maps"
	"slices"

	"flotilla/core/api"
	"flotilla/core/schedule"
)

// domainKey is a label on a fleet.
type domainKey struct {
	fleet *schedule.Fleet
	label string
}

// domainsOf are the values that members of a fleet have of a label, by member.
func (b *builder) domainsOf(fleet *schedule.Fleet, label string) map[string]string {
	key := domainKey{fleet, label}
	if known, there := b.domains[key]; there {
		return known
	}
	domains := fleet.Values(label)
	b.domains[key] = domains
	return domains
}

// spread compares how evenly a placement lies before and after, by the constraints that it has in the end.
func (b *builder) spread(policy *api.Policy, before, after *standing) []Spread {
	found := []Spread{}
	if policy.Type() != api.PickN {
		return found
	}
	for i := range policy.TopologySpreadConstraints {
		c := &policy.TopologySpreadConstraints[i]
		s := Spread{
			TopologyKey: c.TopologyKey, WhenUnsatisfiable: cmp.Or(c.WhenUnsatisfiable, api.DoNotSchedule), MaxSkew: api.DefaultMaxSkew,
		}
		if c.MaxSkew != nil {
			s.MaxSkew = *c.MaxSkew
		}
		if before.in.Fleet != nil {
			s.Skew.Before, _, _ = b.skew(c.TopologyKey, before)
		}
		s.Skew.After, s.Emptiest, s.Fullest = b.skew(c.TopologyKey, after)
		s.Broken = s.Skew.Before <= int(s.MaxSkew) && s.Skew.After > int(s.MaxSkew)
		if s.Skew.Before != s.Skew.After || s.Broken {
			found = append(found, s)
		}
	}
	return found
}

// skew is by how many picks the fullest domain has more than the emptiest, of those that count for all members.
func (b *builder) skew(topologyKey string, of *standing) (difference int, emptiest, fullest string) {
	domains, counts := b.domainsOf(of.in.Fleet, topologyKey), map[string]int{}
	for _, value := range domains {
		counts[value] = 0
	}
	for i := range of.decided.Bindings {
		if d := &of.decided.Bindings[i]; !d.Waiting {
			if value, labelled := domains[d.Member]; labelled {
				counts[value]++
			}
		}
	}
	for _, value := range of.in.Fleet.Uncounted(topologyKey, &of.decided.Verdicts) {
		delete(counts, value)
	}
	values := slices.Sorted(maps.Keys(counts))
	if len(values) == 0 {
		return 0, "", ""
	}
	byCount := func(a, b string) int { return cmp.Compare(counts[a], counts[b]) }
	emptiest, fullest = slices.MinFunc(values, byCount), slices.MaxFunc(values, byCount)
	return counts[fullest] - counts[emptiest], emptiest, fullest
}

func brokenAny(all []Spread) bool {
	return slices.ContainsFunc(all, func(s Spread) bool { return s.Broken })
}

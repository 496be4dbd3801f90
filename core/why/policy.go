package why

import (
	"fmt"
	"slices"
	"strconv"

	"flotilla/core/api"
)

// names: clusterNames gains or loses the member.
func (s *search) names(add bool) candidate {
	text := "removed from"
	p := s.changedPolicy(func(p *api.Policy) {
		p.ClusterNames = slices.DeleteFunc(p.ClusterNames, func(name string) bool { return name == s.name })
		if add {
			p.ClusterNames = append(p.ClusterNames, s.name)
		}
	})
	if add {
		text = "added to"
	}
	return s.single(costNames, Flip{
		Kind: FlipNames, policy: p, Text: fmt.Sprintf("%s %s spec.policy.clusterNames", s.name, text),
		Command: s.command("edit"),
	})
}

// scale: numberOfClusters changes by as little as flips.
func (s *search) scale() candidate {
	now := 0
	if n := s.in.Policy.NumberOfClusters; n != nil {
		now = int(*n)
	}
	sign, limit := 1, s.in.Fleet.Len()-now
	if s.verdict.Picked {
		sign, limit = -1, now
	}
	to := func(delta int) *Flip {
		n := now + sign*delta
		return &Flip{
			Kind:    FlipScale,
			policy:  s.changedPolicy(func(p *api.Policy) { n32 := int32(n); p.NumberOfClusters = &n32 }),
			Text:    fmt.Sprintf("numberOfClusters %d instead of %d", n, now),
			Command: s.command("scale") + " --clusters " + strconv.Itoa(n),
		}
	}
	return candidate{costScale + 1, func() (*Flip, int) {
		delta, flip := s.least(limit, to)
		return flip, costScale + delta
	}}
}

// least finds the smallest amount, 1 to limit, whose change flips, by doubling and then halving. The
// result is verified; that nothing smaller flips holds where more of the change never flips back.
func (s *search) least(limit int, change func(int) *Flip) (int, *Flip) {
	low, high := 0, 0
	var found *Flip
	for amount := 1; amount <= limit && found == nil; amount = grow(amount, limit) {
		if flip := change(amount); s.flips(flip) {
			found, high = flip, amount
		} else {
			low = amount
		}
	}
	for found != nil && high-low > 1 {
		middle := (low + high) / 2
		if flip := change(middle); s.flips(flip) {
			found, high = flip, middle
		} else {
			low = middle
		}
	}
	return high, found
}

// grow doubles the amount, so that the limit itself is tried before the search ends.
func grow(amount, limit int) int {
	if amount < limit {
		return min(2*amount, limit)
	}
	return limit + 1
}

// spread: the constraint that refused is loosened, by skew or by kind.
func (s *search) spread() []candidate {
	var candidates []candidate
	for i, c := range s.in.Policy.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == api.ScheduleAnyway {
			continue
		}
		now := api.DefaultMaxSkew
		if c.MaxSkew != nil {
			now = int(*c.MaxSkew)
		}
		wider := func(delta int) *Flip {
			skew := int32(now + delta)
			return &Flip{
				Kind: FlipSkew, Command: s.command("edit"),
				policy: s.changedPolicy(func(p *api.Policy) { p.TopologySpreadConstraints[i].MaxSkew = &skew }),
				Text:   fmt.Sprintf("maxSkew %d instead of %d for %s", skew, now, c.TopologyKey),
			}
		}
		candidates = append(candidates, candidate{costSkew, func() (*Flip, int) {
			delta, flip := s.least(s.in.Fleet.Len(), wider)
			return flip, costSkew + delta
		}})
		softer := s.changedPolicy(func(p *api.Policy) {
			p.TopologySpreadConstraints[i].WhenUnsatisfiable = api.ScheduleAnyway
		})
		candidates = append(candidates, s.single(costSkew+1, Flip{
			Kind: FlipSkew, policy: softer, Command: s.command("edit"),
			Text: fmt.Sprintf("whenUnsatisfiable ScheduleAnyway instead of DoNotSchedule for %s", c.TopologyKey),
		}))
	}
	return candidates
}

// preferredTried bounds the preferred terms whose weights are searched.
const preferredTried = 4

// preferred: the member gains the label of a preferred term, or a weight changes in its favour.
func (s *search) preferred() []candidate {
	p := s.in.Policy
	if p.Affinity == nil || p.Affinity.ClusterAffinity == nil {
		return nil
	}
	var candidates []candidate
	for i, term := range p.Affinity.ClusterAffinity.Preferred {
		for _, r := range requirements(term.Preference.LabelSelector) {
			if term.Weight > 0 && !fulfils(&r, s.member.Labels) && r.Key != api.LabelMemberName {
				candidates = append(candidates, s.relabel(&r))
			}
		}
		if i < preferredTried {
			candidates = append(candidates, s.weigh(i, 1, 100-int(term.Weight)), s.weigh(i, -1, int(term.Weight)+100))
		}
	}
	return candidates
}

// weigh: the weight of a preferred term rises or falls by as little as flips.
func (s *search) weigh(term, sign, limit int) candidate {
	now := int(s.in.Policy.Affinity.ClusterAffinity.Preferred[term].Weight)
	to := func(delta int) *Flip {
		weight := int32(now + sign*delta)
		return &Flip{
			Kind: FlipWeight, Command: s.command("edit"),
			policy: s.changedPolicy(func(p *api.Policy) { p.Affinity.ClusterAffinity.Preferred[term].Weight = weight }),
			Text:   fmt.Sprintf("weight %d instead of %d of preferred term %d", weight, now, term+1),
		}
	}
	return candidate{costWeight, func() (*Flip, int) {
		delta, flip := s.least(limit, to)
		return flip, costWeight + delta
	}}
}

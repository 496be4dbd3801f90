package whatif

import (
	"fmt"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/verdict"
	"flotilla/core/why"
)

// fillsLooked is for how many placements the smallest change that fills a slot is looked for, and fillsTried for how many
// members of each: looking decides the placement anew many times.
const (
	fillsLooked = 16
	fillsTried  = 8
)

// fill finds the smallest change of one thing by which a placement finds a member more.
func (b *builder) fill(p *Placement, after *standing) {
	ask := fmt.Sprintf("flotilla why placement/%s tells of every member", p.Name)
	tried := b.refusedFirst(after)
	if b.fills++; b.fills > fillsLooked {
		p.NoFill = "not looked for among so many placements: " + ask
		return
	}
	found := why.Fill(after.in, tried)
	switch {
	case found != nil:
		p.Fill = &Fill{Member: found.Member, Kind: found.Flip.Kind, Text: found.Flip.Text, Command: found.Flip.Command}
	case len(tried) > 0:
		p.NoFill = fmt.Sprintf("no single change of %s that was tried fills a slot: %s", phrase.Count(len(tried), "member"), ask)
	case p.Type == api.PickFixed:
		p.NoFill = "another member in clusterNames would fill one"
	default:
		p.NoFill = "the fleet has no other member"
	}
}

// refusedFirst are up to fillsTried members that are not picked: those that the fewest filters stand behind come first, the last
// filter to refuse before the first.
func (b *builder) refusedFirst(s *standing) []string {
	order := []string{
		verdict.FilterSpread, verdict.FilterPlaced, verdict.FilterTaint, verdict.FilterNamespace, verdict.FilterEligibility, verdict.FilterAffinity, verdict.FilterNotFound,
	}
	var names []string
	for _, filter := range order {
		if s.in.Policy.Type() == api.PickFixed && filter == verdict.FilterAffinity {
			continue // it is not named: naming it fills no slot
		}
		for i, o := range s.decided.Verdicts.Outcomes {
			if len(names) == fillsTried {
				return names
			}
			if name := s.decided.Verdicts.Members[i]; !o.Has(verdict.OutcomePicked) && o.Filter() == filter && b.leavers[name] == nil {
				names = append(names, name)
			}
		}
	}
	return names
}

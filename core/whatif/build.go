package whatif

import (
	"cmp"
	"slices"

	"flotilla/core/api"
	"flotilla/core/schedule"
)

// builder makes an answer.
type builder struct {
	in      *Input
	answer  Answer
	leavers map[string]*Leaver
	// now is the fleet as it is, joined with what is added, leaving while members leave, then without them. Those that would be the
	// same are the same.
	now, joined, leaving, then *schedule.Fleet
	// domains are the members by the value of a label, of the fleets now and then.
	domains map[domainKey]map[string]string
	fills   int
	listed  int
}

// Build answers.
func Build(in Input) Answer {
	b := &builder{in: &in, leavers: map[string]*Leaver{}, domains: map[domainKey]map[string]string{}}
	b.answer = Answer{Notes: in.Notes, Report: Report{Without: slices.Clone(in.Without), Placements: []Placement{}, Runs: []Run{}}}
	b.answer.Added = Added{Members: []string{}, Placements: []string{}}
	if b.answer.Without == nil {
		b.answer.Without = []Leaver{}
	}
	slices.SortFunc(b.answer.Without, func(a, c Leaver) int { return cmp.Compare(a.Member, c.Member) })
	for i := range b.answer.Without {
		b.leavers[b.answer.Without[i].Member] = &b.answer.Without[i]
	}
	b.makeFleets()
	subjects := slices.Clone(in.Subjects)
	slices.SortStableFunc(subjects, func(a, c Subject) int { return cmp.Compare(a.key(), c.key()) })
	for i := range subjects {
		b.follow(&subjects[i])
	}
	b.runs()
	if slices.ContainsFunc(b.answer.Placements, func(p Placement) bool { return p.Gained > 0 }) {
		b.answer.Notes = append(slices.Clip(b.answer.Notes), "whether the cpu and memory of members that gain placements are enough is not judged: flotilla get members shows what they have free")
	}
	return b.answer
}

// makeFleets makes the fleets that placements are followed on.
func (b *builder) makeFleets() {
	b.now = schedule.NewFleet(b.in.Members...)
	joined := b.in.Joined()
	b.joined = b.now
	if len(b.in.Added) > 0 {
		b.joined = schedule.NewFleet(joined...)
	}
	for i := range b.in.Added {
		b.answer.Added.Members = append(b.answer.Added.Members, b.in.Added[i].Name)
	}
	slices.Sort(b.answer.Added.Members)
	b.leaving, b.then = b.joined, b.joined
	if len(b.leavers) > 0 {
		b.leaving = b.joined.Clone()
		var rest []api.Member
		for _, m := range joined {
			if b.leavers[m.Name] == nil {
				rest = append(rest, m)
				continue
			}
			m.Leaving = true
			b.leaving.Set(m)
		}
		b.then = schedule.NewFleet(rest...)
	}
	b.answer.Totals.Members = Change{b.now.Len(), b.then.Len()}
}

// follow says what becomes of one placement.
func (b *builder) follow(s *Subject) {
	b.answer.Totals.Placements++
	isNew := !s.Known && s.Next != nil
	var before, after *standing
	if isNew {
		of := s.Subject
		of.Placement = *s.Next
		before, after = &standing{}, b.settled(&of, b.then)
	} else {
		before = b.settled(&s.Subject, b.now)
		after = b.moved(before)
		if s.Next != nil {
			of := s.Subject
			of.Placement = *s.Next
			after = after.as(b, &of)
		}
	}
	if s.Next != nil {
		b.answer.Added.Placements = append(b.answer.Added.Placements, s.Next.Key())
	}
	p := b.compare(s, before, after)
	p.New, p.Changed = isNew, s.Next != nil && !isNew
	b.count(&p, before)
	if p.Gained+p.Lost+len(p.Missing) == 0 && p.Unfilled.Before == p.Unfilled.After && !brokenAny(p.Spread) && !isNew {
		return
	}
	if p.Unfilled.After > 0 {
		b.fill(&p, after)
	}
	b.list(&p)
	b.answer.Placements = append(b.answer.Placements, p)
	b.answer.Totals.Changed++
}

// moved follows a placement that stands through what becomes of the fleet.
func (b *builder) moved(from *standing) *standing {
	at := from
	if b.joined != b.now {
		at = at.on(b.joined)
	}
	if b.then != b.joined {
		at = at.on(b.leaving).on(b.then)
	}
	return at
}

// count adds up what becomes of a placement.
func (b *builder) count(p *Placement, before *standing) {
	t := &b.answer.Totals
	t.Gains, t.Losses = t.Gains+p.Gained, t.Losses+p.Lost
	t.Unfilled.Before, t.Unfilled.After = t.Unfilled.Before+p.Unfilled.Before, t.Unfilled.After+p.Unfilled.After
	for i := range p.Spread {
		if p.Spread[i].Broken {
			t.BrokenSpread++
		}
	}
	if p.Picked.Before > 0 && p.Picked.After == 0 {
		t.Nowhere++
	}
	for name, l := range b.leavers {
		if before.binding(name) != nil {
			l.Placements++
		}
	}
}

// list bounds what is listed of a placement to what is left of the rows.
func (b *builder) list(p *Placement) {
	if b.in.MaxRows == 0 {
		return
	}
	left := max(0, b.in.MaxRows-b.listed)
	gains := min(len(p.Gains), left)
	losses := min(len(p.Losses), left-gains)
	b.answer.LeftOut += len(p.Gains) - gains + len(p.Losses) - losses
	p.Gains, p.Losses = p.Gains[:gains:gains], p.Losses[:losses:losses]
	b.listed += gains + losses
}

// compare is a placement before and after.
func (b *builder) compare(s *Subject, before, after *standing) Placement {
	of := &s.Placement
	if s.Next != nil {
		of = s.Next
	}
	p := Placement{
		Name: of.Key(), Kind: of.Kind, Type: of.Spec.Policy.Type(), Wanted: after.wanted(), Moves: Moves{Gains: []Gain{}, Losses: []Loss{}}, Missing: []string{},
		Unpicked: slices.Clone(after.decided.Unpicked), Picked: Change{before.picked(), after.picked()},
		Unfilled: Change{before.unfilled(), after.unfilled()}, Spread: b.spread(of.Spec.Policy, before, after),
	}
	if p.Unpicked == nil {
		p.Unpicked = []api.Unpicked{}
	}
	for i := range after.decided.Bindings {
		if g := &after.decided.Bindings[i]; before.binding(g.Member) == nil {
			p.Gains = append(p.Gains, Gain{
				Member: g.Member, AffinityScore: g.AffinityScore, TopologySpreadScore: g.SpreadScore,
				Reason: api.PickedReason(g.Member, g.AffinityScore, g.SpreadScore),
			})
		}
	}
	for i := range before.decided.Bindings {
		if l := &before.decided.Bindings[i]; after.binding(l.Member) == nil {
			p.Losses = append(p.Losses, b.loss(l.Member, after))
		}
	}
	p.Gained, p.Lost = len(p.Gains), len(p.Losses)
	p.Missing = append(p.Missing, b.missing(of.Spec.Policy)...)
	return p
}

// loss says why a member is left, and what becomes of what is there.
func (b *builder) loss(member string, after *standing) Loss {
	l := Loss{Member: member, Reason: after.reasons[member], Objects: ObjectsGo}
	if leaver := b.leavers[member]; leaver != nil && leaver.WhenLeaving != api.WhenLeavingDelete {
		l.Objects = ObjectsStay
	}
	return l
}

// missing are the members that a PickFixed names and that leave.
func (b *builder) missing(policy *api.Policy) []string {
	if policy.Type() != api.PickFixed {
		return nil
	}
	var gone []string
	for _, name := range policy.ClusterNames {
		if b.leavers[name] != nil {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return slices.Compact(gone)
}

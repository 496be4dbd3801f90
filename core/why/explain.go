package why

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/verdict"
)

// Explain says why the member is picked or not, and what single change would flip that. A name that
// is no member is explained as one that is not found.
func Explain(in schedule.Input, member string) Answer {
	plan := schedule.Schedule(in)
	v, judged := plan.Verdicts.Of(member)
	if !judged {
		v = verdict.Verdict{
			Member: member, Filter: verdict.FilterNotFound,
			Reason: fmt.Sprintf("Specified cluster %q is not found", member),
		}
	}
	a := Answer{Placement: in.Placement, Type: in.Policy.Type(), Member: member, Verdict: v, Checks: []schedule.Check{}}
	a.Checks = append(a.Checks, schedule.Inspect(in, member)...)
	a.Tie = tieOf(in, &plan.Verdicts, &v)
	if in.Deleting {
		a.NoFlip = "the placement is being deleted"
		return a
	}
	e := newSearch(in, member, v)
	if a.Flip, _ = e.smallest(); a.Flip == nil {
		a.NoFlip = e.nothing(a.Checks)
	}
	return a
}

// search looks for the smallest flip.
type search struct {
	in      schedule.Input
	name    string
	verdict verdict.Verdict
	member  api.Member // as it is; labels and properties are the search's own
	// scratch is a copy of the fleet, made when first needed, for changes of the member alone: each
	// replaces the one before.
	scratch *schedule.Fleet
	// filling leaves out what asks for more members: that fills no slot.
	filling bool
}

func newSearch(in schedule.Input, name string, verdict verdict.Verdict) *search {
	if in.Fleet == nil {
		in.Fleet = schedule.NewFleet()
	}
	if in.PolicyDigest == "" {
		in.PolicyDigest = schedule.PolicyDigest(in.Policy)
	}
	s := &search{in: in, name: name, verdict: verdict}
	s.member, _ = in.Fleet.Member(name)
	return s
}

// candidate is a change that may flip the verdict. Its find returns the flip and its cost, or nil
// when it does not flip; costs order changes by how much else they touch. The least cost is known
// before it is looked for.
type candidate struct {
	least int
	find  func() (*Flip, int)
}

// Costs, smallest first: a number or a name of this placement, one fact of one member, then changes
// of the policy, which judge every member anew.
const (
	costScale      = 10 // and one for each member more or less
	costNames      = 10
	costLabel      = 12
	costTaint      = 13
	costHealth     = 14
	costNamespace  = 14
	costEvicted    = 15
	costToleration = 16
	costThreshold  = 18
	costSkew       = 18
	costProperty   = 20
	costWeight     = 22
	costJoin       = 24
	costLeave      = 60
)

// smallest tries candidates by their least cost and stops when no other can be smaller.
func (s *search) smallest() (*Flip, int) {
	candidates := s.candidates()
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.least, b.least) })
	var best *Flip
	bestCost := 0
	for _, c := range candidates {
		if best != nil && c.least >= bestCost {
			break
		}
		if flip, cost := c.find(); flip != nil && (best == nil || cost < bestCost) {
			best, bestCost = flip, cost
		}
	}
	return best, bestCost
}

func (s *search) candidates() []candidate {
	if s.verdict.Picked {
		return s.unpicking()
	}
	switch s.verdict.Filter {
	case verdict.FilterNotFound:
		return []candidate{s.join()}
	case verdict.FilterEligibility:
		return s.health()
	case verdict.FilterNamespace:
		return []candidate{s.namespace()}
	case verdict.FilterTaint:
		return s.taints()
	case verdict.FilterPlaced:
		return []candidate{s.single(costEvicted, Flip{
			Kind: FlipEvicted, allowEvicted: true,
			Text:    fmt.Sprintf("annotation %s: \"true\" on the placement", api.AnnotationAllowEvicted),
			Command: s.command("edit"),
		})}
	case verdict.FilterSpread:
		if s.filling {
			return s.spread()
		}
		return append(s.spread(), s.scale())
	case verdict.FilterRank:
		return append(s.preferred(), s.scale())
	}
	if s.in.Policy.Type() == api.PickFixed {
		return []candidate{s.names(true)}
	}
	return s.required()
}

// single is a candidate of one fixed change.
func (s *search) single(cost int, f Flip) candidate {
	return candidate{cost, func() (*Flip, int) {
		if !s.flips(&f) {
			return nil, 0
		}
		return &f, cost
	}}
}

// flips asks the scheduler whether the change turns the verdict.
func (s *search) flips(f *Flip) bool {
	in := f.applyPolicy(s.in)
	if f.member != nil {
		if s.scratch == nil {
			s.scratch = s.in.Fleet.Clone()
		}
		s.scratch.Set(*f.member)
		in.Fleet = s.scratch
	}
	plan := schedule.Schedule(in)
	verdict, _ := plan.Verdicts.Of(s.name)
	return verdict.Picked != s.verdict.Picked
}

// clone returns the member as it is, with maps and slices of its own.
func (s *search) clone() api.Member {
	m := s.member
	m.Labels, m.Properties = maps.Clone(m.Labels), maps.Clone(m.Properties)
	m.Taints, m.Namespaces = slices.Clone(m.Taints), slices.Clone(m.Namespaces)
	return m
}

// changed returns the member with one change.
func (s *search) changed(change func(*api.Member)) *api.Member {
	m := s.clone()
	change(&m)
	return &m
}

// changedPolicy returns the policy with one change.
func (s *search) changedPolicy(change func(*api.Policy)) *api.Policy {
	p := clonePolicy(s.in.Policy)
	change(p)
	return p
}

// nothing says what stands in the way when no single change flips.
func (s *search) nothing(checks []schedule.Check) string {
	var failing []string
	for _, c := range checks {
		if !c.Passed {
			failing = append(failing, c.String())
		}
	}
	switch {
	case s.verdict.Picked:
		return "no single change tried takes the member out: it keeps its place until it leaves the fleet or the policy changes"
	case len(failing) > 1:
		return fmt.Sprintf("no single change flips this, %d things stand in the way: %s", len(failing), strings.Join(failing, "; "))
	}
	if len(failing) == 1 {
		return "no single change tried flips this; what stands in the way: " + failing[0]
	}
	return "no single change tried flips this; what stands in the way: " + s.verdict.Reason
}

// command is the command that changes the placement.
func (s *search) command(verb string) string {
	if namespace, name, found := strings.Cut(s.in.Placement, "/"); found {
		return fmt.Sprintf("flotilla %s placement/%s -n %s", verb, name, namespace)
	}
	return fmt.Sprintf("flotilla %s placement/%s", verb, s.in.Placement)
}

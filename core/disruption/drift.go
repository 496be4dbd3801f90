package disruption

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
)

// Reasons of drift, in the order in which they are looked for (N16).
const (
	DriftPool         = "NodePoolDrifted"
	DriftRequirements = "RequirementsDrifted"
	DriftType         = "InstanceTypeNotFound"
	DriftClass        = "NodeClassDrifted"
)

// typeGrace is how old a node must be before its type counts as gone.
const typeGrace = time.Hour

// Drifted returns why a node is no longer what its pool asks for, "" when it is. What Karpenter found out about
// the node's NodeClaim goes first (N21).
func Drifted(n *api.NodeState, p *capacity.Pool, now time.Time, rules capacity.Rules) string {
	if !n.Managed {
		return ""
	}
	from := cluster.OriginOf(n)
	switch {
	case n.ProviderDrift != "":
		return n.ProviderDrift
	case capacity.StampedFor(n.Annotations, p.Name) && p.HashChanged(n.Annotations[api.AnnotationPoolHash], n.Annotations[api.AnnotationPoolHashLevel]):
		return DriftPool
	case !requirementsHold(p, &from, rules):
		return DriftRequirements
	case now.Sub(n.Created.Time) > typeGrace && typeGone(p, &from, rules):
		return DriftType
	case capacity.StampedFor(n.Annotations, p.Name) && p.ClassChanged(n.Annotations[api.AnnotationClassHash]):
		return DriftClass
	default:
		return ""
	}
}

// requirementsHold reports whether a node was made as the pool requires. A label that is missing breaks a
// requirement only where all is known that the node was made from, and never when it is one that the provider
// sets (N19).
func requirementsHold(p *capacity.Pool, from *cluster.Origin, rules capacity.Rules) bool {
	for i := range p.Requirements {
		r := &p.Requirements[i]
		v, ok := from.Labels[r.Key]
		unknown := !from.Whole || cluster.Provided[r.Key] && !rules.Off.MissingLabels
		if ok && !r.Set.Has(v) || !ok && !unknown && !r.Set.Lenient() {
			return false
		}
	}
	return true
}

// typeGone reports whether the catalog, which says that it is complete, lacks what a node is known to be.
func typeGone(p *capacity.Pool, from *cluster.Origin, rules capacity.Rules) bool {
	if !p.Catalog.Complete {
		return false
	}
	name := from.Labels[corev1.LabelInstanceTypeStable]
	if name == "" && !rules.Off.MissingLabels {
		return false
	}
	return !Lists(p, from)
}

// Lists reports whether the catalog has what a node is known to be.
func Lists(p *capacity.Pool, from *cluster.Origin) bool {
	m := p.MachineOf(from.Labels)
	return m.OfferedAs(from.Labels[corev1.LabelTopologyZone], from.Labels[api.LabelCapacityType])
}

// driftOf is the drift of a node, computed once a pass.
func (d *deciding) driftOf(c *candidate) string {
	if c.Pool == nil {
		return ""
	}
	name := c.name()
	reason, known := d.drifts[name]
	if !known {
		rules := d.x.State.Rules
		reason = Drifted(c.State, c.Pool, d.now, rules)
		d.drifts[name] = reason
		if from := cluster.OriginOf(c.State); reason == "" && d.now.Sub(c.State.Created.Time) <= typeGrace && typeGone(c.Pool, &from, rules) {
			d.recheck(c.State.Created.Add(typeGrace + time.Second))
		}
	}
	return reason
}

func (d *deciding) since(c *candidate) time.Time {
	if t, ok := d.x.State.DriftedSince[c.name()]; ok {
		return t
	}
	if told := c.State.DriftedSince; !told.IsZero() {
		return told.Time
	}
	return d.now
}

// drift replaces one drifted node: those without pods first, then the one that drifted first.
func (d *deciding) drift(reason string) []Command {
	cs := d.candidates(MethodDrift, func(c *candidate) Refusal {
		if c.Pool.Static {
			return Refusal{Code: CodeStatic, Message: "nodes of a static NodePool drift by another method"}
		}
		if d.driftOf(c) == "" {
			return Refusal{Code: CodeNotDrifted, Message: "the node is what its pool asks for"}
		}
		return Refusal{}
	})
	d.out.Eligible[MethodDrift] = names(cs)
	left := d.allowances(reason)
	slices.SortFunc(cs, func(a, b *candidate) int {
		return cmp.Or(compareBool(b.idle, a.idle), d.since(a).Compare(d.since(b)), cmp.Compare(a.name(), b.name()))
	})
	return d.oneByOne(MethodDrift, reason, cs, left)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// oneByOne takes the first node whose pods all find a place, at whatever price.
func (d *deciding) oneByOne(method, reason string, cs []*candidate, left *allowance) []Command {
	for _, c := range cs {
		if !left.has(c.Pool) {
			d.overBudget(method, reason, c, left)
			continue
		}
		d.out.Evaluated++
		out := d.x.Simulate([]*simulate.ExistingNode{c.ExistingNode}, false)
		if len(out.Failed) > 0 {
			d.refuse(method, c.name(), Refusal{Code: CodePodsUnplaced, Message: "not all pods would find a node: " + simulate.Failures(out.Failed)})
			continue
		}
		if len(out.Homeless) > 0 && (len(out.Claims) == 0 || d.x.State.Unsettled) {
			d.refuse(method, c.name(), neededRefusal(out.Homeless))
			continue
		}
		command := d.command(method, reason, []*candidate{c}, out)
		command.Drift = d.drifts[c.name()]
		d.launch(&command, out.Claims)
		d.foretell(&departure{command: &command, nodes: []*simulate.ExistingNode{c.ExistingNode}, claims: out.Claims}, out.Moves)
		return []Command{command}
	}
	return nil
}

// staticDrift replaces drifted nodes of pools with a fixed number of nodes, one for one, as many as
// budgets and limits allow.
func (d *deciding) staticDrift(reason string) []Command {
	static := slices.ContainsFunc(d.x.Pools, func(p *capacity.Pool) bool { return p.Static })
	if !static {
		d.out.Stages = d.out.Stages[:len(d.out.Stages)-1]
		return nil
	}
	cs := d.candidates(MethodStaticDrift, func(c *candidate) Refusal {
		if !c.Pool.Static || d.driftOf(c) == "" {
			return Refusal{Code: CodeNotDrifted, Message: "the node is what its pool asks for, or not of a static NodePool"}
		}
		return Refusal{}
	})
	d.out.Eligible[MethodStaticDrift] = names(cs)
	left := d.allowances(reason)
	slices.SortFunc(cs, func(a, b *candidate) int {
		return cmp.Or(d.since(a).Compare(d.since(b)), cmp.Compare(a.name(), b.name()))
	})
	r := &simulate.Run{X: d.x, Out: &simulate.Outcome{}, Limits: d.x.RemainingLimits(nil)}
	var out []*departure
	for _, c := range d.spend(MethodStaticDrift, reason, cs, left) {
		fresh := r.Open(c.Pool)
		if fresh == nil {
			d.refuse(MethodStaticDrift, c.name(), Refusal{Code: CodePodsUnplaced, Message: r.ClosedTo(c.Pool)})
			continue
		}
		r.Charge(c.Pool, fresh)
		command := &Command{Method: MethodStaticDrift, Reason: reason, Nodes: []string{c.name()}, Savings: c.worth(), Drift: d.driftOf(c)}
		d.launch(command, []*simulate.Claim{fresh})
		out = append(out, &departure{command: command, nodes: []*simulate.ExistingNode{c.ExistingNode}, claims: []*simulate.Claim{fresh}})
	}
	return d.foreseeAll(out)
}

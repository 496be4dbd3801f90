package disruption

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// Reasons of drift, in the order in which they are looked for (section 11, N16).
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
func Drifted(n *api.NodeState, p *Pool, now time.Time, rules Rules) string {
	if !n.Managed {
		return ""
	}
	from := originOf(n)
	switch {
	case n.ProviderDrift != "":
		return n.ProviderDrift
	case stampedFor(n.Annotations, p.name) && p.changedSince(n.Annotations[api.AnnotationPoolHash], n.Annotations[api.AnnotationPoolHashLevel]):
		return DriftPool
	case !p.requirementsHold(&from, rules):
		return DriftRequirements
	case now.Sub(n.Created.Time) > typeGrace && p.gone(&from, rules):
		return DriftType
	case stampedFor(n.Annotations, p.name) && otherClass(n.Annotations[api.AnnotationClassHash], p.classHash):
		return DriftClass
	default:
		return ""
	}
}

// changedSince compares the hash that a node is stamped with to that of the pool: Flotilla's own, or the one
// that Karpenter wrote on both. Hashes of other versions say nothing.
func (p *Pool) changedSince(stamped, level string) bool {
	switch {
	case stamped == "" || level == "":
		return false
	case level == PoolHashLevel:
		return stamped != p.hash
	default:
		return p.stamp != "" && level == p.level && stamped != p.stamp
	}
}

// otherClass compares the stamped hash of a node class with what it is now; what is not known is no other.
func otherClass(stamped, hash string) bool {
	return stamped != "" && hash != "" && stamped != hash
}

// requirementsHold reports whether a node was made as the pool requires. A label that is missing breaks a
// requirement only where all is known that the node was made from, and never when it is one that the provider
// sets (N19).
func (p *Pool) requirementsHold(from *origin, rules Rules) bool {
	for i := range p.asked {
		r := &p.asked[i]
		v, ok := from.labels[r.key]
		unknown := !from.whole || provided[r.key] && !rules.Off.MissingLabels
		if ok && !r.set.has(v) || !ok && !unknown && !r.set.lenient() {
			return false
		}
	}
	return true
}

// gone reports whether the catalog, which says that it is complete, lacks what a node is known to be.
func (p *Pool) gone(from *origin, rules Rules) bool {
	if !p.catalog.complete {
		return false
	}
	name := from.labels[corev1.LabelInstanceTypeStable]
	if name == "" && !rules.Off.MissingLabels {
		return false
	}
	return !p.lists(from)
}

// lists reports whether the catalog has what a node is known to be.
func (p *Pool) lists(from *origin) bool {
	m := p.byName[from.labels[corev1.LabelInstanceTypeStable]]
	return m.offeredAs(from.labels[corev1.LabelTopologyZone], from.labels[api.LabelCapacityType])
}

// driftOf is the drift of a node, computed once a pass.
func (d *deciding) driftOf(c *candidate) string {
	if c.pool == nil {
		return ""
	}
	name := c.name()
	reason, known := d.drifts[name]
	if !known {
		rules := d.x.state.Rules
		reason = Drifted(c.state, c.pool, d.now, rules)
		d.drifts[name] = reason
		if from := originOf(c.state); reason == "" && d.now.Sub(c.state.Created.Time) <= typeGrace && c.pool.gone(&from, rules) {
			d.recheck(c.state.Created.Add(typeGrace + time.Second))
		}
	}
	return reason
}

func (d *deciding) since(c *candidate) time.Time {
	if t, ok := d.x.state.DriftedSince[c.name()]; ok {
		return t
	}
	if told := c.state.DriftedSince; !told.IsZero() {
		return told.Time
	}
	return d.now
}

// drift replaces one drifted node: those without pods first, then the one that drifted first.
func (d *deciding) drift(reason string) []Command {
	cs := d.candidates(MethodDrift, func(c *candidate) Refusal {
		if c.pool.static {
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

// oneByOne takes the first node whose pods all find a place, at whatever price (section 11).
func (d *deciding) oneByOne(method, reason string, cs []*candidate, left *allowance) []Command {
	for _, c := range cs {
		if !left.has(c.pool) {
			d.overBudget(method, reason, c, left)
			continue
		}
		d.out.Evaluated++
		out := d.x.simulate([]*inode{c.inode}, false)
		if len(out.failed) > 0 {
			d.refuse(method, c.name(), Refusal{Code: CodePodsUnplaced, Message: "not all pods would find a node: " + failures(out.failed)})
			continue
		}
		if len(out.homeless) > 0 && (len(out.claims) == 0 || d.x.state.Unsettled) {
			d.refuse(method, c.name(), neededRefusal(out.homeless))
			continue
		}
		command := d.command(method, reason, []*candidate{c}, out)
		command.Drift = d.drifts[c.name()]
		d.launch(&command, out.claims)
		d.foretell(&departure{command: &command, nodes: []*inode{c.inode}, claims: out.claims}, out.moves)
		return []Command{command}
	}
	return nil
}

// staticDrift replaces drifted nodes of pools with a fixed number of nodes, one for one, as many as
// budgets and limits allow.
func (d *deciding) staticDrift(reason string) []Command {
	static := slices.ContainsFunc(d.x.pools, func(p *Pool) bool { return p.static })
	if !static {
		d.out.Stages = d.out.Stages[:len(d.out.Stages)-1]
		return nil
	}
	cs := d.candidates(MethodStaticDrift, func(c *candidate) Refusal {
		if !c.pool.static || d.driftOf(c) == "" {
			return Refusal{Code: CodeNotDrifted, Message: "the node is what its pool asks for, or not of a static NodePool"}
		}
		return Refusal{}
	})
	d.out.Eligible[MethodStaticDrift] = names(cs)
	left := d.allowances(reason)
	slices.SortFunc(cs, func(a, b *candidate) int {
		return cmp.Or(d.since(a).Compare(d.since(b)), cmp.Compare(a.name(), b.name()))
	})
	r := &run{x: d.x, out: &outcome{}, limits: d.x.remainingLimits(nil)}
	var out []*departure
	for _, c := range d.spend(MethodStaticDrift, reason, cs, left) {
		fresh := r.open(c.pool)
		if fresh == nil {
			d.refuse(MethodStaticDrift, c.name(), Refusal{Code: CodePodsUnplaced, Message: r.closedTo(c.pool)})
			continue
		}
		r.charge(c.pool, fresh)
		command := &Command{Method: MethodStaticDrift, Reason: reason, Nodes: []string{c.name()}, Savings: c.worth(), Drift: d.driftOf(c)}
		d.launch(command, []*claim{fresh})
		out = append(out, &departure{command: command, nodes: []*inode{c.inode}, claims: []*claim{fresh}})
	}
	return d.foreseeAll(out)
}

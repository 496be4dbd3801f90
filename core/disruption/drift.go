package disruption

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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

// PoolHashLevel is the version of PoolHash that is stamped beside it on nodes.
const PoolHashLevel = "flotilla-1"

// typeGrace is how old a node must be before its type counts as gone.
const typeGrace = time.Hour

// PoolHash is the digest of what nodes of a pool are made from: the whole template except requirements
// (section 11) and the do-not-disrupt annotation (N14). Lists count as sets.
func PoolHash(p *api.NodePool) string {
	t := p.Spec.Template
	annotations := map[string]string{}
	for k, v := range t.Metadata.Annotations {
		if k != api.AnnotationDoNotDisrupt {
			annotations[k] = v
		}
	}
	byText := func(a, b api.NodeTaint) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	raw, err := json.Marshal([]any{
		t.Metadata.Labels, annotations, slices.SortedFunc(slices.Values(t.Spec.Taints), byText),
		slices.SortedFunc(slices.Values(t.Spec.StartupTaints), byText), t.Spec.NodeClassRef, t.Spec.ExpireAfter, t.Spec.TerminationGracePeriod,
	})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// Drifted returns why a node is no longer what its pool asks for, "" when it is.
func Drifted(s *api.NodeState, p *Pool, now time.Time) string {
	if !s.Managed {
		return ""
	}
	labels := canonicalLabels(s.Labels)
	switch {
	case stale(s.Annotations[api.AnnotationPoolHash], s.Annotations[api.AnnotationPoolHashLevel], p.hash):
		return DriftPool
	case !p.requirementsHold(labels):
		return DriftRequirements
	case now.Sub(s.Created.Time) > typeGrace && !p.offers(labels):
		return DriftType
	case p.classHash != "" && s.Annotations[api.AnnotationClassHash] != "" && s.Annotations[api.AnnotationClassHash] != p.classHash:
		return DriftClass
	default:
		return s.ProviderDrift
	}
}

// stale compares a stamped hash with that of the pool; hashes of other versions say nothing.
func stale(stamped, level, hash string) bool {
	return stamped != "" && level == PoolHashLevel && stamped != hash
}

func (p *Pool) requirementsHold(labels map[string]string) bool {
	for i := range p.spec.Spec.Template.Spec.Requirements {
		r := &p.spec.Spec.Template.Spec.Requirements[i]
		key := canonicalLabel(r.Key)
		s := setOf(r.Operator, r.Values)
		if v, ok := labels[key]; ok && !s.has(v) || !ok && !s.lenient() {
			return false
		}
	}
	return true
}

// offers reports whether the catalog still has a node's type in its zone and capacity type; reserved
// accepts on-demand.
func (p *Pool) offers(labels map[string]string) bool {
	m := p.byName[labels[corev1.LabelInstanceTypeStable]]
	if m == nil {
		return false
	}
	zone, kind := labels[corev1.LabelTopologyZone], labels[api.LabelCapacityType]
	return slices.ContainsFunc(m.offerings, func(o offering) bool {
		return o.zone == zone && (o.capacityType == kind || kind == api.CapacityReserved && o.capacityType == api.CapacityOnDemand)
	})
}

// driftOf is the drift of a node, computed once a pass.
func (d *deciding) driftOf(c *candidate) string {
	name := c.name()
	reason, known := d.drifts[name]
	if !known {
		reason = Drifted(c.state, c.pool, d.now)
		d.drifts[name] = reason
		if reason == "" && d.now.Sub(c.state.Created.Time) <= typeGrace && !c.pool.offers(c.labels) {
			d.recheck(c.state.Created.Add(typeGrace + time.Second))
		}
	}
	return reason
}

func (d *deciding) since(c *candidate) time.Time {
	if t, ok := d.x.state.DriftedSince[c.name()]; ok {
		return t
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
		command := d.command(method, reason, []*candidate{c}, out)
		command.Drift = d.drifts[c.name()]
		d.launch(&command, out.claims)
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
	var out []Command
	for _, c := range d.spend(MethodStaticDrift, reason, cs, left) {
		fresh, why := r.open(c.pool)
		if fresh == nil {
			d.refuse(MethodStaticDrift, c.name(), Refusal{Code: CodePodsUnplaced, Message: why})
			continue
		}
		r.charge(c.pool, fresh)
		command := Command{Method: MethodStaticDrift, Reason: reason, Nodes: []string{c.name()}, Savings: c.price, Drift: d.driftOf(c)}
		d.launch(&command, []*claim{fresh})
		out = append(out, command)
	}
	return out
}

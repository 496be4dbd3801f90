package disruption

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// Pool is a NodePool, parsed.
type Pool struct {
	name      string
	spec      *api.NodePool
	weight    int32
	static    bool
	forceful  bool // expiration without budgets (N2)
	protected bool // do-not-disrupt in the template (N14)
	policy    string
	after     time.Duration
	disabled  bool // consolidateAfter Never
	budgets   Budgets
	needs     needs
	minValues []minimum
	taints    []corev1.Taint
	types     []*machine // those that requirements admit, by name
	byName    map[string]*machine
	limits    api.Amounts
	hash      string
	classHash string
	// stamp is the hash that Karpenter wrote on the pool, of the version level; both are empty on a pool
	// that Karpenter does not manage.
	stamp, level string
	fleet        string // the name of the fleet-wide budget that the pool shares, "" for none
	deleting     bool
	catalog      *Catalog
	asked        []need // the requirements of the template
}

// minimum is how many values of a label must be left to choose from.
type minimum struct {
	key    string
	values int
}

// PoolOptions is what a pool's own document does not say.
type PoolOptions struct {
	// InstanceTypes restricts the catalog, nil for all of it.
	InstanceTypes []string
	// ClassHash is the hash of the node class that the pool refers to, empty when it has none (N16).
	ClassHash string
	// Zones finds the time zones of budgets; programs pass time.LoadLocation.
	Zones Zones
	// Deleting pools get no new nodes.
	Deleting bool
}

// NewPool parses a pool that passed validation.
func NewPool(p *api.NodePool, c *Catalog, o PoolOptions) *Pool {
	t := &p.Spec.Template
	out := &Pool{
		name: p.Name, spec: p, static: p.Spec.Replicas != nil, policy: p.Spec.Policy(),
		budgets: ParseBudgets(p.Spec.Budgets(), o.Zones), classHash: o.ClassHash, deleting: o.Deleting || p.DeletionTimestamp != nil,
		forceful:  p.Annotations[api.AnnotationExpiration] == api.ExpirationForceful,
		protected: t.Metadata.Annotations[api.AnnotationDoNotDisrupt] == "true",
		hash:      PoolHash(p), byName: map[string]*machine{}, catalog: c,
		stamp: p.Annotations[api.AnnotationPoolHash], level: p.Annotations[api.AnnotationPoolHashLevel],
	}
	out.fleet, _, _ = api.FleetBudget(p.Annotations[api.AnnotationFleetBudget])
	if p.Spec.Weight != nil {
		out.weight = *p.Spec.Weight
	}
	out.after, out.disabled = neverOr(p.Spec.ConsolidateAfter())
	for _, taint := range t.Spec.Taints {
		out.taints = append(out.taints, taint.Taint())
	}
	out.needs = needsOfLabels(t.Metadata.Labels).with(api.LabelNodePool, oneValue(p.Name))
	for i := range t.Spec.Requirements {
		r := &t.Spec.Requirements[i]
		out.asked = append(out.asked, need{canonicalLabel(r.Key), setOf(r.Operator, r.Values)})
		out.needs = out.needs.with(out.asked[i].key, out.asked[i].set)
		if r.MinValues != nil {
			out.minValues = append(out.minValues, minimum{canonicalLabel(r.Key), int(*r.MinValues)})
		}
	}
	out.limits = limitsOf(p.Spec.Limits)
	for _, m := range c.types {
		if o.InstanceTypes != nil && !slices.Contains(o.InstanceTypes, m.name) {
			continue
		}
		out.byName[m.name] = m
		if out.needs.intersects(m.needs) && m.offered(out.needs) {
			out.types = append(out.types, m)
		}
	}
	return out
}

// Name is the pool's name.
func (p *Pool) Name() string { return p.name }

// Budgets are the pool's budgets, parsed.
func (p *Pool) Budgets() Budgets { return p.budgets }

// Template is what the agent makes nodes of the pool from.
func (p *Pool) Template() api.PoolTemplate {
	return api.PoolTemplate{
		Name: p.name, Template: p.spec.Spec.Template, Hash: p.hash, ClassHash: p.classHash, ExpireAfter: p.spec.Spec.ExpireAfter(),
	}
}

func limitsOf(limits map[string]api.Amount) api.Amounts {
	if len(limits) == 0 {
		return nil
	}
	out := make(api.Amounts, len(limits))
	for name, q := range limits {
		out[name] = amountOf(name, string(q))
	}
	return out
}

// neverOr reads a duration or Never; what cannot be read is Never, which disrupts nothing.
func neverOr(text string) (time.Duration, bool) {
	if text == api.Never {
		return 0, true
	}
	d, err := time.ParseDuration(text)
	return d, err != nil
}

// sortPools orders pools as new nodes are tried: heaviest first, equal ones by name, z before a.
func sortPools(pools []*Pool) []*Pool {
	out := slices.Clone(pools)
	slices.SortFunc(out, func(a, b *Pool) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.name, a.name))
	})
	return out
}

// lacks returns the first label of which too few values are left among types, "" when none is.
func (p *Pool) lacks(types []*machine) string {
	for _, m := range p.minValues {
		if len(distinct(types, m.key)) < m.values {
			return m.key
		}
	}
	return ""
}

func distinct(types []*machine, key string) map[string]bool {
	seen := make(map[string]bool)
	for _, t := range types {
		if s := t.needs.get(key); s != nil {
			for _, v := range s.values {
				seen[v] = true
			}
		}
	}
	return seen
}

// fewest is the least prefix of types that has every minimum, 0 when there is no minimum.
func (p *Pool) fewest(types []*machine) int {
	if len(p.minValues) == 0 {
		return 0
	}
	for n := range types {
		if p.lacks(types[:n+1]) == "" {
			return n + 1
		}
	}
	return len(types)
}

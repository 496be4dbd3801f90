package capacity

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
)

// Pool is a NodePool, parsed.
type Pool struct {
	Name      string
	Spec      *api.NodePool
	weight    int32
	Static    bool
	Forceful  bool // expiration without budgets (N2)
	Protected bool // do-not-disrupt in the template (N14)
	Consolidation
	Budgets     Budgets
	FleetBudget string // the name of the fleet-wide budget that the pool shares, "" for none
	NodeTemplate
	Machines
	Limits api.Amounts
	Fingerprint
	Deleting bool
}

// Consolidation is what a pool says of it.
type Consolidation struct {
	Policy           string
	ConsolidateAfter time.Duration
	Disabled         bool // consolidateAfter Never
}

// Settling reports whether a node without pod events for a while has to wait longer.
func (c *Consolidation) Settling(quiet time.Duration) bool {
	return !c.Disabled && quiet < c.ConsolidateAfter
}

// NodeTemplate is what nodes of a pool are made with.
type NodeTemplate struct {
	Needs        Needs
	Requirements []Need // those of the template
	MinValues    []minimum
	Taints       []corev1.Taint
}

// Machines are what nodes of a pool can be.
type Machines struct {
	Catalog *Catalog
	Types   []*Machine          // those that requirements admit, by name
	ByName  map[string]*Machine // the catalog's own where the pool takes all of it: nobody changes it
}

// MachineOf is that of a node with some labels, nil when it is not known.
func (m *Machines) MachineOf(labels map[string]string) *Machine {
	return m.ByName[labels[corev1.LabelInstanceTypeStable]]
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
		Name: p.Name, Spec: p, Static: p.Spec.Replicas != nil,
		Budgets: ParseBudgets(p.Spec.Budgets(), o.Zones), Deleting: o.Deleting || p.DeletionTimestamp != nil,
		Forceful:  p.Annotations[api.AnnotationExpiration] == api.ExpirationForceful,
		Protected: t.Metadata.Annotations[api.AnnotationDoNotDisrupt] == "true",
		Machines:  Machines{Catalog: c, ByName: c.byName},
		Fingerprint: Fingerprint{
			Hash: PoolHash(p), ClassHash: o.ClassHash,
			Stamp: p.Annotations[api.AnnotationPoolHash], HashLevel: p.Annotations[api.AnnotationPoolHashLevel],
		},
	}
	out.FleetBudget, _, _ = validate.FleetBudget(p.Annotations[api.AnnotationFleetBudget])
	if p.Spec.Weight != nil {
		out.weight = *p.Spec.Weight
	}
	out.Policy = p.Spec.Policy()
	out.ConsolidateAfter, out.Disabled = NeverOr(p.Spec.ConsolidateAfter())
	for _, taint := range t.Spec.Taints {
		out.Taints = append(out.Taints, taint.Taint())
	}
	out.Needs = NeedsOfLabels(t.Metadata.Labels).With(api.LabelNodePool, OneValue(p.Name))
	for i := range t.Spec.Requirements {
		r := &t.Spec.Requirements[i]
		out.Requirements = append(out.Requirements, Need{CanonicalLabel(r.Key), SetOf(r.Operator, r.Values)})
		out.Needs = out.Needs.With(out.Requirements[i].Key, out.Requirements[i].Set)
		if r.MinValues != nil {
			out.MinValues = append(out.MinValues, minimum{CanonicalLabel(r.Key), int(*r.MinValues)})
		}
	}
	out.Limits = limitsOf(p.Spec.Limits)
	if o.InstanceTypes != nil {
		out.ByName = maps.Clone(c.byName)
		maps.DeleteFunc(out.ByName, func(name string, _ *Machine) bool { return !slices.Contains(o.InstanceTypes, name) })
	}
	for _, m := range c.Types {
		if out.ByName[m.Name] == nil {
			continue
		}
		if out.Needs.Intersects(m.Needs) && m.Offered(out.Needs) {
			out.Types = append(out.Types, m)
		}
	}
	return out
}

// Template is what the agent makes nodes of the pool from.
func (p *Pool) Template() api.PoolTemplate {
	return api.PoolTemplate{
		Name: p.Name, Template: p.Spec.Spec.Template, Hash: p.Hash, ClassHash: p.ClassHash, ExpireAfter: p.Spec.Spec.ExpireAfter(),
	}
}

func limitsOf(limits map[string]strict.Amount) api.Amounts {
	if len(limits) == 0 {
		return nil
	}
	out := make(api.Amounts, len(limits))
	for name, q := range limits {
		out[name] = amountOf(name, string(q))
	}
	return out
}

// NeverOr reads a duration or Never; what cannot be read is Never, which disrupts nothing.
func NeverOr(text string) (time.Duration, bool) {
	if text == api.Never {
		return 0, true
	}
	d, err := time.ParseDuration(text)
	return d, err != nil
}

// SortPools orders pools as new nodes are tried: heaviest first, equal ones by name, z before a.
func SortPools(pools []*Pool) []*Pool {
	out := slices.Clone(pools)
	slices.SortFunc(out, func(a, b *Pool) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.Name, a.Name))
	})
	return out
}

// Lacks returns the first label of which too few values are left among types, "" when none is.
func (t *NodeTemplate) Lacks(types []*Machine) string {
	for _, m := range t.MinValues {
		if len(distinct(types, m.key)) < m.values {
			return m.key
		}
	}
	return ""
}

func distinct(types []*Machine, key string) map[string]bool {
	seen := make(map[string]bool)
	for _, t := range types {
		if s := t.Needs.Get(key); s != nil {
			for _, v := range s.Values {
				seen[v] = true
			}
		}
	}
	return seen
}

// Fewest is the least prefix of types that has every minimum, 0 when there is no minimum.
func (t *NodeTemplate) Fewest(types []*Machine) int {
	if len(t.MinValues) == 0 {
		return 0
	}
	for n := range types {
		if t.Lacks(types[:n+1]) == "" {
			return n + 1
		}
	}
	return len(types)
}

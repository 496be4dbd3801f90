package disruption

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
)

// PoolsFor returns the pools that a member with some labels has: those without a selector in the
// annotation flotilla.io/members, and those whose selector matches (N1). A selector that cannot be
// read matches nothing.
func PoolsFor(member map[string]string, pools []*api.NodePool) []*api.NodePool {
	return new(Selectors).PoolsFor(member, pools)
}

// CatalogFor returns the catalog of a member with some labels: of those without a selector in the
// annotation flotilla.io/members and those whose selector matches, the first by name; nil when there is
// none.
func CatalogFor(member map[string]string, catalogs []*api.InstanceCatalog) *api.InstanceCatalog {
	return new(Selectors).CatalogFor(member, catalogs)
}

// Selectors are those of annotations flotilla.io/members, each parsed once, for who asks about many members. The zero value
// holds none; one goroutine uses it at a time.
type Selectors struct {
	parsed map[string]labels.Selector // by their text
}

// PoolsFor returns the pools that a member with some labels has, like the function of this name.
func (s *Selectors) PoolsFor(member map[string]string, pools []*api.NodePool) []*api.NodePool {
	var out []*api.NodePool
	for _, p := range pools {
		if s.lets(member, p.Annotations) {
			out = append(out, p)
		}
	}
	return out
}

// CatalogFor returns the catalog of a member with some labels, like the function of this name.
func (s *Selectors) CatalogFor(member map[string]string, catalogs []*api.InstanceCatalog) *api.InstanceCatalog {
	var first *api.InstanceCatalog
	for _, c := range catalogs {
		if (first == nil || c.Name < first.Name) && s.lets(member, c.Annotations) {
			first = c
		}
	}
	return first
}

// lets reports whether an object's annotation flotilla.io/members lets a member have it.
func (s *Selectors) lets(member, annotations map[string]string) bool {
	text, restricted := annotations[api.AnnotationMembers]
	if !restricted {
		return true
	}
	selector, known := s.parsed[text]
	if !known {
		var err error
		if selector, err = labels.Parse(text); err != nil {
			selector = labels.Nothing()
		}
		if s.parsed == nil {
			s.parsed = map[string]labels.Selector{}
		}
		s.parsed[text] = selector
	}
	return selector.Matches(labels.Set(member))
}

// SharedAllowed is how many more nodes may go under a fleet-wide budget with such shares of members, by the amount that
// allows least. It errs where an amount cannot be read.
func SharedAllowed(b *capacity.SharedBudget, counts []FleetCount) (by string, left int, err error) {
	for _, amount := range b.Amounts {
		n, err := FleetAllowed(amount, counts)
		if err != nil {
			return "", 0, err
		}
		if by == "" || n < left {
			by, left = amount, n
		}
	}
	return by, left, nil
}

// FleetCount is one member's share of a fleet-wide budget.
type FleetCount struct{ Total, Disrupting int }

// CountPool is a member's share for one pool of a state.
func CountPool(s *simulate.State, pool string) FleetCount {
	c := countPools(simulate.NewIndex(s))
	return FleetCount{c.total[pool], c.disrupting[pool]}
}

// PoolShare is one member's nodes of a pool: all that stand, and those that budgets count.
type PoolShare struct {
	FleetCount
	Nodes int
	// Unlisted are those that Catalog does not list, which does not say that it is complete (N20).
	Unlisted Unlisted
	Catalog  string
}

// CountPools is a member's share of every pool that its nodes name.
func CountPools(s *simulate.State) map[string]PoolShare {
	out, pools := map[string]PoolShare{}, map[string]*capacity.Pool{}
	for _, p := range s.Pools {
		pools[p.Name] = p
	}
	for name, n := range s.Cluster.Nodes {
		if n.Pool == "" {
			continue
		}
		share := out[n.Pool]
		share.Nodes++
		if p := pools[n.Pool]; p != nil && unlisted(p, n.Labels) {
			share.Unlisted.add(1, OfferingText(n.Labels))
			share.Catalog = p.Catalog.Name
		}
		if total, down := counts(n.State, n.State.Deleting || s.Busy[name]); total {
			share.Total++
			if down {
				share.Disrupting++
			}
		}
		out[n.Pool] = share
	}
	return out
}

// FleetAllowed is how many nodes of all members that share a budget may be disrupted beyond those
// that are (N11). Nodes is a number or a percentage of all nodes, rounded up.
func FleetAllowed(nodes string, members []FleetCount) (int, error) {
	b := capacity.ParseBudgets([]api.DisruptionBudget{{Nodes: new(nodes)}}, nil)
	if b.Err() != nil {
		return 0, fmt.Errorf("reading a fleet budget: %w", b.Err())
	}
	var all FleetCount
	for _, m := range members {
		all.Total += m.Total
		all.Disrupting += m.Disrupting
	}
	return int(capacity.Allowed(b.List[0].Limit(all.Total), all.Disrupting)), nil
}

// DriftTimes returns since when each drifted node has been, given what was known before: nodes that
// are no longer drifted, or are gone, are forgotten.
func DriftTimes(s *simulate.State, before map[string]metav1.Time) map[string]metav1.Time {
	pools := map[string]*capacity.Pool{}
	for _, p := range s.Pools {
		pools[p.Name] = p
	}
	out := map[string]metav1.Time{}
	for name, n := range s.Cluster.Nodes {
		p := pools[n.Pool]
		if p == nil || Drifted(n.State, p, s.Now, s.Rules) == "" {
			continue
		}
		since, known := before[name]
		if !known {
			since = metav1.NewTime(s.Now)
		}
		if told := n.State.DriftedSince; !told.IsZero() && told.Time.Before(since.Time) {
			since = told
		}
		out[name] = since
	}
	return out
}

// PriceOf is what a node of a pool costs, unknown where there is no such pool.
func PriceOf(n *cluster.Node, p *capacity.Pool) api.Hourly {
	if p == nil {
		return api.Hourly{Unknown: true}
	}
	return p.MachineOf(n.Labels).Price(n.Labels[corev1.LabelTopologyZone], n.Labels[api.LabelCapacityType])
}

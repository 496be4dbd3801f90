package disruption

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/phrase"
)

// Provisioning is what nodes are made from, as an edit finds it or would leave it. It does not change once something was
// asked of it, and one goroutine asks at a time.
type Provisioning struct {
	Pools    []*api.NodePool
	Catalogs []*api.InstanceCatalog
	// Classes are the hashes of node classes, by the name of the pool that refers to one; of those alone that
	// an edit changes.
	Classes map[string]string
	// Members are the labels of each member that is looked at.
	Members map[string]map[string]string
	// Ended tells that nobody wants answers any more, and any will do; nil is never.
	Ended func() bool

	selectors Selectors
	catalogs  map[string]*api.InstanceCatalog // of members
}

func (m *Provisioning) ended() bool { return m.Ended != nil && m.Ended() }

// Has reports whether an object's annotation flotilla.io/members lets a member have it.
func (m *Provisioning) Has(member string, annotations map[string]string) bool {
	return !m.ended() && m.selectors.lets(m.Members[member], annotations)
}

// CatalogOf is the catalog of a member, nil when there is none.
func (m *Provisioning) CatalogOf(member string) *api.InstanceCatalog {
	catalog, known := m.catalogs[member]
	if known || m.ended() {
		return catalog
	}
	if m.catalogs == nil {
		m.catalogs = map[string]*api.InstanceCatalog{}
	}
	catalog = m.selectors.CatalogFor(m.Members[member], m.Catalogs)
	m.catalogs[member] = catalog
	return catalog
}

// Effect is what an edit of it does to the nodes of one pool.
type Effect struct {
	Pool string
	// Nodes are all of the pool on Members members.
	Nodes, Members int
	// Drift counts the nodes that drift by the edit, within an hour, by reason.
	Drift map[string]int
	// Unlisted are the nodes that have no price after it, by catalog.
	Unlisted map[string]Unlisted
}

// Unlisted are nodes that a catalog does not list which does not say that it is complete.
type Unlisted struct {
	Nodes   int
	Example string // the first of them
}

func (u *Unlisted) add(nodes int, what string) {
	if u.Nodes += nodes; u.Nodes == nodes || what < u.Example {
		u.Example = what
	}
}

// Effects says what an edit does to the nodes of members, as their agents told them last; of every pool that
// has nodes, sorted by name. They are none once after has ended.
func Effects(nodes map[string][]*api.NodeState, before, after *Provisioning, now time.Time) []Effect {
	was, is := parsed(before), parsed(after)
	all := map[string]*Effect{}
	for member := range after.Members {
		now := now.Add(typeGrace + time.Second)
		here := map[string]*share{}
		for _, n := range nodes[member] {
			if after.ended() {
				return nil
			}
			name := n.Labels[api.LabelNodePool]
			s := here[name]
			if s == nil {
				s = &share{before: was.pool(name, member), after: is.pool(name, member)}
				here[name] = s
			}
			if s.after != nil {
				s.add(n, now)
			}
		}
		for name, s := range here {
			s.addTo(all, name)
		}
	}
	var out []Effect
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[name])
	}
	return out
}

// share is the part of an effect that a pool of one member has: as it was before, nil where it was not, and as
// it is after.
type share struct {
	before, after *capacity.Pool
	nodes         int
	drift         map[string]int
	unlisted      Unlisted
}

func (s *share) add(n *api.NodeState, now time.Time) {
	s.nodes++
	if what := unpricedIn(s.after, n); what != "" {
		s.unlisted.add(1, what)
	}
	reason := Drifted(n, s.after, now, capacity.Rules{})
	if reason == "" || s.before != nil && Drifted(n, s.before, now, capacity.Rules{}) != "" {
		return
	}
	if s.drift == nil {
		s.drift = map[string]int{}
	}
	s.drift[reason]++
}

func (s *share) addTo(all map[string]*Effect, pool string) {
	if s.nodes == 0 {
		return
	}
	e := all[pool]
	if e == nil {
		e = &Effect{Pool: pool, Drift: map[string]int{}, Unlisted: map[string]Unlisted{}}
		all[pool] = e
	}
	e.Nodes += s.nodes
	e.Members++
	for reason, n := range s.drift {
		e.Drift[reason] += n
	}
	if s.unlisted.Nodes > 0 {
		u := e.Unlisted[s.after.Catalog.Name]
		u.add(s.unlisted.Nodes, s.unlisted.Example)
		e.Unlisted[s.after.Catalog.Name] = u
	}
}

// unpricedIn is what a node is that its catalog does not list, "" when it lists it, or is complete.
func unpricedIn(p *capacity.Pool, n *api.NodeState) string {
	if labels := cluster.CanonicalLabels(n.Labels); unlisted(p, labels) {
		return OfferingText(labels)
	}
	return ""
}

// parsedProvisioning has beside it what was parsed of it.
type parsedProvisioning struct {
	*Provisioning
	specs map[string]*api.NodePool
	types map[string]*capacity.Catalog // by name
	pools map[[2]string]*capacity.Pool // by name and catalog
}

func parsed(m *Provisioning) *parsedProvisioning {
	s := &parsedProvisioning{Provisioning: m, types: map[string]*capacity.Catalog{}, pools: map[[2]string]*capacity.Pool{}, specs: map[string]*api.NodePool{}}
	for _, p := range m.Pools {
		s.specs[p.Name] = p
	}
	return s
}

// pool is a pool as a member has it, nil when it does not.
func (s *parsedProvisioning) pool(name, member string) *capacity.Pool {
	spec := s.specs[name]
	if spec == nil || !s.Has(member, spec.Annotations) {
		return nil
	}
	catalog, key := s.CatalogOf(member), [2]string{name, ""}
	if catalog != nil {
		key[1] = catalog.Name
	}
	if p := s.pools[key]; p != nil {
		return p
	}
	types := s.types[key[1]]
	if types == nil {
		types = capacity.NewCatalog(catalog)
		s.types[key[1]] = types
	}
	p := capacity.NewPool(spec, types, capacity.PoolOptions{ClassHash: s.Classes[name]})
	s.pools[key] = p
	return p
}

// Many reports an edit that a person may not have meant: more than a fifth of the pool's nodes drift by it,
// and more than two (N20).
func (e *Effect) Many() bool { return e.drifting() > 2 && 5*e.drifting() > e.Nodes }

func (e *Effect) drifting() int {
	n := 0
	for _, more := range e.Drift {
		n += more
	}
	return n
}

// DriftNote says how many nodes drift, and why.
func (e *Effect) DriftNote() string {
	reasons := slices.Sorted(maps.Keys(e.Drift))
	for i, reason := range reasons {
		if len(reasons) > 1 {
			reasons[i] = fmt.Sprintf("%s %d", reason, e.Drift[reason])
		}
	}
	return fmt.Sprintf("by this %d of the %s of NodePool %s on %s drift (%s) and are replaced, within its budgets",
		e.drifting(), phrase.Count(e.Nodes, "node"), e.Pool, phrase.Count(e.Members, "member"), strings.Join(reasons, ", "))
}

// UnlistedNote says of how many nodes a catalog does not know the price, and what to do; "" when it knows all.
func (e *Effect) UnlistedNote(catalog string) string {
	u, some := e.Unlisted[catalog]
	if !some {
		return ""
	}
	return fmt.Sprintf("%s: InstanceCatalog %s does not list %d of the %s of NodePool %s, such as %s: without a price they are not consolidated; "+
		"list them, or set spec.complete to true, if all that can be bought is listed: then they drift",
		CodeNotInCatalog, catalog, u.Nodes, phrase.Count(e.Nodes, "node"), e.Pool, u.Example)
}

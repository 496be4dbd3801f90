package door

import (
	"maps"
	"slices"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/validate"
)

// nodeWorld is what NodePools depend on, as it would be once a draft is committed. What cannot be read or is on
// its way out is left out: remarks are made of it, and nothing is decided.
type nodeWorld struct {
	pools    map[string]*api.NodePool
	catalogs []*api.InstanceCatalog
	members  map[string]map[string]string // labels by name
}

func (d *Door) nodeWorld(f *draft) *nodeWorld {
	w := &nodeWorld{members: map[string]map[string]string{}}
	w.pools = standing[api.NodePool](f, f.records.specs[api.KindNodePool])
	catalogs := standing[api.InstanceCatalog](f, f.records.specs[api.KindInstanceCatalog])
	w.catalogs = slices.Collect(maps.Values(catalogs))
	members := standing[api.MemberCluster](f, f.records.members)
	for name, member := range members {
		after := api.MemberFrom(member, d.recordAfter(name, member), f.now.Time)
		w.members[name] = after.Labels
	}
	return w
}

// standing are the objects of a kind that would be there, by name.
func standing[T any, P api.PointerTo[T]](f *draft, table *bus.Records[api.Spec]) map[string]*T {
	all := map[string]*T{}
	for _, entry := range table.All() {
		if _, going := f.going[entry.Value.Object]; going || entry.Value.Deleted != nil {
			continue
		}
		if value, err := api.SpecOf[T, P](&entry.Value); err == nil {
			all[entry.Name] = value
		}
	}
	for _, doc := range f.typed {
		if written := validate.As[T](&doc.Decoded); written != nil {
			all[doc.Object.Name] = written
		}
	}
	return all
}

// membersOf are the members that have a pool, sorted.
func (w *nodeWorld) membersOf(pool *api.NodePool) []string {
	var names []string
	for name, labels := range w.members {
		if len(disruption.PoolsFor(labels, []*api.NodePool{pool})) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// unpriced are the members of a pool that no catalog is for, sorted.
func (w *nodeWorld) unpriced(pool *api.NodePool) []string {
	return slices.DeleteFunc(w.membersOf(pool), func(name string) bool {
		return disruption.CatalogFor(w.members[name], w.catalogs) != nil
	})
}

// buyers are the members for which a catalog is the first that matches, sorted, and how many match it.
func (w *nodeWorld) buyers(catalog *api.InstanceCatalog) (first []string, matching int) {
	for name, labels := range w.members {
		if disruption.CatalogFor(labels, []*api.InstanceCatalog{catalog}) == nil {
			continue
		}
		matching++
		if disruption.CatalogFor(labels, w.catalogs).Name == catalog.Name {
			first = append(first, name)
		}
	}
	slices.Sort(first)
	return first, matching
}

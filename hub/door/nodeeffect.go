package door

import (
	"maps"
	"slices"

	"flotilla/core/api"
	"flotilla/core/disruption"
)

// classChange is a node class whose spec a draft changes.
type classChange struct {
	object        api.ObjectRef
	pools         []string // that name it
	before, after string   // hashes
}

// noteEffects says of a draft which nodes have no price after it, and how many drift by it when that are so
// many that nobody may have meant it (disruption.md N20).
func (d *Door) noteEffects(f *draft) {
	edits := f.edits()
	if d.options.Nodes == nil || len(edits) == 0 {
		return
	}
	nodes := d.options.Nodes()
	if len(nodes) == 0 {
		return
	}
	before, after := d.market(&draft{records: f.records, now: f.now}), d.market(f)
	for i := range f.classes {
		c := &f.classes[i]
		for _, pool := range c.pools {
			before.Classes[pool], after.Classes[pool] = c.before, c.after
		}
	}
	effects := disruption.Effects(nodes, before, after, f.now.Time)
	for i := range effects {
		f.noteEffect(&effects[i], edits)
	}
}

// edits are the objects of a draft by which nodes may drift: pools first, then catalogs, node classes and
// members.
func (f *draft) edits() []api.ObjectRef {
	var pools, catalogs, members []api.ObjectRef
	for _, doc := range f.typed {
		switch doc.Value.(type) {
		case *api.NodePool:
			pools = append(pools, doc.Object)
		case *api.InstanceCatalog:
			catalogs = append(catalogs, doc.Object)
		case *api.MemberCluster:
			members = append(members, doc.Object)
		}
	}
	for ref := range f.going {
		if ref.Kind == api.KindInstanceCatalog {
			catalogs = append(catalogs, ref)
		}
	}
	var classes []api.ObjectRef
	for i := range f.classes {
		classes = append(classes, f.classes[i].object)
	}
	return slices.Concat(pools, catalogs, classes, members)
}

// noteEffect tells the effect on one pool: its missing prices at the pool and at the catalogs that lack them,
// its drift where blamed says.
func (f *draft) noteEffect(e *disruption.Effect, edits []api.ObjectRef) {
	for _, ref := range edits {
		for _, catalog := range slices.Sorted(maps.Keys(e.Unlisted)) {
			if isPool(ref, e.Pool) || ref.Kind == api.KindInstanceCatalog && ref.Name == catalog {
				f.noteOn(ref.Kind, ref.Name, e.UnlistedNote(catalog))
			}
		}
	}
	if e.Many() {
		at := blamed(e.Pool, edits)
		f.noteOn(at.Kind, at.Name, e.DriftNote())
	}
}

// blamed is the edit at which the drift of a pool is told: the pool itself, else the first that is no pool.
func blamed(pool string, edits []api.ObjectRef) api.ObjectRef {
	at := slices.IndexFunc(edits, func(ref api.ObjectRef) bool { return isPool(ref, pool) })
	if at < 0 {
		at = slices.IndexFunc(edits, func(ref api.ObjectRef) bool { return ref.Kind != api.KindNodePool })
	}
	return edits[max(0, at)]
}

func isPool(ref api.ObjectRef, name string) bool {
	return ref.Kind == api.KindNodePool && ref.Name == name
}

// market is what nodes would be made from once a draft is committed.
func (d *Door) market(f *draft) *disruption.Market {
	w := d.nodeWorld(f)
	m := &disruption.Market{Catalogs: w.catalogs, Classes: map[string]string{}, Members: w.members}
	for _, p := range w.pools {
		m.Pools = append(m.Pools, p)
	}
	return m
}

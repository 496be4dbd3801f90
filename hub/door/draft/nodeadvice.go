package draft

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"flotilla/bus/store"
	"flotilla/core/advice"
	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/validate"
	"flotilla/hub/door/records"
)

// mostRemarks is how long a draft is looked at for what is remarkable about nodes: who drafts next waits for that.
const mostRemarks = 4 * time.Second

// Remark says what is remarkable about the nodes of a draft, as far as that is worked out in time. A draft that is not
// committed needs no turn for it.
func (f *Draft) Remark(ctx context.Context) {
	within, over := context.WithTimeout(ctx, mostRemarks)
	defer over()
	f.desk.noteNodes(within, f)
	f.desk.noteLost(within, f)
	f.desk.noteEffects(within, f)
	if within.Err() != nil && ctx.Err() == nil && len(f.Results) > 0 {
		f.note(f.Results[0].Object, fmt.Sprintf("what it does to nodes takes longer than %s to work out: not all of it is told", mostRemarks))
	}
}

// remarkable notes what is said of an object, unless nobody waits for it any more: then it may be wrong.
func (f *Draft) remarkable(ctx context.Context, object api.ObjectRef, notes []string) {
	if ctx.Err() == nil {
		f.note(object, notes...)
	}
}

// noteNodes says what is remarkable about the NodePools and InstanceCatalogs of a draft.
func (d *Desk) noteNodes(ctx context.Context, f *Draft) {
	provisioning := sync.OnceValue(func() *disruption.Provisioning { return d.provisioning(ctx, f) })
	for _, doc := range f.typed {
		switch value := doc.Value.(type) {
		case *api.NodePool:
			var record *api.PoolRecord
			if stored, revision, found := d.records.Specs[api.KindNodePool].Get(value.Name); found {
				record = d.records.PoolRecord(&stored)
				if before, err := records.Decoded[api.NodePool](d.records, &store.Entry[api.Spec]{Name: value.Name, Value: stored, Revision: revision}); err == nil {
					f.note(doc.Object, advice.PoolChange(before, value, record)...)
				}
			}
			f.remarkable(ctx, doc.Object, advice.Pool(provisioning(), value, record))
			f.note(doc.Object, advice.ClassMissing(value, func(ref api.ObjectRef) bool { _, held := f.index.Get(ref); return held })...)
		case *api.InstanceCatalog:
			f.remarkable(ctx, doc.Object, advice.Catalog(provisioning(), value))
		}
	}
}

// noteLost says of InstanceCatalogs and node classes that a draft deletes which pools lose them.
func (d *Desk) noteLost(ctx context.Context, f *Draft) {
	if len(f.going) == 0 {
		return
	}
	catalogs := map[api.ObjectRef]*api.InstanceCatalog{}
	classes := d.classes(nil)
	for ref := range f.going {
		if ref.Kind == api.KindNodePool {
			delete(classes, ref.Name)
		}
		stored, revision, found := f.records.Specs[api.KindInstanceCatalog].Get(ref.Name)
		if !found || ref.Kind != api.KindInstanceCatalog {
			continue
		}
		if catalog, err := records.Decoded[api.InstanceCatalog](f.records, &store.Entry[api.Spec]{Name: ref.Name, Value: stored, Revision: revision}); err == nil {
			catalogs[ref] = catalog
		}
	}
	if len(catalogs) > 0 {
		provisioning, going := d.provisioning(ctx, f), slices.Collect(maps.Values(catalogs))
		for ref, catalog := range catalogs {
			f.remarkable(ctx, ref, advice.CatalogGone(provisioning, going, catalog))
		}
	}
	for i := range f.Results {
		object := f.Results[i].Object
		if _, going := f.going[object]; going {
			f.note(object, advice.ClassGone(classes.Naming(object))...)
		}
	}
}

// provisioning is what nodes would be made from once a draft is committed. What cannot be read or is on its way out is left
// out: remarks are made of it, and nothing is decided.
func (d *Desk) provisioning(ctx context.Context, f *Draft) *disruption.Provisioning {
	pools := standing[api.NodePool](ctx, f, f.records.Specs[api.KindNodePool])
	m := &disruption.Provisioning{
		Catalogs: slices.Collect(maps.Values(standing[api.InstanceCatalog](ctx, f, f.records.Specs[api.KindInstanceCatalog]))),
		Classes:  map[string]string{}, Members: map[string]map[string]string{}, Ended: func() bool { return ctx.Err() != nil },
	}
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		m.Pools = append(m.Pools, pools[name])
	}
	for name, member := range standing[api.MemberCluster](ctx, f, f.records.Members) {
		after := api.MemberFrom(member, d.records.RecordAfter(name, member), f.now.Time)
		m.Members[name] = after.Labels
	}
	return m
}

// standing are the objects of a kind that would be there, by name; not all of them where nobody waits any more.
func standing[T any, P api.PointerTo[T]](ctx context.Context, f *Draft, table *store.Records[api.Spec]) map[string]*T {
	all := map[string]*T{}
	for _, entry := range table.All() {
		if ctx.Err() != nil {
			break
		}
		if _, going := f.going[entry.Value.Object]; going || entry.Value.Deleted != nil {
			continue
		}
		if value, err := records.Decoded[T, P](f.records, &entry); err == nil {
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

// noteEffects says of a draft which nodes have no price after it, and how many drift by it when that are so
// many that nobody may have meant it (N20).
func (d *Desk) noteEffects(ctx context.Context, f *Draft) {
	edits := f.edits()
	if d.options.Nodes == nil || len(edits) == 0 {
		return
	}
	after := d.provisioning(ctx, f)
	if len(after.Pools) == 0 {
		return // no node is measured against anything, and none has to be counted
	}
	nodes := d.options.Nodes(ctx)
	if len(nodes) == 0 {
		return
	}
	before := d.provisioning(ctx, &Draft{records: f.records, now: f.now})
	for i := range f.classes {
		c := &f.classes[i]
		for _, pool := range c.Pools {
			before.Classes[pool], after.Classes[pool] = c.Before, c.After
		}
	}
	effects := disruption.Effects(nodes, before, after, f.now.Time)
	advice.Effects(effects, edits, func(at api.ObjectRef, note string) { f.remarkable(ctx, at, []string{note}) })
}

// edits are the objects of a draft by which nodes may drift: pools first, then catalogs, node classes and
// members.
func (f *Draft) edits() []api.ObjectRef {
	of := func(kind string) (refs []api.ObjectRef) {
		for _, doc := range f.typed {
			if doc.Object.Kind == kind {
				refs = append(refs, doc.Object)
			}
		}
		return refs
	}
	var going, classes []api.ObjectRef
	for ref := range f.going {
		if ref.Kind == api.KindInstanceCatalog {
			going = append(going, ref)
		}
	}
	for i := range f.classes {
		classes = append(classes, f.classes[i].Object)
	}
	return slices.Concat(of(api.KindNodePool), of(api.KindInstanceCatalog), going, classes, of(api.KindMemberCluster))
}

package records

import (
	"context"

	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/render"
)

// parsed is what was made of records, once a revision, by name.
type parsed struct {
	placements watch.Parsed[*api.Placement]
	members    watch.Parsed[api.Member]
	overrides  watch.Parsed[*render.Override]
	// objects are those of members and of named kinds, by kind.
	objects map[string]*watch.Parsed[any]
}

// follow keeps what is made of records, and forgets that of records that go.
func (r *Tables) follow() {
	r.parsed.objects = map[string]*watch.Parsed[any]{api.KindMemberCluster: {}}
	for kind, table := range r.Specs {
		held := &watch.Parsed[any]{}
		r.parsed.objects[kind] = held
		table.OnChange(func(name string) {
			if table.Revision(name) == 0 {
				held.Drop(name)
				r.parsed.overrides.Drop(name)
			}
		})
	}
}

// Decoded is the object of an entry, of a member or of a named kind, decoded once a revision; it is shared and must not be changed.
func Decoded[T any, P api.PointerTo[T]](r *Tables, entry *store.Entry[api.Spec]) (*T, error) {
	held, kept := r.parsed.objects[entry.Value.Object.Kind]
	if !kept {
		return api.SpecOf[T, P](&entry.Value)
	}
	value, err := held.Of(entry.Name, entry.Revision, func() (any, error) { return api.SpecOf[T, P](&entry.Value) })
	if err != nil {
		return nil, err
	}
	if object, is := value.(*T); is {
		return object, nil
	}
	return api.SpecOf[T, P](&entry.Value)
}

// Override is the override of an entry without its rules, decoded once a revision; it is shared and must not be changed.
func (r *Tables) Override(entry *store.Entry[api.Spec]) (*render.Override, error) {
	return r.parsed.overrides.Of(entry.Name, entry.Revision, func() (*render.Override, error) { return render.Head(&entry.Value) })
}

// Ahead decodes what objects are judged with, so that nobody waits for that who waits for the turn of those who judge them. It ends with
// the context.
func (r *Tables) Ahead(ctx context.Context, objects []api.ObjectRef) {
	each := func(table *store.Records[api.Spec], decode func(*store.Entry[api.Spec])) {
		entries := table.All()
		for i := 0; i < len(entries) && ctx.Err() == nil; i++ {
			decode(&entries[i])
		}
	}
	kinds := map[string]bool{}
	for i := range objects {
		kinds[objects[i].Kind] = true
	}
	// What cannot be decoded is told of by whoever judges.
	each(r.Specs[api.KindNodePool], func(e *store.Entry[api.Spec]) { _, _ = Decoded[api.NodePool](r, e) })
	if kinds[api.KindNodePool] || kinds[api.KindInstanceCatalog] || kinds[api.KindMemberCluster] {
		each(r.Specs[api.KindInstanceCatalog], func(e *store.Entry[api.Spec]) { _, _ = Decoded[api.InstanceCatalog](r, e) })
		each(r.Members, func(e *store.Entry[api.Spec]) { _, _ = r.member(e) })
	}
	if kinds[api.KindClusterResourceOverride] || kinds[api.KindResourceOverride] {
		each(r.Specs[api.KindClusterResourceOverride], func(e *store.Entry[api.Spec]) { _, _ = r.Override(e) })
	}
}

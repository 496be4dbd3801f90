package door

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/health"
	"flotilla/subjects"
)

// storeProblems are those of what is stored, and of where it is.
func (d *Door) storeProblems(ctx context.Context) []api.Problem {
	var filling []api.Problem
	if d.options.Streams != nil {
		filling = d.options.Streams()
	}
	return slices.Concat(d.roomProblems(), filling, d.unreadableProblems(), d.sealingProblems(), d.layoutProblems(ctx))
}

// layoutProblems are the settings of streams that are not what this hub would make them.
func (d *Door) layoutProblems(ctx context.Context) []api.Problem {
	differences, err := d.store.Differences(ctx)
	if err != nil {
		differences = d.store.Layout.Differences
	}
	var problems []api.Problem
	for _, difference := range differences {
		problems = append(problems, api.Problem{
			Object: api.AuditObject(api.AuditStream, difference.Stream), Reason: "StreamDiffers", Message: difference.String(),
			Since: metav1.NewTime(d.judgeFrom.Add(-d.options.Grace)), Next: difference.Command(),
		})
	}
	return problems
}

// roomProblems is what is wrong with the room.
func (d *Door) roomProblems() []api.Problem {
	why := roomless(d.room())
	if why == "" {
		return nil
	}
	return []api.Problem{{
		Object: "hub/" + d.options.Replica, Reason: health.ReasonNoRoom, Message: why, Next: look(d.room()),
	}}
}

// sealingProblems says how far content has been sealed anew, while it is.
func (d *Door) sealingProblems() []api.Problem {
	in, err := d.store.Sealing()
	if err != nil || len(in.Content) < 2 {
		return nil
	}
	return []api.Problem{{
		Object: "fleet/" + d.store.Conn.Fleet.Name, Reason: health.ReasonResealing, Next: "flotilla status",
		Message: fmt.Sprintf("%d of %d bodies are sealed with secret %s; until all are every hub needs those before it too",
			d.resealing.done.Load(), d.resealing.of.Load(), in.Content[0]),
	}}
}

// unreadableProblems are about all stored records that cannot be read.
func (d *Door) unreadableProblems() []api.Problem {
	var problems []api.Problem
	tell := func(object, next string, err error) {
		problems = append(problems, health.Unreadable(object, next, err))
	}
	const mend = "; apply it again or delete it"
	specs := map[string]*bus.Records[api.Spec]{
		subjects.KindPlacement: d.records.placements, subjects.KindMember: d.records.members, subjects.KindObject: d.records.objects,
	}
	for kind, table := range d.records.specs {
		specs[namedKinds[kind].token] = table
	}
	for _, kind := range slices.Sorted(maps.Keys(specs)) {
		broken := specs[kind].Broken()
		for _, name := range slices.Sorted(maps.Keys(broken)) {
			next := kind + "/" + name
			if kind == subjects.KindObject {
				next = "" // nobody knows of what kind it is
			}
			tell(kind+"/"+name, next, fmt.Errorf("its record cannot be decoded: %w%s", broken[name], mend))
		}
	}
	for _, t := range []struct {
		kind, record string
		what         map[string]error
	}{
		{subjects.KindPlacement, "schedule", d.records.schedules.Broken()},
		{subjects.KindPlacement, "release", d.records.releases.Broken()},
		{subjects.KindMember, "member", d.records.seen.Broken()},
		{subjects.KindNodePool, "pool", d.records.pools.Broken()},
	} {
		for _, name := range slices.Sorted(maps.Keys(t.what)) {
			tell(t.kind+"/"+name, t.kind+"/"+name, fmt.Errorf("record %s cannot be decoded: %w", t.record, t.what[name]))
		}
	}
	broken := d.records.snapshots.Broken()
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		placement, index, _ := subjects.SplitSnapshot(name)
		object := subjects.KindPlacement + "/" + placement
		tell(object, object, fmt.Errorf("its snapshot %d cannot be decoded: %w", index, broken[name]))
	}
	for _, table := range []*bus.Records[api.Spec]{d.records.placements, d.records.members, d.records.specs[api.KindNodePool]} {
		for _, entry := range table.All() {
			if !readable(&entry.Value) {
				tell(auditName(entry.Value.Object), typed(entry.Value.Object), fmt.Errorf("its body cannot be decoded%s", mend))
			}
		}
	}
	return problems
}

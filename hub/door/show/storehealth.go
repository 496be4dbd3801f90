package show

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/health"
	"flotilla/hub/door/records"
	"flotilla/subjects"
)

// storeProblems are those of what is stored, and of where it is.
func (v *View) storeProblems(ctx context.Context) []api.Problem {
	return slices.Concat(v.options.Problems(), v.unreadableProblems(), v.sealingProblems(), v.layoutProblems(ctx))
}

// layoutProblems are the settings of streams that are not what this hub would make them.
func (v *View) layoutProblems(ctx context.Context) []api.Problem {
	differences, err := v.store.Differences(ctx)
	if err != nil {
		differences = v.store.Layout.Differences
	}
	var problems []api.Problem
	for _, difference := range differences {
		problems = append(problems, api.Problem{
			Object: api.AuditObject(api.AuditStream, difference.Stream), Reason: "StreamDiffers", Message: difference.String(),
			Since: metav1.NewTime(v.began), Next: difference.Command(),
		})
	}
	return problems
}

// sealingProblems says how far content has been sealed anew, while it is.
func (v *View) sealingProblems() []api.Problem {
	in, err := v.store.Sealing()
	if err != nil || len(in.Content) < 2 {
		return nil
	}
	done, of := v.options.Resealed()
	return []api.Problem{{
		Object: "fleet/" + v.store.Conn.Fleet.Name, Reason: health.ReasonResealing, Next: "flotilla status",
		Message: fmt.Sprintf("%d of %d bodies are sealed with secret %s; until all are every hub needs those before it too",
			done, of, in.Content[0]),
	}}
}

// unreadableProblems are about all stored records that cannot be read.
func (v *View) unreadableProblems() []api.Problem {
	var problems []api.Problem
	tell := func(object, next string, err error) {
		problems = append(problems, health.Unreadable(object, next, err))
	}
	const mend = "; apply it again or delete it"
	specs := map[string]*store.Records[api.Spec]{
		subjects.KindPlacement: v.records.Placements, subjects.KindMember: v.records.Members, subjects.KindObject: v.records.Objects,
	}
	for kind, table := range v.records.Specs {
		specs[records.Kinds[kind].Token] = table
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
		{subjects.KindPlacement, "schedule", v.records.Schedules.Broken()},
		{subjects.KindPlacement, "release", v.records.Releases.Broken()},
		{subjects.KindMember, "member", v.records.Seen.Broken()},
		{subjects.KindNodePool, "pool", v.records.Pools.Broken()},
	} {
		for _, name := range slices.Sorted(maps.Keys(t.what)) {
			tell(t.kind+"/"+name, t.kind+"/"+name, fmt.Errorf("record %s cannot be decoded: %w", t.record, t.what[name]))
		}
	}
	broken := v.records.Snapshots.Broken()
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		placement, index, _ := subjects.SplitSnapshot(name)
		object := subjects.KindPlacement + "/" + placement
		tell(object, object, fmt.Errorf("its snapshot %d cannot be decoded: %w", index, broken[name]))
	}
	for _, table := range []*store.Records[api.Spec]{v.records.Placements, v.records.Members, v.records.Specs[api.KindNodePool]} {
		for _, entry := range table.All() {
			if !records.Readable(&entry.Value) {
				tell(records.EventName(entry.Value.Object), records.Typed(entry.Value.Object), fmt.Errorf("its body cannot be decoded%s", mend))
			}
		}
	}
	return problems
}

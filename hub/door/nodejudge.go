package door

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/content"
	"flotilla/core/disruption"
	"flotilla/core/validate"
)

// judgeNodes says what is remarkable about the NodePools and InstanceCatalogs of a draft.
func (d *Door) judgeNodes(f *draft) {
	world := sync.OnceValue(func() *nodeWorld { return d.nodeWorld(f) })
	for _, doc := range f.typed {
		switch value := doc.Value.(type) {
		case *api.NodePool:
			f.note(doc, d.changeNotes(value)...)
			f.note(doc, world().poolNotes(value, d.withoutNodes(value.Name))...)
			f.note(doc, f.classMissing(value)...)
		case *api.InstanceCatalog:
			f.note(doc, world().catalogNotes(value)...)
		}
	}
}

// changeNotes say what nodes a change of a stored pool replaces.
func (d *Door) changeNotes(pool *api.NodePool) []string {
	stored, _, found := d.records.specs[api.KindNodePool].Get(pool.Name)
	if !found {
		return nil
	}
	before, err := api.SpecOf[api.NodePool](&stored)
	if err != nil {
		return nil
	}
	nodes, some := d.standingNodes(&stored)
	if !some {
		return nil
	}
	var notes []string
	if capacity.PoolHash(before) != capacity.PoolHash(pool) {
		notes = append(notes, "its template changes: of "+nodes+" those that carry "+api.AnnotationPoolHash+" drift ("+
			disruption.DriftPool+") and are replaced, within its budgets")
	}
	if !reflect.DeepEqual(before.Spec.Template.Spec.Requirements, pool.Spec.Template.Spec.Requirements) {
		notes = append(notes, "its requirements change: of "+nodes+" those that do not satisfy them drift ("+
			disruption.DriftRequirements+") and are replaced, within its budgets")
	}
	return notes
}

// standingNodes counts the nodes of a pool, for people; false when there are none for certain.
func (d *Door) standingNodes(stored *api.Spec) (text string, some bool) {
	record := d.records.poolRecord(stored)
	if record == nil {
		return "its nodes", true
	}
	nodes, on, unknown := 0, 0, false
	for i := range record.Members {
		m := &record.Members[i]
		unknown = unknown || m.Unknown != ""
		if nodes += m.Nodes; m.Nodes > 0 {
			on++
		}
	}
	if unknown {
		return "its nodes", true
	}
	return fmt.Sprintf("its %s on %s", count(nodes, "node"), count(on, "member")), nodes > 0
}

// withoutNodes are the members that are known to have no node of a pool.
func (d *Door) withoutNodes(pool string) []string {
	stored, _, found := d.records.specs[api.KindNodePool].Get(pool)
	if !found {
		return nil
	}
	var names []string
	if record := d.records.poolRecord(&stored); record != nil {
		for i := range record.Members {
			if m := &record.Members[i]; m.Nodes == 0 && m.Unknown == "" {
				names = append(names, m.Member)
			}
		}
	}
	return names
}

// poolNotes say what a pool lacks, and with whom it disagrees. Members without nodes of it need no prices.
func (w *nodeWorld) poolNotes(pool *api.NodePool, without []string) []string {
	var notes []string
	members := w.membersOf(pool)
	if selector, restricted := pool.Annotations[api.AnnotationMembers]; restricted && len(members) == 0 {
		notes = append(notes, fmt.Sprintf("no member matches %s %q yet", api.AnnotationMembers, selector))
	}
	unpriced := slices.DeleteFunc(w.unpriced(pool), func(member string) bool { return slices.Contains(without, member) })
	switch {
	case len(members) == 0 && len(w.catalogs) == 0:
		notes = append(notes, "there is no InstanceCatalog yet: "+unpricedMeans)
	case len(unpriced) > 0:
		notes = append(notes, "no InstanceCatalog is for "+enumerate(unpriced)+": "+unpricedMeans)
	}
	return append(notes, w.fleetBudgetNotes(pool)...)
}

// unpricedMeans is what follows where no InstanceCatalog is.
const unpricedMeans = "without types and prices none of its nodes is disrupted"

// fleetBudgetNotes name the pools that share a fleet-wide budget and state another amount for it.
func (w *nodeWorld) fleetBudgetNotes(pool *api.NodePool) []string {
	shared, nodes, given := validate.FleetBudget(pool.Annotations[api.AnnotationFleetBudget])
	if !given {
		return nil
	}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(w.pools)) {
		other, amount, ok := validate.FleetBudget(w.pools[name].Annotations[api.AnnotationFleetBudget])
		if ok && other == shared && amount != nodes {
			others = append(others, fmt.Sprintf("%s says %s", name, amount))
		}
	}
	if len(others) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: this pool says %s=%s, %s; what allows least counts", api.AnnotationFleetBudget, shared, nodes, strings.Join(others, ", "))}
}

// classMissing says that the hub does not hold the node class that a pool names.
func (f *draft) classMissing(pool *api.NodePool) []string {
	ref := pool.Spec.Template.Spec.NodeClassRef
	if ref == nil || ref.Kind == "" {
		return nil
	}
	group := cmp.Or(ref.Group, content.GroupOf(ref.APIVersion))
	if group == "" {
		return nil
	}
	if _, held := f.index.Get(api.ObjectRef{APIVersion: group + "/v1", Kind: ref.Kind, Name: ref.Name}); held {
		return nil
	}
	return []string{fmt.Sprintf("the hub does not hold %s %s: apply it too, or changes of it are not seen as drift", ref.Kind, ref.Name)}
}

// catalogNotes say of a catalog whom it is not for.
func (w *nodeWorld) catalogNotes(catalog *api.InstanceCatalog) []string {
	first, matching := w.buyers(catalog)
	switch selector, restricted := catalog.Annotations[api.AnnotationMembers]; {
	case matching == 0 && restricted:
		return []string{fmt.Sprintf("no member matches %s %q yet", api.AnnotationMembers, selector)}
	case matching > 0 && len(first) == 0:
		return []string{"no member buys from it: of the catalogs that match a member the first by name counts"}
	}
	return nil
}

// noteUnpriced says of InstanceCatalogs that a draft deletes which pools lose their prices.
func (d *Door) noteUnpriced(f *draft) {
	var catalogs []*api.InstanceCatalog
	for ref := range f.going {
		stored, _, found := f.records.specs[api.KindInstanceCatalog].Get(ref.Name)
		if !found || ref.Kind != api.KindInstanceCatalog {
			continue
		}
		if catalog, err := api.SpecOf[api.InstanceCatalog](&stored); err == nil {
			catalogs = append(catalogs, catalog)
		}
	}
	if len(catalogs) == 0 {
		return
	}
	after := d.nodeWorld(f)
	before := &nodeWorld{members: after.members, catalogs: append(catalogs, after.catalogs...)}
	for _, catalog := range catalogs {
		first, _ := before.buyers(catalog)
		f.noteOn(api.KindInstanceCatalog, catalog.Name, after.lossNotes(first)...)
	}
}

// lossNotes name the pools that are without prices on members that just lost their catalog.
func (w *nodeWorld) lossNotes(members []string) []string {
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(w.pools)) {
		lost := slices.DeleteFunc(w.unpriced(w.pools[name]), func(m string) bool { return !slices.Contains(members, m) })
		switch {
		case len(lost) > 0:
			notes = append(notes, fmt.Sprintf("NodePool %s loses its prices on %s: %s", name, enumerate(lost), unpricedMeans))
		case len(w.members) == 0 && len(w.catalogs) == 0:
			notes = append(notes, "NodePool "+name+" loses its prices: "+unpricedMeans)
		}
	}
	return notes
}

package advice

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/phrase"
	"flotilla/core/validate"
)

// unpricedMeans is what follows where no InstanceCatalog is.
const unpricedMeans = "without types and prices none of its nodes is disrupted"

// PoolChange says what nodes a change of a pool replaces; record is what is known of its nodes, nil when nothing is.
func PoolChange(before, after *api.NodePool, record *api.PoolRecord) (notes []string) {
	nodes, some := standing(record)
	if !some {
		return nil
	}
	drift := func(changes, those, reason string) {
		notes = append(notes, "its "+changes+": of "+nodes+" those that "+those+" drift ("+reason+") and are replaced, within its budgets")
	}
	if capacity.PoolHash(before) != capacity.PoolHash(after) {
		drift("template changes", "carry "+api.AnnotationPoolHash, disruption.DriftPool)
	}
	if !reflect.DeepEqual(before.Spec.Template.Spec.Requirements, after.Spec.Template.Spec.Requirements) {
		drift("requirements change", "do not satisfy them", disruption.DriftRequirements)
	}
	return notes
}

// standing counts the nodes of a pool, for people; false when there are none for certain.
func standing(record *api.PoolRecord) (text string, some bool) {
	if record == nil {
		return "its nodes", true
	}
	nodes, on := 0, 0
	for i := range record.Members {
		m := &record.Members[i]
		if m.Unknown != "" {
			return "its nodes", true
		}
		if nodes += m.Nodes; m.Nodes > 0 {
			on++
		}
	}
	return fmt.Sprintf("its %s on %s", phrase.Count(nodes, "node"), phrase.Count(on, "member")), nodes > 0
}

// Pool says what a pool lacks, and with whom it disagrees. Members without nodes of it, by what is known of its nodes,
// need no prices.
func Pool(m *disruption.Provisioning, pool *api.NodePool, record *api.PoolRecord) []string {
	var notes []string
	members := membersOf(m, pool)
	if len(members) == 0 {
		notes = append(notes, matchless(pool.Annotations)...)
	}
	lacking := slices.DeleteFunc(unpriced(m, members), func(member string) bool { return without(record, member) })
	switch {
	case len(members) == 0 && len(m.Catalogs) == 0:
		notes = append(notes, "there is no InstanceCatalog yet: "+unpricedMeans)
	case len(lacking) > 0:
		notes = append(notes, "no InstanceCatalog is for "+phrase.Enumerate(lacking)+": "+unpricedMeans)
	}
	return append(notes, fleetBudget(m, pool)...)
}

// matchless says that no member matches the selector of an object, where it has one.
func matchless(annotations map[string]string) []string {
	selector, restricted := annotations[api.AnnotationMembers]
	if !restricted {
		return nil
	}
	return []string{fmt.Sprintf("no member matches %s %q yet", api.AnnotationMembers, selector)}
}

// without says that a member is known to have no node of a pool.
func without(record *api.PoolRecord, member string) bool {
	return record != nil && slices.ContainsFunc(record.Members, func(m api.PoolMember) bool {
		return m.Member == member && m.Nodes == 0 && m.Unknown == ""
	})
}

// fleetBudget names the pools that share a fleet-wide budget and state another amount for it.
func fleetBudget(m *disruption.Provisioning, pool *api.NodePool) []string {
	shared, nodes, given := validate.FleetBudget(pool.Annotations[api.AnnotationFleetBudget])
	if !given {
		return nil
	}
	var others []string
	for _, p := range m.Pools {
		other, amount, ok := validate.FleetBudget(p.Annotations[api.AnnotationFleetBudget])
		if ok && other == shared && amount != nodes {
			others = append(others, fmt.Sprintf("%s says %s", p.Name, amount))
		}
	}
	if len(others) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: this pool says %s=%s, %s; what allows least counts", api.AnnotationFleetBudget, shared, nodes, strings.Join(others, ", "))}
}

// Catalog says of a catalog whom it is not for.
func Catalog(m *disruption.Provisioning, catalog *api.InstanceCatalog) []string {
	switch first, matching := priced(m, catalog); {
	case matching == 0:
		return matchless(catalog.Annotations)
	case len(first) == 0:
		return []string{"no member buys from it: of the catalogs that match a member the first by name counts"}
	}
	return nil
}

// CatalogGone says which pools lose their prices with one of the catalogs that go, of what is left without them.
func CatalogGone(m *disruption.Provisioning, going []*api.InstanceCatalog, catalog *api.InstanceCatalog) []string {
	before := disruption.Provisioning{Catalogs: slices.Concat(m.Catalogs, going), Members: m.Members, Ended: m.Ended}
	priced, _ := priced(&before, catalog)
	var notes []string
	for _, p := range m.Pools {
		lost := slices.DeleteFunc(unpriced(m, membersOf(m, p)), func(m string) bool { return !slices.Contains(priced, m) })
		switch {
		case len(lost) > 0:
			notes = append(notes, fmt.Sprintf("NodePool %s loses its prices on %s: %s", p.Name, phrase.Enumerate(lost), unpricedMeans))
		case len(m.Members) == 0 && len(m.Catalogs) == 0:
			notes = append(notes, "NodePool "+p.Name+" loses its prices: "+unpricedMeans)
		}
	}
	return notes
}

// membersOf are the members that have a pool, sorted.
func membersOf(m *disruption.Provisioning, pool *api.NodePool) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m.Members)) {
		if m.Has(name, pool.Annotations) {
			names = append(names, name)
		}
	}
	return names
}

// unpriced are those of members that no catalog is for.
func unpriced(m *disruption.Provisioning, members []string) []string {
	return slices.DeleteFunc(slices.Clone(members), func(name string) bool {
		return m.CatalogOf(name) != nil
	})
}

// priced are the members for which a catalog is the first that matches, and how many match it.
func priced(m *disruption.Provisioning, catalog *api.InstanceCatalog) (first []string, matching int) {
	for name := range m.Members {
		if !m.Has(name, catalog.Annotations) {
			continue
		}
		matching++
		if of := m.CatalogOf(name); of != nil && of.Name == catalog.Name {
			first = append(first, name)
		}
	}
	return first, matching
}

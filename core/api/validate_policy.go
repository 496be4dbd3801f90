package api

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	maxClusterNames  = 100
	maxSelectorTerms = 10
	maxWeight        = 100
	maxTolerations   = 100
	maxTaints        = 100
)

var placementTypes = []string{string(PickAll), string(PickN), string(PickFixed)}

// may reports whether the policy is of one of the types, or of one that nobody can tell.
func may(p *Policy, types ...PlacementType) bool {
	return slices.Contains(types, p.Type()) || !slices.Contains(placementTypes, string(p.Type()))
}

// policy checks which members a placement goes to (placement.md 2.1).
func (fs rules) policy(p *Policy, at *place) {
	if p == nil {
		return
	}
	if !fs.choice(string(p.PlacementType), at.child("placementType"), placementTypes...) {
		asMeant := *p
		asMeant.PlacementType = PlacementType(cmp.Or(meant(string(p.PlacementType), placementTypes...), string(p.PlacementType)))
		p = &asMeant
	}
	fs.memberNames(p, at.child("clusterNames"))
	fs.memberCount(p, at.child("numberOfClusters"))
	fs.affinity(p, at.child("affinity"))
	fs.spread(p, at.child("topologySpreadConstraints"))
	fs.tolerations(p, at.child("tolerations"))
}

// belongs records a field that the type of the placement does not have.
func (fs rules) belongs(at *place, found string, p *Policy, types string) {
	fs.add(at, found, "nothing: "+types+" only, and placementType is "+string(p.Type()), nil)
}

func (fs rules) memberNames(p *Policy, at *place) {
	names := p.ClusterNames
	switch {
	case !may(p, PickFixed) && len(names) > 0:
		fs.belongs(at, listOf(len(names)), p, "PickFixed")
		return
	case p.Type() == PickFixed && len(names) == 0:
		fs.add(at, "nothing", "at least one name, because placementType is PickFixed", nil)
	case len(names) > maxClusterNames:
		fs.add(at, listOf(len(names)), fmt.Sprintf("at most %d names", maxClusterNames), nil)
		return
	}
	for i, name := range names {
		fs.subdomain(name, at.item(i))
		if j := slices.Index(names, name); j < i {
			fs.add(at.item(i), quote(name)+" again", "each name once", nil)
		}
	}
}

func (fs rules) memberCount(p *Policy, at *place) {
	n := p.NumberOfClusters
	switch {
	case !may(p, PickN) && n != nil:
		fs.belongs(at, number(*n), p, "PickN")
	case p.Type() == PickN && n == nil:
		fix := numberNode(2)
		fix.comment = "choose how many members you want"
		fs.add(at, "nothing", "the number of members wanted, 0 or more, because placementType is PickN", fix)
	case n != nil && *n < 0:
		fs.add(at, number(*n), "a number of 0 or more", nil)
	}
}

func (fs rules) affinity(p *Policy, at *place) {
	if p.Affinity == nil {
		return
	}
	if p.Type() == PickFixed {
		fs.belongs(at, "a map", p, "PickAll and PickN")
	}
	a := p.Affinity.ClusterAffinity
	if a == nil {
		return
	}
	at = at.child("clusterAffinity")
	if a.Required != nil {
		fs.required(a.Required.ClusterSelectorTerms, at.in("requiredDuringSchedulingIgnoredDuringExecution", "clusterSelectorTerms"))
	}
	preferred := at.child("preferredDuringSchedulingIgnoredDuringExecution")
	if p.Type() == PickAll && len(a.Preferred) > 0 {
		fs.belongs(preferred, listOf(len(a.Preferred)), p, "PickN")
	}
	for i := range a.Preferred {
		fs.preferred(&a.Preferred[i], preferred.item(i))
	}
}

func (fs rules) required(terms []ClusterSelectorTerm, at *place) {
	if len(terms) > maxSelectorTerms {
		fs.add(at, listOf(len(terms)), fmt.Sprintf("at most %d terms", maxSelectorTerms), nil)
	}
	for i := range terms {
		term, at := &terms[i], at.item(i)
		fs.labelSelector(term.LabelSelector, at.child("labelSelector"))
		if term.PropertySelector != nil {
			fs.expressions(term.PropertySelector.MatchExpressions, at.in("propertySelector", "matchExpressions"))
		}
		for name, sorter := range map[string]*PropertySorter{"propertySorter": term.PropertySorter, "metricSorter": term.MetricSorter} {
			if sorter != nil {
				fs.add(at.child(name), "a map", "nothing: required terms filter, only preferred terms sort", nil)
			}
		}
	}
}

func (fs rules) preferred(t *PreferredClusterTerm, at *place) {
	if t.Weight < -maxWeight || t.Weight > maxWeight {
		fs.add(at.child("weight"), number(t.Weight), fmt.Sprintf("a number from -%d to %d", maxWeight, maxWeight), nil)
	}
	term, at := &t.Preference, at.child("preference")
	fs.labelSelector(term.LabelSelector, at.child("labelSelector"))
	if term.PropertySelector != nil {
		fs.add(at.child("propertySelector"), "a map", "nothing: preferred terms sort by a property, only required terms select by it", nil)
	}
	if term.PropertySorter != nil && term.MetricSorter != nil {
		fs.add(at.child("metricSorter"), "both propertySorter and metricSorter", "one of them: they are two spellings of the same", nil)
	}
	fs.sorter(term.PropertySorter, at.child("propertySorter"))
	fs.sorter(term.MetricSorter, at.child("metricSorter"))
}

func (fs rules) sorter(s *PropertySorter, at *place) {
	if s == nil {
		return
	}
	fs.propertyName(s.Name, at.child("name"))
	if s.SortOrder == "" {
		fs.add(at.child("sortOrder"), "nothing", "Ascending or Descending", nil)
	}
	fs.choice(s.SortOrder, at.child("sortOrder"), Ascending, Descending)
}

func (fs rules) spread(p *Policy, at *place) {
	constraints := p.TopologySpreadConstraints
	if !may(p, PickN) && len(constraints) > 0 {
		fs.belongs(at, listOf(len(constraints)), p, "PickN")
	}
	for i, c := range constraints {
		at := at.item(i)
		fs.qualifiedName(c.TopologyKey, at.child("topologyKey"))
		if c.MaxSkew != nil && *c.MaxSkew < 1 {
			fs.add(at.child("maxSkew"), number(*c.MaxSkew), "a number of 1 or more", nil)
		}
		fs.choice(c.WhenUnsatisfiable, at.child("whenUnsatisfiable"), DoNotSchedule, ScheduleAnyway)
	}
}

func (fs rules) tolerations(p *Policy, at *place) {
	all := p.Tolerations
	if p.Type() == PickFixed && len(all) > 0 {
		fs.belongs(at, listOf(len(all)), p, "PickAll and PickN")
	}
	if len(all) > maxTolerations {
		fs.add(at, listOf(len(all)), fmt.Sprintf("at most %d tolerations", maxTolerations), nil)
		return
	}
	for i, t := range all {
		fs.toleration(t, at.item(i))
		if j := slices.IndexFunc(all, func(o Toleration) bool { return withOperator(o) == withOperator(t) }); j < i {
			fs.add(at.item(i), fmt.Sprintf("the same toleration as item %d", j), "each toleration once", nil)
		}
	}
}

// withOperator spells out the default operator.
func withOperator(t Toleration) Toleration {
	if t.Operator == "" {
		t.Operator = TolerationEqual
	}
	return t
}

func (fs rules) toleration(t Toleration, at *place) {
	fs.choice(t.Operator, at.child("operator"), TolerationEqual, TolerationExists)
	operator := meant(withOperator(t).Operator, TolerationEqual, TolerationExists)
	exists := operator == TolerationExists
	switch {
	case t.Key == "" && operator == TolerationEqual:
		fs.add(at.child("key"), "nothing", "a key, or operator Exists to tolerate every taint", nil)
	case t.Key != "":
		fs.qualifiedName(t.Key, at.child("key"))
	}
	if exists && t.Value != "" {
		fs.add(at.child("value"), quote(t.Value), "nothing, because operator is Exists", nil)
	}
	if !exists {
		fs.labelValue(t.Value, at.child("value"))
	}
	fs.choice(t.Effect, at.child("effect"), EffectNoSchedule)
}

func listOf(n int) string { return fmt.Sprintf("a list of %d", n) }

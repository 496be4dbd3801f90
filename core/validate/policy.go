package validate

import (
	"cmp"
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/strict"
)

const (
	maxClusterNames  = 100
	maxSelectorTerms = 10
	maxWeight        = 100
	maxTolerations   = 100
	maxTaints        = 100
	// maxPreferredTerms and maxExpressions are far above what anybody weighs; each is asked of every member.
	maxPreferredTerms = 100
	maxExpressions    = 100
	// maxConstraints is for each sort of domain that members lie in: each pick is held against all domains of all of them.
	maxConstraints = 10
)

var placementTypes = []string{string(api.PickAll), string(api.PickN), string(api.PickFixed)}

// may reports whether the policy is of one of the types, or of one that nobody can tell.
func may(p *api.Policy, types ...api.PlacementType) bool {
	return slices.Contains(types, p.Type()) || !slices.Contains(placementTypes, string(p.Type()))
}

// policy checks which members a placement goes to.
func (fs rules) policy(p *api.Policy, at *strict.Place) {
	if p == nil {
		return
	}
	if !fs.choice(string(p.PlacementType), at.Child("placementType"), placementTypes...) {
		asMeant := *p
		asMeant.PlacementType = api.PlacementType(cmp.Or(strict.Meant(string(p.PlacementType), placementTypes...), string(p.PlacementType)))
		p = &asMeant
	}
	fs.memberNames(p, at.Child("clusterNames"))
	fs.memberCount(p, at.Child("numberOfClusters"))
	fs.affinity(p, at.Child("affinity"))
	fs.spread(p, at.Child("topologySpreadConstraints"))
	fs.tolerations(p, at.Child("tolerations"))
}

// belongs records a field that the type of the placement does not have.
func (fs rules) belongs(at *strict.Place, found string, p *api.Policy, types string) {
	fs.Add(at, found, "nothing: "+types+" only, and placementType is "+string(p.Type()), nil)
}

func (fs rules) memberNames(p *api.Policy, at *strict.Place) {
	names := p.ClusterNames
	switch {
	case !may(p, api.PickFixed) && len(names) > 0:
		fs.belongs(at, listOf(len(names)), p, "PickFixed")
		return
	case p.Type() == api.PickFixed && len(names) == 0:
		fs.Add(at, "nothing", "at least one name, because placementType is PickFixed", nil)
	case len(names) > maxClusterNames:
		fs.Add(at, listOf(len(names)), fmt.Sprintf("at most %d names", maxClusterNames), nil)
		return
	}
	for i, name := range names {
		fs.Subdomain(name, at.Item(i))
		if j := slices.Index(names, name); j < i {
			fs.Add(at.Item(i), strict.Quote(name)+" again", "each name once", nil)
		}
	}
}

func (fs rules) memberCount(p *api.Policy, at *strict.Place) {
	n := p.NumberOfClusters
	switch {
	case !may(p, api.PickN) && n != nil:
		fs.belongs(at, number(*n), p, "PickN")
	case p.Type() == api.PickN && n == nil:
		fix := strict.NumberNode(2)
		fix.Comment = "choose how many members you want"
		fs.Add(at, "nothing", "the number of members wanted, 0 or more, because placementType is PickN", fix)
	case n != nil && *n < 0:
		fs.Add(at, number(*n), "a number of 0 or more", nil)
	}
}

func (fs rules) affinity(p *api.Policy, at *strict.Place) {
	if p.Affinity == nil {
		return
	}
	if p.Type() == api.PickFixed {
		fs.belongs(at, "a map", p, "PickAll and PickN")
	}
	a := p.Affinity.ClusterAffinity
	if a == nil {
		return
	}
	at = at.Child("clusterAffinity")
	if a.Required != nil {
		fs.required(a.Required.ClusterSelectorTerms, at.In("requiredDuringSchedulingIgnoredDuringExecution", "clusterSelectorTerms"))
	}
	preferred := at.Child("preferredDuringSchedulingIgnoredDuringExecution")
	if p.Type() == api.PickAll && len(a.Preferred) > 0 {
		fs.belongs(preferred, listOf(len(a.Preferred)), p, "PickN")
	}
	if len(a.Preferred) > maxPreferredTerms {
		fs.Add(preferred, listOf(len(a.Preferred)), fmt.Sprintf("at most %d terms", maxPreferredTerms), nil)
		return
	}
	for i := range a.Preferred {
		fs.preferred(&a.Preferred[i], preferred.Item(i))
	}
}

func (fs rules) required(terms []api.ClusterSelectorTerm, at *strict.Place) {
	if len(terms) > maxSelectorTerms {
		fs.Add(at, listOf(len(terms)), fmt.Sprintf("at most %d terms", maxSelectorTerms), nil)
	}
	for i := range terms {
		term, at := &terms[i], at.Item(i)
		fs.labelSelector(term.LabelSelector, at.Child("labelSelector"))
		if term.PropertySelector != nil {
			fs.expressions(term.PropertySelector.MatchExpressions, at.In("propertySelector", "matchExpressions"))
		}
		for name, sorter := range map[string]*api.PropertySorter{"propertySorter": term.PropertySorter, "metricSorter": term.MetricSorter} {
			if sorter != nil {
				fs.Add(at.Child(name), "a map", "nothing: required terms filter, only preferred terms sort", nil)
			}
		}
	}
}

func (fs rules) preferred(t *api.PreferredClusterTerm, at *strict.Place) {
	if t.Weight < -maxWeight || t.Weight > maxWeight {
		fs.Add(at.Child("weight"), number(t.Weight), fmt.Sprintf("a number from -%d to %d", maxWeight, maxWeight), nil)
	}
	term, at := &t.Preference, at.Child("preference")
	fs.labelSelector(term.LabelSelector, at.Child("labelSelector"))
	if term.PropertySelector != nil {
		fs.Add(at.Child("propertySelector"), "a map", "nothing: preferred terms sort by a property, only required terms select by it", nil)
	}
	if term.PropertySorter != nil && term.MetricSorter != nil {
		fs.Add(at.Child("metricSorter"), "both propertySorter and metricSorter", "one of them: they are two spellings of the same", nil)
	}
	fs.sorter(term.PropertySorter, at.Child("propertySorter"))
	fs.sorter(term.MetricSorter, at.Child("metricSorter"))
}

func (fs rules) sorter(s *api.PropertySorter, at *strict.Place) {
	if s == nil {
		return
	}
	fs.propertyName(s.Name, at.Child("name"))
	if s.SortOrder == "" {
		fs.Add(at.Child("sortOrder"), "nothing", "Ascending or Descending", nil)
	}
	fs.choice(s.SortOrder, at.Child("sortOrder"), api.Ascending, api.Descending)
}

func (fs rules) spread(p *api.Policy, at *strict.Place) {
	constraints := p.TopologySpreadConstraints
	if !may(p, api.PickN) && len(constraints) > 0 {
		fs.belongs(at, listOf(len(constraints)), p, "PickN")
	}
	if len(constraints) > maxConstraints {
		fs.Add(at, listOf(len(constraints)), fmt.Sprintf("at most %d constraints", maxConstraints), nil)
		return
	}
	for i, c := range constraints {
		at := at.Item(i)
		fs.qualifiedName(c.TopologyKey, at.Child("topologyKey"))
		if c.MaxSkew != nil && *c.MaxSkew < 1 {
			fs.Add(at.Child("maxSkew"), number(*c.MaxSkew), "a number of 1 or more", nil)
		}
		fs.choice(c.WhenUnsatisfiable, at.Child("whenUnsatisfiable"), api.DoNotSchedule, api.ScheduleAnyway)
	}
}

func (fs rules) tolerations(p *api.Policy, at *strict.Place) {
	all := p.Tolerations
	if p.Type() == api.PickFixed && len(all) > 0 {
		fs.belongs(at, listOf(len(all)), p, "PickAll and PickN")
	}
	if len(all) > maxTolerations {
		fs.Add(at, listOf(len(all)), fmt.Sprintf("at most %d tolerations", maxTolerations), nil)
		return
	}
	for i, t := range all {
		fs.toleration(t, at.Item(i))
		if j := slices.IndexFunc(all, func(o api.Toleration) bool { return withOperator(o) == withOperator(t) }); j < i {
			fs.Add(at.Item(i), fmt.Sprintf("the same toleration as item %d", j), "each toleration once", nil)
		}
	}
}

// withOperator spells out the default operator.
func withOperator(t api.Toleration) api.Toleration {
	if t.Operator == "" {
		t.Operator = api.TolerationEqual
	}
	return t
}

func (fs rules) toleration(t api.Toleration, at *strict.Place) {
	fs.choice(t.Operator, at.Child("operator"), api.TolerationEqual, api.TolerationExists)
	operator := strict.Meant(withOperator(t).Operator, api.TolerationEqual, api.TolerationExists)
	exists := operator == api.TolerationExists
	switch {
	case t.Key == "" && operator == api.TolerationEqual:
		fs.Add(at.Child("key"), "nothing", "a key, or operator Exists to tolerate every taint", nil)
	case t.Key != "":
		fs.qualifiedName(t.Key, at.Child("key"))
	}
	if exists && t.Value != "" {
		fs.Add(at.Child("value"), strict.Quote(t.Value), "nothing, because operator is Exists", nil)
	}
	if !exists {
		fs.labelValue(t.Value, at.Child("value"))
	}
	fs.choice(t.Effect, at.Child("effect"), api.EffectNoSchedule)
}

func listOf(n int) string { return fmt.Sprintf("a list of %d", n) }

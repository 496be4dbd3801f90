package render

import (
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// Clashes are the selectors of overrides that are written which name what another override of the same kind names too,
// among those or among others.
func Clashes(written, others []*Override) strict.Faults {
	var faults strict.Faults
	for i, o := range written {
		before := slices.Concat(others, written[:i])
		for at, s := range o.Selectors {
			j := slices.IndexFunc(before, func(b *Override) bool { return b.Namespace == o.Namespace && slices.ContainsFunc(b.Selectors, s.Same) })
			if j < 0 {
				continue
			}
			faults = append(faults, strict.Fault{
				Object: o.String(), Path: fmt.Sprintf("spec.%s[%d]", o.field(), at), Found: s.String() + ", which " + before[j].String() + " names already",
				Expected: "each object named by one " + o.kind() + "; put the rules of both into one",
			})
		}
	}
	return faults
}

// Crowd refuses overrides that are made beyond how many there may be; stored says which are there already.
func Crowd(written, others []*Override, stored func(key string) bool) strict.Faults {
	count := map[string]int{}
	for _, o := range slices.Concat(written, others) {
		count[o.Namespace]++
	}
	var faults strict.Faults
	for _, o := range written {
		if n := count[o.Namespace]; n > api.MaxOverrides && !stored(o.Version.Name) {
			where := "in the fleet"
			if o.Namespace != "" {
				where = "in namespace " + o.Namespace
			}
			faults = append(faults, strict.Fault{
				Object: o.String(), Path: "metadata.name", Found: fmt.Sprintf("%d %ss %s", n, o.kind(), where), Expected: fmt.Sprintf("at most %d", api.MaxOverrides),
			})
		}
	}
	return faults
}

func (o *Override) kind() string {
	if o.Namespace == "" {
		return api.KindClusterResourceOverride
	}
	return api.KindResourceOverride
}

// field is the one that selectors stand in.
func (o *Override) field() string {
	if o.Namespace == "" {
		return "clusterResourceSelectors"
	}
	return "resourceSelectors"
}

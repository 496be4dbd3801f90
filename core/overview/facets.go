package overview

import (
	"cmp"
	"maps"
	"slices"

	"flotilla/core/api"
)

const (
	facetValues = 12 // of a label: with more it is none to choose by
	facetKeys   = 12
)

// Facets count members by what they may be narrowed down by, each the most frequent value first.
type Facets struct {
	State   []Count `json:"state"`
	Region  []Count `json:"region"`
	Version []Count `json:"version"`
	// Labels are those with 2 to 12 values, at most 12 of them, those that most members have first.
	Labels []LabelFacet `json:"labels"`
}

// Count is how many members have a value.
type Count struct {
	Value   string `json:"value"`
	Members int    `json:"members"`
}

// LabelFacet counts the values of one label.
type LabelFacet struct {
	Key    string  `json:"key"`
	Values []Count `json:"values"`
}

// FacetsOf counts members.
func FacetsOf(members []*Member) Facets {
	states, regions, versions := map[string]int{}, map[string]int{}, map[string]int{}
	labels := map[string]map[string]int{}
	for _, m := range members {
		states[string(m.Shown())]++
		regions[m.Region]++
		versions[m.Version]++
		for key, value := range m.Labels {
			countLabel(labels, key, value)
		}
	}
	return Facets{State: Counts(states), Region: Counts(regions), Version: Counts(versions), Labels: labelFacets(labels)}
}

// countLabel counts a value of a label; one that has too many values is nil from then on.
func countLabel(labels map[string]map[string]int, key, value string) {
	values, known := labels[key]
	switch {
	case !known:
		if key == api.LabelMemberName {
			return
		}
		values = map[string]int{}
		labels[key] = values
	case values == nil:
		return
	}
	if values[value]++; len(values) > facetValues {
		labels[key] = nil
	}
}

func labelFacets(labels map[string]map[string]int) []LabelFacet {
	facets := []LabelFacet{}
	have := map[string]int{}
	for key, values := range labels {
		if len(values) < 2 {
			continue
		}
		for _, n := range values {
			have[key] += n
		}
		facets = append(facets, LabelFacet{Key: key, Values: Counts(values)})
	}
	slices.SortFunc(facets, func(a, b LabelFacet) int { return cmp.Or(have[b.Key]-have[a.Key], cmp.Compare(a.Key, b.Key)) })
	return facets[:min(len(facets), facetKeys)]
}

// Counts are values with how many have them, the most frequent first, then by value.
func Counts(by map[string]int) []Count {
	out := make([]Count, 0, len(by))
	for _, value := range slices.Sorted(maps.Keys(by)) {
		out = append(out, Count{value, by[value]})
	}
	slices.SortStableFunc(out, func(a, b Count) int { return b.Members - a.Members })
	return out
}

// Groupings are what members may be grouped by: where they are, how they do, and the labels that few values are of.
func Groupings(members []*Member) []string {
	by := []string{"region", "zone", "version", "state"}
	for _, label := range FacetsOf(members).Labels {
		if !slices.Contains(by, label.Key) {
			by = append(by, label.Key)
		}
	}
	return by
}

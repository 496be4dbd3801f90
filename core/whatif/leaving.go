package whatif

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/strict"
)

// Question says which members are not there: by name, and by a selector of labels such as "region=eu,tier!=gold".
type Question struct {
	Without      []string
	WithoutLabel string
}

const (
	// shownValues is how many keys or values of labels a refusal lists.
	shownValues = 8
	// shownUnknown is how many names that are no members a refusal lists: each is compared with all members.
	shownUnknown = 20
)

// Leaving finds the members that a question is about; whenLeaving says what is set of a member. Names that are no members, and
// a selector that no member matches, are refused with what was probably meant.
func (q *Question) Leaving(members []api.Member, whenLeaving func(member string) string) ([]Leaver, error) {
	found := map[string]bool{}
	names := make([]string, len(members))
	for i := range members {
		names[i] = members[i].Name
	}
	slices.Sort(names)
	var others []string
	for _, name := range q.Without {
		if _, known := slices.BinarySearch(names, name); !known {
			others = append(others, name)
			continue
		}
		found[name] = true
	}
	faults := allUnknown(others, names)
	if q.WithoutLabel != "" {
		selected, fault := q.selected(members)
		if fault != nil {
			faults = append(faults, *fault)
		}
		for _, name := range selected {
			found[name] = true
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	leavers := make([]Leaver, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		leavers = append(leavers, Leaver{Member: name, WhenLeaving: whenLeaving(name)})
	}
	return leavers, nil
}

// allUnknown refuses names that are no members: the first by themselves, the others by how many they are.
func allUnknown(others, names []string) (faults strict.Faults) {
	for _, name := range others[:min(len(others), shownUnknown)] {
		faults = append(faults, unknown(name, names))
	}
	if more := len(others) - shownUnknown; more > 0 {
		faults = append(faults, strict.Fault{
			Kind: strict.FaultValue, Object: "--without", Found: phrase.Count(more, "more name") + " of no member of the fleet", Expected: "members of the fleet alone",
		})
	}
	return faults
}

func unknown(name string, names []string) strict.Fault {
	f := strict.Fault{Kind: strict.FaultValue, Object: "--without", Path: name, Found: "no member of the fleet", Expected: "one of the fleet, which has none"}
	if len(names) > 0 {
		f.Expected = "one of " + phrase.Names(names, shownValues)
	}
	if near := strict.Nearest(name, names); near != "" {
		f.Expected = "a member of the fleet; did you mean " + near + "?"
	}
	return f
}

// selected are the members that match the selector.
func (q *Question) selected(members []api.Member) ([]string, *strict.Fault) {
	refuse := func(found, expected string) *strict.Fault {
		return &strict.Fault{Kind: strict.FaultValue, Object: "--without-label", Path: q.WithoutLabel, Found: found, Expected: expected}
	}
	selector, err := strict.Selector(q.WithoutLabel)
	if err != nil && len(q.WithoutLabel) > strict.MostSelector {
		return nil, &strict.Fault{Kind: strict.FaultValue, Object: "--without-label", Found: "a selector: " + err.Error(), Expected: "a shorter one"}
	}
	if err != nil || selector.Empty() {
		return nil, refuse("no selector", "such as region=eu, region in (eu,us), tier!=gold or !tier")
	}
	var names []string
	for i := range members {
		if selector.Matches(labels.Set(members[i].Labels)) {
			names = append(names, members[i].Name)
		}
	}
	if len(names) == 0 {
		return nil, refuse("no member that matches", suggestion(selector, members))
	}
	return names, nil
}

// suggestion says what members have where a selector asks for what none has.
func suggestion(selector labels.Selector, members []api.Member) string {
	values := map[string]map[string]bool{}
	for i := range members {
		for key, value := range members[i].Labels {
			if values[key] == nil {
				values[key] = map[string]bool{}
			}
			values[key][value] = true
		}
	}
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		known := slices.Sorted(maps.Keys(values[r.Key()]))
		if len(known) > 0 {
			if !slices.ContainsFunc(known, func(v string) bool { return r.Matches(labels.Set{r.Key(): v}) }) {
				return fmt.Sprintf("a value that members have: %s is %s", r.Key(), phrase.Names(known, shownValues))
			}
			continue
		}
		keys := slices.Sorted(maps.Keys(values))
		if near := strict.Nearest(r.Key(), keys); near != "" {
			return fmt.Sprintf("a label that members have; did you mean %s?", near)
		}
		return "a label that members have: " + phrase.Names(keys, shownValues)
	}
	return "a selector that some member matches: flotilla get members --show-labels"
}

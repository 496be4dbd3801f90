package validate

import (
	"maps"
	"slices"

	"flotilla/core/strict"
)

// MemberName returns what is wrong with the name of a member, or of a fleet, which follow the same
// rule. Path is where the name stands.
func MemberName(path, name string) strict.Faults {
	f := newRules()
	f.Label(name, nil)
	faults := f.Faults("")
	for i := range faults {
		faults[i].Path = path
	}
	return faults
}

// Labels returns what is wrong with labels of a member; path is where they stand.
func Labels(path string, labels map[string]string) strict.Faults {
	f := newRules()
	f.labels(labels, (*strict.Place)(nil).Child(path))
	return f.Faults("")
}

// Properties returns what is wrong with the names of properties; path is where they stand. A
// value may be anything (D1).
func Properties(path string, properties map[string]string) strict.Faults {
	f := newRules()
	at := (*strict.Place)(nil).Child(path)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		f.propertyName(name, at.Child(name))
	}
	return f.Faults("")
}

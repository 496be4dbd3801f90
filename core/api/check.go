package api

import (
	"maps"
	"slices"
)

// CheckMember returns what is wrong with the name of a member, or of a fleet, which follow the same
// rule. Path is where the name stands.
func CheckMember(path, name string) Faults {
	f := newRules()
	f.dnsLabel(name, nil)
	faults := f.faults("")
	for i := range faults {
		faults[i].Path = path
	}
	return faults
}

// CheckLabels returns what is wrong with labels of a member; path is where they stand.
func CheckLabels(path string, labels map[string]string) Faults {
	f := newRules()
	f.labels(labels, (*place)(nil).child(path))
	return f.faults("")
}

// CheckProperties returns what is wrong with the names of properties; path is where they stand. A
// value may be anything (D1).
func CheckProperties(path string, properties map[string]string) Faults {
	f := newRules()
	at := (*place)(nil).child(path)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		f.propertyName(name, at.child(name))
	}
	return f.faults("")
}

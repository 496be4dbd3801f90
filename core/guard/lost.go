package guard

import "flotilla/core/api"

// Lost are the objects of one list that are not in another, the first of them; all where most is 0.
func Lost(from, to []api.Manifest, most int) (lost []api.Manifest) {
	stay := Set(to)
	for i := range from {
		if !stay[key(&from[i])] && (most == 0 || len(lost) < most) {
			lost = append(lost, from[i])
		}
	}
	return lost
}

// Set names objects as the record of what is gone does.
func Set(objects []api.Manifest) map[string]bool {
	set := make(map[string]bool, len(objects))
	for i := range objects {
		set[key(&objects[i])] = true
	}
	return set
}

// Keys is Set, in order.
func Keys(objects []api.Manifest) []string {
	keys := make([]string, len(objects))
	for i := range objects {
		keys[i] = key(&objects[i])
	}
	return keys
}

// key is an object without the version in which it is written.
func key(m *api.Manifest) string {
	group, _ := api.SplitAPIVersion(m.APIVersion)
	return group + "|" + m.String()
}

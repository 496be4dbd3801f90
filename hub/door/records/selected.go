package records

import (
	"flotilla/core/api"
	"flotilla/core/content"
)

// Selected are the objects, as content.Key names them, in the newest snapshot of a placement, and of a former one of its name.
func (r *Tables) Selected(placement string) (keys []string) {
	for _, snapshot := range r.Newest(placement) {
		for i := range snapshot.Manifests {
			if m := &snapshot.Manifests[i]; m.Envelope == "" {
				keys = append(keys, content.Key(m.ObjectRef))
			}
		}
	}
	return keys
}

// Newest are the newest snapshots of a name, one for each uid.
func (r *Tables) Newest(placement string) (newest []*api.Snapshot) {
	kept, seen := r.Snapshots.Group(placement), map[string]bool{}
	for i := len(kept) - 1; i >= 0; i-- {
		if uid := kept[i].Value.UID; !seen[uid] {
			seen[uid] = true
			newest = append(newest, &kept[i].Value)
		}
	}
	return newest
}

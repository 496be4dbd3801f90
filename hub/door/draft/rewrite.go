package draft

import (
	"encoding/json"
	"fmt"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// Rewrite stores a placement anew as p, with other annotations; action is what a repeat of the request is answered.
func (f *Draft) Rewrite(stored *api.Spec, revision uint64, p *api.Placement, action string) error {
	tree, err := bodyOf(p)
	if err != nil {
		return err
	}
	delete(tree, "status")
	next := *stored
	if next.Body, err = json.Marshal(tree); err != nil {
		return fmt.Errorf("encoding %s: %w", stored.Object, err)
	}
	next.Size, next.Request, next.Action, next.Earlier = len(next.Body), f.request, action, f.past(stored, revision)
	f.ops = append(f.ops, f.records.Placements.Put(p.Key(), &next, revision))
	return nil
}

// End removes the spec of an object whose deletion is over, and a placement's snapshots. Unconfirmed are those who did not
// confirm it, and waited how long they were waited for.
func (f *Draft) End(stored *api.Spec, revision uint64, unconfirmed []string, waited fmt.Stringer) {
	f.Results = []api.ApplyResult{{
		Object: stored.Object, Action: api.ActionDeleting, UID: stored.UID, Generation: stored.Generation, ResourceVersion: f.Version(revision),
	}}
	f.erase(stored.Object, revision)
	if table, name := f.records.Place(stored.Object); table == f.records.Placements {
		for _, snapshot := range f.records.Snapshots.Group(name) {
			f.ops = append(f.ops, f.records.Snapshots.Delete(snapshot.Name, snapshot.Revision))
		}
	}
	f.Audit(stored.Object, "Deleted", stored.Object.String())
	event := &f.events[len(f.events)-1]
	if len(unconfirmed) > 0 {
		event.Type, event.Reason = "Warning", "DeletedUnconfirmed"
		event.Message = fmt.Sprintf("%s: not confirmed within %s by %s", stored.Object, waited, phrase.Enumerate(unconfirmed))
	}
}

// Answered is what the draft's request was answered when it wrote an object, nil when it did not: a client that got no
// answer asks again.
func (f *Draft) Answered(stored *api.Spec) *api.ApplyResult {
	switch {
	case f.request == "":
		return nil
	case stored.Request == f.request:
		return &api.ApplyResult{Object: stored.Object, Action: stored.Action}
	}
	return f.earlier(stored.Object, stored.Earlier)
}

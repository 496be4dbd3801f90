package draft

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/phrase"
	"flotilla/hub/door/records"
)

// Delete adds the deletion of objects: of all that are there, or of none when one of them may not go. It returns those that
// are not there. Those that are there must be what is wanted of them.
func (f *Draft) Delete(ctx context.Context, refs []api.ObjectRef, want api.Expected) (missing []api.ObjectRef, err error) {
	going, missing := f.lookUp(refs, want)
	if failure := f.Failure(1); failure != nil {
		return nil, failure
	}
	f.resume()
	if err := f.deleteAll(going); err != nil {
		return nil, err
	}
	f.Remark(ctx)
	return missing, f.cut()
}

// lookUp finds what is to be deleted, each object once, and what is not there.
func (f *Draft) lookUp(refs []api.ObjectRef, want api.Expected) (going []store.Entry[api.Spec], missing []api.ObjectRef) {
	for _, ref := range refs {
		_, name := f.records.Place(ref)
		stored, revision, found := f.records.Stored(ref)
		first := f.deleted(ref)
		if found {
			first = f.earlier(ref, stored.Earlier)
		}
		if first != nil {
			f.Results = append(f.Results, *first)
			continue
		}
		if !found {
			missing = append(missing, ref)
			continue
		}
		if _, twice := f.going[stored.Object]; twice {
			continue
		}
		f.going[stored.Object] = false
		f.expected(&stored, revision, want)
		going = append(going, store.Entry[api.Spec]{Name: name, Value: stored, Revision: revision})
	}
	return going, missing
}

// deleteAll adds deletions in the order in which they are stored: placements first, as nobody is to lose content before the placement that selected
// it, then what lies in namespaces, and the namespaces last. What is interrupted goes on where it is asked for again.
func (f *Draft) deleteAll(going []store.Entry[api.Spec]) error {
	first := len(f.Results)
	var placements, namespaces, others []int
	spaces := map[string]bool{}
	for i := range going {
		stored := &going[i].Value
		f.Results = append(f.Results, api.ApplyResult{
			Object: stored.Object, UID: stored.UID, Generation: stored.Generation, ResourceVersion: f.Version(going[i].Revision),
			Action: api.ActionDeleting,
		})
		switch {
		case f.records.IsPlacement(stored.Object):
			placements = append(placements, i)
		case IsNamespace(stored.Object):
			namespaces, spaces[stored.Object.Name] = append(namespaces, i), stored.Deleted == nil
		default:
			others = append(others, i)
		}
	}
	each := func(these []int) error {
		for _, i := range these {
			if err := f.delete(&going[i], &f.Results[first+i]); err != nil {
				return err
			}
		}
		return nil
	}
	inside, err := f.inside(spaces)
	if err != nil {
		return err
	}
	if err := each(placements); err != nil {
		return err
	}
	f.step.Begin()
	if err := f.deletePlacements(inside.Placements); err != nil {
		return err
	}
	f.deleteObjects(inside.Objects)
	f.endPart()
	if err := each(others); err != nil {
		return err
	}
	f.deleteOverrides(inside.Overrides)
	return each(namespaces)
}

// IsNamespace says that an object is a namespace.
func IsNamespace(ref api.ObjectRef) bool {
	return ref.Kind == "Namespace" && content.GroupOf(ref.APIVersion) == ""
}

// delete adds the deletion of a stored object to the draft, and fills in its result.
func (f *Draft) delete(entry *store.Entry[api.Spec], result *api.ApplyResult) error {
	stored, revision := &entry.Value, entry.Revision
	if stored.Deleted != nil && f.request != "" && stored.Request == f.request {
		return nil // a repeat
	}
	if stored.Deleted != nil {
		result.Notes = append(result.Notes, "deletion was asked for before, at "+stored.Deleted.UTC().Format("15:04:05Z"))
		return nil
	}
	if len(stored.Finalizers) > 0 {
		result.Notes = append(result.Notes, "it stays until its finalizers are taken away: "+strings.Join(stored.Finalizers, ", "))
	}
	if table, _ := f.records.Place(stored.Object); table == f.records.Objects {
		result.Action = removing(stored)
		f.deleteContent(stored, revision)
		if n := f.deletedIn(stored.Object); n > 0 {
			result.Notes = append(result.Notes, phrase.Count(n, "object")+" in it deleted too")
		}
		return nil
	}
	if _, named := records.Kinds[stored.Object.Kind]; named && stored.Object.Kind != api.KindNodePool {
		result.Action = removing(stored)
		return f.deleteNamed(stored, revision)
	}
	if stored.UID == "" { // no other record knows of it either: nothing was placed
		result.Action = api.ActionDeleted
		f.erase(stored.Object, revision)
		f.audit(records.EventName(stored.Object), "Deleted", stored.Object.String())
		return nil
	}
	return f.mark(stored, revision)
}

// once reports whether the draft does not delete the object yet, and notes that it does.
func (f *Draft) once(ref api.ObjectRef) bool {
	if f.going[ref] {
		return false
	}
	f.going[ref] = true
	return true
}

// deleteContent deletes content, which is placed nowhere from then on, whatever holds it up on the hub.
func (f *Draft) deleteContent(stored *api.Spec, revision uint64) {
	f.remove(stored, revision)
	f.index.RemoveKey(content.Key(stored.Object))
	f.touched = true
}

// mark sets the deletion timestamp of a placement, member or node pool; the rooms see it and withdraw.
func (f *Draft) mark(stored *api.Spec, revision uint64) error {
	if failure := f.frozen(stored.Object); failure != nil {
		return failure
	}
	if !f.once(stored.Object) || f.full() {
		return nil
	}
	next := *stored
	next.Deleted, next.Request, next.Action, next.Earlier = &f.now, f.request, api.ActionDeleting, f.past(stored, revision)
	if !records.Readable(stored) {
		next.Body = records.BareBody(stored)
		f.note(stored.Object, records.NotedBare(stored.Object.Kind))
	}
	var body map[string]any
	if err := json.Unmarshal(next.Body, &body); err != nil {
		return fmt.Errorf("decoding %s: %w", stored.Object, err)
	}
	if metadata, ok := body["metadata"].(map[string]any); ok {
		metadata["deletionTimestamp"] = f.now
	}
	var err error
	if next.Body, err = json.Marshal(body); err != nil {
		return fmt.Errorf("encoding %s: %w", stored.Object, err)
	}
	if table, name := f.records.Place(stored.Object); table == f.records.Placements {
		f.placements[name] = nil
	}
	f.write(next, revision, "Deleting")
	return nil
}

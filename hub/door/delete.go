package door

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/phrase"
	"flotilla/core/validate"
	"flotilla/hub/door/records"
	"flotilla/subjects"
)

// remove deletes content, catalogs, and what is around upgrades, at once. A placement or member is marked and
// stays until its members confirmed, or until the deletion timed out; a node pool until its nodes are gone.
func (d *Door) remove(ctx context.Context, request *api.DeleteRequest) (any, error) {
	if len(request.Objects) > 0 {
		return d.removeAll(ctx, request)
	}
	answer, err := d.removeRefs(ctx, request, request.Object)
	if err != nil {
		return nil, err
	}
	if len(answer.Missing) > 0 {
		return nil, records.NotFound(request.Object)
	}
	return &answer.Results[0], nil
}

func (d *Door) removeAll(ctx context.Context, request *api.DeleteRequest) (any, error) {
	if n := len(request.Objects); n > maxDocuments || request.Object.Name != "" || request.ResourceVersion != "" {
		return nil, &api.Failure{
			Code:    api.CodeInvalid,
			Message: fmt.Sprintf("found %d objects, expected object with a resourceVersion, or at most %d objects: nothing was deleted", n, maxDocuments),
		}
	}
	return d.removeRefs(ctx, request, request.Objects...)
}

// removeRefs deletes all the objects that are there, or none when one of them may not go.
func (d *Door) removeRefs(ctx context.Context, request *api.DeleteRequest, refs ...api.ObjectRef) (*api.DeleteResponse, error) {
	if failure := forbidden(request.By, refs); failure != nil {
		return nil, failure
	}
	f := d.newDraft(request.By, request.Request)
	answer := &api.DeleteResponse{}
	going, err := d.going(request, refs, f, answer)
	if err != nil {
		return nil, err
	}
	if failure := f.failure(1); failure != nil {
		return nil, failure
	}
	for i := range going {
		if err := f.delete(&going[i]); err != nil {
			return nil, err
		}
	}
	d.noteGoing(f)
	if err := f.cut(); err != nil {
		return nil, err
	}
	if !request.DryRun {
		if err := d.commit(ctx, f); err != nil {
			return nil, fmt.Errorf("deleting %s: %w", phrase.Count(len(going), "object"), err)
		}
	}
	answer.Results = f.results
	return answer, nil
}

// going looks up what is to be deleted, each object once, and notes what is not there.
func (d *Door) going(request *api.DeleteRequest, refs []api.ObjectRef, f *draft, answer *api.DeleteResponse) ([]store.Entry[api.Spec], error) {
	var going []store.Entry[api.Spec]
	for _, ref := range refs {
		if err := d.view.RefuseGate(ref); err != nil {
			return nil, err
		}
		_, name := d.records.Place(ref)
		stored, revision, found := d.records.Stored(ref)
		first := d.repeated(ref, request.Request)
		if found {
			first = f.earlier(ref, stored.Earlier)
		}
		if first != nil {
			f.results = append(f.results, *first)
			continue
		}
		if !found {
			answer.Missing = append(answer.Missing, ref)
			continue
		}
		if _, twice := f.going[stored.Object]; twice {
			continue
		}
		f.going[stored.Object] = false
		f.compareVersion(&document{Decoded: validate.Decoded{Object: stored.Object, ResourceVersion: request.ResourceVersion}}, revision)
		going = append(going, store.Entry[api.Spec]{Name: name, Value: stored, Revision: revision})
	}
	return going, nil
}

// delete adds the deletion of a stored object, and its result, to the draft.
func (f *draft) delete(entry *store.Entry[api.Spec]) error {
	stored, revision := &entry.Value, entry.Revision
	f.results = append(f.results, api.ApplyResult{
		Object: stored.Object, UID: stored.UID, Generation: stored.Generation, ResourceVersion: f.version(revision),
		Action: api.ActionDeleting,
	})
	result := &f.results[len(f.results)-1]
	if table, _ := f.records.Place(stored.Object); table == f.records.Objects {
		result.Action = api.ActionDeleted
		f.deleteContent(stored, revision)
		return f.deleteInside(stored, result)
	}
	if _, named := records.Kinds[stored.Object.Kind]; named && stored.Object.Kind != api.KindNodePool {
		result.Action = api.ActionDeleted
		return f.deleteNamed(stored, revision)
	}
	if stored.Deleted != nil && f.request != "" && stored.Request == f.request {
		return nil // a repeat
	}
	if stored.Deleted != nil {
		result.Notes = append(result.Notes, "deletion was asked for before, at "+stored.Deleted.UTC().Format("15:04:05Z"))
		return nil
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
func (f *draft) once(ref api.ObjectRef) bool {
	if f.going[ref] {
		return false
	}
	f.going[ref] = true
	return true
}

func (f *draft) deleteContent(stored *api.Spec, revision uint64) {
	if !f.once(stored.Object) {
		return
	}
	f.erase(stored.Object, revision)
	f.index.RemoveKey(content.Key(stored.Object))
	f.touched = true
	f.audit(records.EventName(stored.Object), "Deleted", stored.Object.String())
}

// deleteInside deletes what lies in a namespace that goes.
func (f *draft) deleteInside(stored *api.Spec, result *api.ApplyResult) error {
	namespace := stored.Object.Name
	if stored.Object.Kind != "Namespace" || stored.Object.APIVersion != "v1" {
		return nil
	}
	deleted := 0
	for _, entry := range f.records.Objects.All() {
		if entry.Value.Object.Namespace == namespace {
			f.deleteContent(&entry.Value, entry.Revision)
			deleted++
		}
	}
	for _, entry := range f.records.Specs[api.KindResourceOverride].All() {
		if entry.Value.Object.Namespace == namespace && f.once(entry.Value.Object) {
			f.erase(entry.Value.Object, entry.Revision)
			f.audit(records.EventName(entry.Value.Object), "Deleted", entry.Value.Object.String())
			deleted++
		}
	}
	for _, entry := range f.records.Placements.All() {
		if entry.Value.Object.Namespace != namespace || entry.Value.Deleted != nil {
			continue
		}
		if err := f.mark(&entry.Value, entry.Revision); err != nil {
			return err
		}
		deleted++
	}
	if deleted > 0 {
		result.Notes = append(result.Notes, phrase.Count(deleted, "object")+" in it deleted too")
	}
	return nil
}

// mark sets the deletion timestamp of a placement, member or node pool; the rooms see it and withdraw.
func (f *draft) mark(stored *api.Spec, revision uint64) error {
	if !f.once(stored.Object) {
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

// deletionKey names a deletion that waits, for the finisher's queue.
func deletionKey(kind, name string) string { return kind + ":" + name }

// watchDeletions wakes the finisher when a deletion was asked for, and when one may have been
// confirmed.
func (d *Door) watchDeletions() {
	d.records.Placements.OnChange(func(name string) { d.finisher.Add(deletionKey(subjects.KindPlacement, name)) })
	d.records.Members.OnChange(func(name string) {
		d.leaving.note(name, d.isLeaving(name))
		d.finisher.Add(deletionKey(subjects.KindMember, name))
	})
	for _, table := range []interface{ OnChange(func(string)) }{d.records.Specs[api.KindNodePool], d.records.Pools} {
		table.OnChange(func(name string) { d.finisher.Add(deletionKey(subjects.KindNodePool, name)) })
	}
	d.records.Releases.OnChange(func(name string) {
		d.finisher.Add(deletionKey(subjects.KindPlacement, name))
		for _, member := range d.leaving.names() {
			d.finisher.Add(deletionKey(subjects.KindMember, member))
		}
	})
}

func (d *Door) isLeaving(member string) bool {
	spec, _, found := d.records.Members.Get(member)
	return found && spec.Deleted != nil
}

// leaving holds the names of members whose deletion waits.
type leaving struct {
	mu   sync.Mutex
	held map[string]struct{}
}

func newLeaving() *leaving { return &leaving{held: map[string]struct{}{}} }

func (l *leaving) note(member string, leaves bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if leaves {
		l.held[member] = struct{}{}
	} else {
		delete(l.held, member)
	}
}

func (l *leaving) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.held))
}

package door

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/hub/door/draft"
	"flotilla/hub/door/parts"
	"flotilla/hub/door/records"
	"flotilla/subjects"
)

// removing answers requests to delete. Of a person who deletes namespaces one is worked on at a time.
func (d *Door) removing() bus.Handler {
	lane := func(ctx context.Context, request *api.DeleteRequest) (func(), error) {
		if !slices.ContainsFunc(named(request), draft.IsNamespace) || request.DryRun {
			return func() {}, nil
		}
		return d.lanes.removing.Take(ctx, request.By.Name)
	}
	return prepared(d, d.desk.Turn, lane, d.removeAhead)
}

// named are the objects that a request deletes.
func named(request *api.DeleteRequest) []api.ObjectRef {
	if len(request.Objects) > 0 {
		return request.Objects
	}
	return []api.ObjectRef{request.Object}
}

// remove deletes content, catalogs, and what is around upgrades, at once. A placement or member is marked and
// stays until its members confirmed, or until the deletion timed out; a node pool until its nodes are gone.
func (d *Door) remove(ctx context.Context, request *api.DeleteRequest, before *parts.Parts) (any, error) {
	answer, err := d.removeRefs(ctx, request, before)
	switch {
	case err != nil:
		return nil, err
	case len(request.Objects) > 0:
		return answer, nil
	case len(answer.Missing) > 0:
		return nil, records.NotFound(request.Object)
	}
	return &answer.Results[0], nil
}

// removable refuses what may not be deleted, whatever else there is.
func (d *Door) removable(request *api.DeleteRequest) error {
	if n := len(request.Objects); n > 0 && (n > draft.MaxDocuments || request.Object.Name != "" || request.ResourceVersion != "" || request.UID != "") {
		return &api.Failure{
			Code:    api.CodeInvalid,
			Message: fmt.Sprintf("found %d objects, expected object with a resourceVersion or uid, or at most %d objects: nothing was deleted", n, draft.MaxDocuments),
		}
	}
	refs := named(request)
	if failure := forbidden(request.By, refs); failure != nil {
		return failure
	}
	for _, ref := range refs {
		if err := d.view.RefuseGate(ref); err != nil {
			return err
		}
	}
	return nil
}

// removeRefs deletes all the objects that are there, or none when one of them may not go. What earlier parts took is gone before.
func (d *Door) removeRefs(ctx context.Context, request *api.DeleteRequest, before *parts.Parts) (*api.DeleteResponse, error) {
	if err := d.removable(request); err != nil {
		return nil, err
	}
	refs := named(request)
	f := d.desk.New(request.By, request.Request)
	f.Parts = before
	missing, err := f.Delete(ctx, refs, expected(request))
	if err != nil {
		return nil, err
	}
	if err := f.Taking(request.Yes, "nothing was deleted"); err != nil {
		return nil, err
	}
	if !request.DryRun {
		if err := f.Commit(ctx); err != nil {
			return nil, fmt.Errorf("deleting %s: %w", phrase.Count(len(refs), "object"), err)
		}
	}
	return &api.DeleteResponse{Results: f.Results, Missing: missing}, nil
}

func expected(request *api.DeleteRequest) api.Expected {
	return api.Expected{UID: request.UID, ResourceVersion: request.ResourceVersion}
}

// deletionKey names a deletion that waits, for the finisher's queue.
func deletionKey(kind, name string) string { return kind + ":" + name }

// watchDeletions wakes the finisher when a deletion was asked for, and when one may have been
// confirmed.
func (d *Door) watchDeletions() {
	d.records.Placements.OnChange(func(name string) { d.queues.finisher.Add(deletionKey(subjects.KindPlacement, name)) })
	d.records.Members.OnChange(func(name string) {
		d.leaving.note(name, d.isLeaving(name))
		d.queues.finisher.Add(deletionKey(subjects.KindMember, name))
	})
	for _, table := range []interface{ OnChange(func(string)) }{d.records.Specs[api.KindNodePool], d.records.Pools} {
		table.OnChange(func(name string) { d.queues.finisher.Add(deletionKey(subjects.KindNodePool, name)) })
	}
	d.records.Releases.OnChange(func(name string) {
		d.queues.finisher.Add(deletionKey(subjects.KindPlacement, name))
		for _, member := range d.leaving.names() {
			d.queues.finisher.Add(deletionKey(subjects.KindMember, member))
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

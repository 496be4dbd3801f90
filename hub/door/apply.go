package door

import (
	"context"
	"errors"
	"fmt"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"
)

// maxOps is how many records one batch may change; snapshots beyond it are cut in further batches.
const maxOps = 900

func (d *Door) apply(ctx context.Context, request *api.ApplyRequest) (*api.ApplyResponse, error) {
	if n := len(request.Documents); n == 0 || n > maxDocuments {
		return nil, tooMany(n)
	}
	documents, wrong, err := d.readDocuments(ctx, request.Documents)
	if err != nil {
		return nil, err
	}
	if failure := forbidden(request.By, refsOf(documents)); failure != nil {
		return nil, failure
	}
	f := d.newDraft(request.By, request.Request)
	f.refused, f.show = *wrong, request.DryRun && request.Show
	if err := f.applyAll(ctx, documents); err != nil {
		return nil, err
	}
	if !request.DryRun {
		if err := d.commit(ctx, f); err != nil {
			return nil, fmt.Errorf("applying: %w", err)
		}
	}
	return &api.ApplyResponse{Results: f.results}, nil
}

func tooMany(n int) *api.Failure {
	if n == 0 {
		return &api.Failure{Code: api.CodeInvalid, Message: "nothing to apply: no documents", Next: "flotilla apply --help"}
	}
	return &api.Failure{
		Code:    api.CodeTooLarge,
		Message: fmt.Sprintf("%d documents in one apply, expected at most %d: nothing was applied; apply the files one after the other, content before placements", n, maxDocuments),
		Next:    "flotilla apply --help",
	}
}

// applyAll decides about every document that could be read, then about snapshots, and fails when the draft must not be
// committed. Documents with faults are left out, so that the faults of the others are found too.
func (f *draft) applyAll(ctx context.Context, documents []document) error {
	if err := f.door.noteClasses(ctx, f, documents); err != nil {
		return err
	}
	faulty := map[string]bool{}
	for i := range f.refused.faults {
		faulty[f.refused.faults[i].Object] = true
	}
	for i := range documents {
		doc := &documents[i]
		if doc.Object.Name == "" || faulty[doc.Object.String()] {
			continue
		}
		if err := f.apply(doc); err != nil {
			return err
		}
	}
	if len(f.refused.faults) == 0 {
		if err := f.door.judge(f); err != nil {
			return err
		}
	}
	f.crowded = f.door.crowd(f)
	if failure := f.failure(len(documents)); failure != nil {
		return failure
	}
	if err := f.noteSelections(documents); err != nil {
		return err
	}
	if err := f.cut(); err != nil {
		return err
	}
	f.noteSteering()
	return nil
}

// commit stores the draft: content first, then the records, all or none, then what happened.
func (d *Door) commit(ctx context.Context, f *draft) error {
	if len(f.ops) == 0 {
		return nil
	}
	f.noteDeletions()
	release := d.store.Content.Hold()
	defer release()
	given := make(map[string][]byte, len(f.bodies))
	for _, one := range f.bodies {
		given[one.digest] = one.body
		if err := d.store.Content.Put(ctx, one.digest, one.body); err != nil {
			return fmt.Errorf("storing content: %w", err)
		}
	}
	for i := range f.bundles {
		if err := d.store.Content.PutBundle(ctx, f.bundles[i].Digest, &f.bundles[i].Work, given); err != nil {
			return err
		}
	}
	// The rooms see the records before this returns: what they do comes after what the user did.
	made := false
	settle := d.store.Audit.Announce(f.events...)
	defer func() { settle(made) }()
	for start := 0; start < len(f.ops); start += maxOps {
		ops := f.ops[start:min(start+maxOps, len(f.ops))]
		revisions, err := d.store.Writer.Write(ctx, ops...)
		if err != nil {
			return d.interrupted(start, err)
		}
		for i, revision := range revisions {
			if at, told := f.written[start+i]; told {
				f.results[at].ResourceVersion = f.version(revision)
			}
		}
	}
	for _, name := range f.noted {
		d.shelf.Note(name)
	}
	made = true
	return nil
}

// interrupted is the error of a batch. After the first one the objects are stored and only snapshots
// are missing: they are cut again when the client repeats its request, or by the next leader.
func (d *Door) interrupted(start int, err error) error {
	if start > 0 && errors.Is(err, bus.ErrConflict) {
		return bus.ErrNotSynced
	}
	return err
}

// storedPlacements decodes every placement. Those that cannot be read are told of and left out (D5).
func (d *Door) storedPlacements() []*api.Placement {
	for name, err := range d.records.Placements.Broken() {
		d.complain(subjects.KindPlacement+"/"+name, d.store.State.Revision(d.records.Placements.Key(name)), err)
	}
	all := d.records.Placements.All()
	placements := make([]*api.Placement, 0, len(all))
	for i := range all {
		p, err := d.records.Placement(&all[i])
		if err != nil {
			d.complain(subjects.KindPlacement+"/"+all[i].Name, all[i].Revision, err)
			continue
		}
		placements = append(placements, p)
	}
	return placements
}

// recut cuts the snapshots that are missing, as after a crash between two batches of one request.
func (d *Door) recut(ctx context.Context) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	f := d.newDraft(door, "")
	f.touched = true
	if err := f.cut(); err != nil {
		return err
	}
	return d.commit(ctx, f)
}

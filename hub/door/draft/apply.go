package draft

import (
	"context"
	"errors"

	"flotilla/bus"
	"flotilla/bus/store"
)

// maxOps is how many records one batch may change; snapshots beyond it are cut in further batches.
const maxOps = 900

// Apply decides about every document that could be read, then about snapshots, and fails when the draft must not be
// committed. Documents with faults are left out, so that the faults of the others are found too.
func (f *Draft) Apply(ctx context.Context, read *Documents) error {
	f.refused = read.wrong
	documents := read.All
	if err := f.desk.noteClasses(ctx, f, documents); err != nil {
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
		if err := f.Planning.GoOn(); err != nil {
			return err
		}
		if err := f.apply(doc); err != nil {
			return err
		}
	}
	if err := f.prune(read); err != nil {
		return err
	}
	if len(f.refused.faults) == 0 {
		if err := f.desk.judge(ctx, f); err != nil {
			return err
		}
	}
	f.crowded = f.desk.crowd(f)
	if failure := f.Failure(len(documents)); failure != nil {
		return failure
	}
	if err := f.look(); err != nil {
		return err
	}
	if err := f.noteSelections(read); err != nil {
		return err
	}
	f.crowd.Several = len(read.Merged) > 1 && !f.Set.Prune // what a person sent, and may send in parts
	if err := f.cut(); err != nil {
		return err
	}
	f.noteSteering()
	return nil
}

// Commit stores the draft: content first, then the records, all or none, then what happened.
func (f *Draft) Commit(ctx context.Context) (err error) {
	d := f.desk
	defer func() { f.settle(err) }()
	if len(f.ops) == 0 {
		return nil
	}
	if err := f.LayOut(ctx); err != nil {
		return err
	}
	if len(f.ops) > maxOps {
		if err := store.Check(f.ops...); err != nil { // no batch is stored before one that cannot be
			return err
		}
	}
	f.noteDeletions()
	release := d.store.Content.Hold()
	defer release()
	if err := f.layout.Store(ctx, f.bodies); err != nil {
		return err
	}
	stored, err := f.beforeFreezes(ctx)
	if err != nil {
		return err
	}
	defer stored()
	// The rooms see the records before this returns: what they do comes after what the user did.
	made, writing := false, context.WithoutCancel(ctx) // only to the end it is known whether to tell of it
	settle, err := d.store.Audit.Announce(f.events...)
	if err != nil {
		return err
	}
	defer func() { settle(made) }()
	for start := 0; start < len(f.ops); start += maxOps {
		ops := f.ops[start:min(start+maxOps, len(f.ops))]
		if start > 0 {
			writing = store.Regardless(writing) // what was begun comes to its end
		}
		revisions, err := d.store.Writer.Write(writing, ops...)
		if err != nil {
			return f.interrupted(start, err)
		}
		made = true
		for i, revision := range revisions {
			if at, told := f.written[start+i]; told {
				f.Results[at].ResourceVersion = f.Version(revision)
			}
		}
	}
	for _, name := range f.noted {
		d.shelf.Note(name)
	}
	return nil
}

// LayOut works out what holds the snapshots of the draft, and whether that is too much. The error of it, and of Commit, may be
// bundles.ErrLater.
func (f *Draft) LayOut(ctx context.Context) error {
	f.layout.Bounded = f.crowd.Several
	for _, written := range f.placements {
		if written != nil && !f.whole && !f.Set.Prune { // the rest nobody may send in parts
			f.layout.Bounded = true
		}
	}
	return f.layout.Lay(ctx, f.bodies)
}

// settle notes whether snapshots may lack something once the draft is stored, or was in part.
func (f *Draft) settle(err error) {
	if err == nil || f.missed {
		f.desk.behind.Store(f.missed || f.desk.behind.Load() && !f.whole)
	}
}

// interrupted is the error of a batch. After the first one the objects are stored and only snapshots
// are missing: they are cut again when the client repeats its request, or by the next leader.
func (f *Draft) interrupted(start int, err error) error {
	f.missed = start > 0 || !errors.Is(err, bus.ErrConflict)
	if start > 0 && errors.Is(err, bus.ErrConflict) {
		return bus.ErrNotSynced
	}
	return err
}

package draft

import (
	"maps"

	"flotilla/core/api"
	"flotilla/hub/door/effort"
	"flotilla/hub/door/parts"
	"flotilla/hub/door/records"
)

// deletion is what a draft deletes.
type deletion struct {
	// Parts are those of the deletion whose last part the draft is, nil where it is in one part.
	Parts *parts.Parts
	// going are the objects that a deletion names or takes along; true once they are deleted.
	going map[api.ObjectRef]bool
	// in is how many objects in each namespace go.
	in map[string]int
	// step is set of a part that is not the last.
	step *parts.Step
}

// Parts are those of a deletion of objects: of several where much lies in namespaces among them. No turn is held.
func (d *Desk) Parts(refs []api.ObjectRef) *parts.Parts {
	spaces := map[string]bool{}
	for _, ref := range refs {
		if IsNamespace(ref) {
			stored, _, found := d.records.Stored(ref)
			spaces[ref.Name] = found && stored.Deleted == nil
		}
	}
	return parts.New(d.Part, d.records.Inside(spaces))
}

// Part makes the draft the next part of a deletion: of placements, then of content in namespaces. All that is left of the deletion is judged, so that
// no part is done of what may not go as a whole; Done follows the commit.
func (f *Draft) Part(p *parts.Parts, refs []api.ObjectRef, want api.Expected, yes bool) error {
	f.Parts, f.step, f.Planning = p, p.Step(), effort.Until(func() bool { return false })
	going, _ := f.lookUp(refs, want)
	if failure := f.Failure(1); failure != nil {
		return failure
	}
	if err := f.deleteAll(going); err != nil {
		return err
	}
	if err := f.cut(); err != nil {
		return err
	}
	if err := f.Taking(yes, "nothing was deleted"); err != nil {
		return err
	}
	// Snapshots follow in the last part, and in what others change meanwhile.
	f.ops, f.events, f.whole, f.missed = f.ops[:f.step.Ops], f.events[:f.step.Events], false, false
	maps.DeleteFunc(f.written, func(at, _ int) bool { return at >= len(f.ops) })
	maps.DeleteFunc(f.erased, func(at int, _ api.ObjectRef) bool { return at >= len(f.ops) })
	return nil
}

// Done notes that the part is stored.
func (f *Draft) Done() { f.Parts.Done(f.step) }

// resume has the last part of a deletion cut the snapshots of what lost something in the parts before.
func (f *Draft) resume() {
	if f.Parts.Begun() {
		f.index, f.repeats = f.Parts.Before(f.index)
		f.touched = true
	}
}

// inside is what the draft finds in namespaces: of a part that is not the last what was found before its turn.
func (f *Draft) inside(spaces map[string]bool) (records.Inside, error) {
	f.in = map[string]int{}
	if f.step != nil {
		return f.Parts.Left(), nil
	}
	found := f.records.Inside(spaces)
	return found, f.Parts.Fits(&found)
}

// full says that what goes is for a later part.
func (f *Draft) full() bool { return f.step.Full(len(f.ops)) }

func (f *Draft) endPart() { f.step.End(len(f.ops), len(f.events)) }

func (f *Draft) deletePlacements(names []string) error {
	for _, name := range names {
		stored, revision, found := f.records.Placements.Get(name)
		if found = found && stored.Deleted == nil; !f.full() {
			f.step.Placement(&stored, found)
		}
		if !found {
			continue
		}
		if err := f.mark(&stored, revision); err != nil {
			return err
		}
		f.in[stored.Object.Namespace]++
	}
	return nil
}

func (f *Draft) deleteObjects(names []string) {
	for _, name := range names {
		stored, revision, found := f.records.Objects.Get(name)
		if found = found && stored.Deleted == nil; !f.full() {
			f.step.Object(&stored, found)
		}
		if found {
			f.deleteContent(&stored, revision)
			f.in[stored.Object.Namespace]++
		}
	}
}

func (f *Draft) deleteOverrides(names []string) {
	table := f.records.Specs[api.KindResourceOverride]
	for _, name := range names {
		if stored, revision, found := table.Get(name); found {
			f.remove(&stored, revision)
			f.in[stored.Object.Namespace]++
		}
	}
}

// deletedIn is how many objects in a namespace that goes are deleted, also by earlier parts.
func (f *Draft) deletedIn(ref api.ObjectRef) int {
	if !IsNamespace(ref) {
		return 0
	}
	return f.in[ref.Name] + f.Parts.In(ref.Name)
}

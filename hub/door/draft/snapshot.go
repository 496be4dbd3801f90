package draft

import (
	"fmt"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/phrase"
	"flotilla/core/rollout"
	"flotilla/hub/door/bundles"
	"flotilla/hub/door/effort"
	"flotilla/subjects"
)

// cutOne cuts a snapshot of p when what it selects changed, and removes those beyond its history.
func (f *Draft) cutOne(p *api.Placement) error {
	if p.DeletionTimestamp != nil {
		return nil
	}
	selected := f.Selected(p)
	if _, written := f.placements[p.Key()]; !written {
		f.crowd.Follows(len(selected.Manifests))
	} else if err := f.cost.Add(f.Planning, effort.Cost{Taken: len(selected.Manifests)}); err != nil {
		return err
	}
	past, broken := f.History(p), f.records.BrokenSnapshots(p.Key())
	next, ended := past.Follow(&selected)
	if ended {
		f.unpinned(p, past.Newest())
	}
	switch {
	case next != nil:
	case len(broken) == 0:
		return nil
	case past.Newest().Pinned():
		next = past.Newest() // once more, behind what cannot be read
	default:
		next = &selected
	}
	if next = f.records.Fitting(next); past.Newest() != nil && next.Error != "" && past.Newest().Error == next.Error && len(broken) == 0 {
		return nil
	}
	return f.cutAs(p, *next, broken)
}

// look counts what the selectors of the placements that the request writes look at, before they do.
func (f *Draft) look() error {
	looked, err := f.desk.looks.Check(f.index, f.placements)
	if err != nil {
		return err
	}
	return f.cost.Add(f.Planning, effort.Cost{Looked: looked})
}

// History are the snapshots of a placement that are kept, oldest first, without those of a former one of its name.
func (f *Draft) History(p *api.Placement) rollout.History {
	return f.records.History(p.Key(), string(p.UID))
}

// CutAs makes a snapshot the newest of its placement.
func (f *Draft) CutAs(p *api.Placement, next api.Snapshot) error {
	return f.cutAs(p, next, f.records.BrokenSnapshots(p.Key()))
}

func (f *Draft) cutAs(p *api.Placement, next api.Snapshot, broken map[string]int64) error {
	kept := f.records.Snapshots.Group(p.Key())
	if f.Planning == nil {
		f.layout.Add(&next, kept)
	} else if !bundles.Known(&next, kept) {
		next.Work = "planned" // of no work that is there
	}
	next.Index = 1
	if len(kept) > 0 {
		next.Index = kept[len(kept)-1].Value.Index + 1
	}
	for name, index := range broken { // what took its number must not be taken for it
		next.Index = max(next.Index, index+1)
		f.ops = append(f.ops, f.records.Snapshots.Delete(name, f.records.Snapshots.Revision(name)))
	}
	f.ops = append(f.ops, f.records.Snapshots.Put(subjects.SnapshotName(p.Key(), next.Index), &next, 0))
	f.cuts[p.Key()] = &next
	f.crowd.Cut(&next)
	f.auditSnapshot(p, &next)
	f.forget(p, kept)
	return nil
}

// sizeOf is how long the body of a manifest is at most: what snapshots refer to is what was applied, or less.
func (f *Draft) sizeOf(m api.Manifest) int { return f.index.SizeOf(&m) }

// Blind says that content is stored that cannot be read and that the draft does not write: a snapshot
// would lack it, and members would delete it. No snapshots are cut until somebody applies or deletes it.
func (f *Draft) Blind() bool {
	unread := f.records.Unread(f.noted)
	if len(unread) == 0 {
		return false
	}
	for i := range f.Results {
		f.Results[i].Notes = append(f.Results[i].Notes, "no snapshots are cut while stored objects cannot be read, apply or delete them: "+phrase.Enumerate(unread))
	}
	return true
}

// Selected returns the snapshot p would have now, without its index and work.
func (f *Draft) Selected(p *api.Placement) api.Snapshot {
	snapshot := api.Snapshot{
		Header: api.NewHeader(api.KindSnapshot), Placement: p.Key(), UID: string(p.UID), Created: f.now,
		Manifests: []api.Manifest{}, By: f.by.Name, Request: f.request,
	}
	manifests, err := content.Select(p.Spec.ResourceSelectors, p.Namespace, f.index)
	if err != nil {
		snapshot.Error = err.Error()
		return snapshot
	}
	snapshot.Manifests = append(snapshot.Manifests, manifests...)
	return snapshot
}

func (f *Draft) auditSnapshot(p *api.Placement, s *api.Snapshot) {
	event := api.Audit{
		Header: api.NewHeader(api.KindAudit), At: f.now, Object: subjects.KindPlacement + "/" + p.Key(), Type: "Normal",
		Reason: "SnapshotCut", By: "door", Request: f.by.Request, Snapshot: s.Index,
		Message: fmt.Sprintf("snapshot %d holds %s", s.Index, phrase.Count(len(s.Manifests), "object")),
	}
	if s.Error != "" {
		event.Type, event.Reason = "Warning", "InvalidResourceSelectors"
		event.Message = fmt.Sprintf("snapshot %d: %s", s.Index, s.Error)
	}
	f.events = append(f.events, event)
}

// forget removes the snapshots of a placement that nobody needs once it has a new one.
func (f *Draft) forget(p *api.Placement, kept []store.Entry[api.Snapshot]) {
	for _, old := range f.records.Surplus(p, kept, f.carried(p)) {
		f.ops = append(f.ops, f.records.Snapshots.Delete(old.Name, old.Revision))
	}
}

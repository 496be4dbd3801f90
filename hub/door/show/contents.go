package show

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/rollup"
	"flotilla/hub/door/records"
	"flotilla/subjects"
)

// selected answers which placements may have an object in their newest snapshot. Snapshots are noted as they come, and read
// when somebody asks.
type selected struct {
	records *records.Tables
	mu      sync.Mutex
	changed map[string]struct{} // placements
	by      store.Inverse
}

func newSelected(records *records.Tables) *selected {
	s := &selected{records: records, changed: map[string]struct{}{}}
	records.Snapshots.OnChange(func(name string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed[subjects.Snapshots.Group(name)] = struct{}{}
	})
	return s
}

// of are the placements, by name.
func (s *selected) of(ref api.ObjectRef) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for placement := range s.changed {
		s.by.Set(placement, s.records.Selected(placement))
		delete(s.changed, placement)
	}
	return s.by.Of(content.Key(ref))
}

// standings tell how content does. What they gather of a placement they gather once, however many objects are asked for.
type standings struct {
	view *View
	now  time.Time
	of   map[string]*rollup.Standing // by placement
	last string                      // the mark of what was told last
}

func (v *View) standings() *standings {
	return &standings{view: v, now: v.store.Now(), of: map[string]*rollup.Standing{}}
}

// tell adds to an object as it was applied how it does, and returns the status of it, nil where its kind has none.
func (s *standings) tell(spec *api.Spec, tree map[string]any) any {
	object := &rollup.Object{Spec: spec, Body: tree, Deadline: rollup.DeadlineOf(tree)}
	j := s.judge(object)
	s.last = j.Mark()
	if !j.Placed() {
		s.view.deadlines.put(spec, object.Deadline)
	}
	s.due(&j, spec)
	annotate(tree, api.AnnotationOnMembers, j.Counts())
	if status := j.Status(object); status != nil {
		return status
	}
	return nil
}

// judge says how an object does.
func (s *standings) judge(object *rollup.Object) rollup.Judgement {
	ref := &object.Spec.Object
	var on []*rollup.Standing
	for _, name := range s.view.selected.of(*ref) {
		if standing := s.standing(name); standing != nil && standing.Selects(ref) {
			on = append(on, standing)
		}
	}
	return rollup.Judge(object, on, s.now)
}

// mark is that of what would be told of an object, without what was applied; false where that has to be looked at.
func (s *standings) mark(spec *api.Spec) (string, bool) {
	deadline, known := s.view.deadlines.of(spec)
	j := s.judge(&rollup.Object{Spec: spec, Deadline: max(deadline, 1)})
	if known {
		s.due(&j, spec)
	}
	return j.Mark(), known || j.Placed()
}

// due has those told who watch an object once time alone changes how it does.
func (s *standings) due(j *rollup.Judgement, spec *api.Spec) {
	if due := s.view.options.Due; due != nil && !j.Recheck.IsZero() {
		due(content.Key(spec.Object), j.Recheck)
	}
}

func annotate(tree map[string]any, name, value string) {
	metadata, _ := tree["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations[name] = value
}

// standing is how a placement stands, nil for one that is gone, or is going.
func (s *standings) standing(name string) *rollup.Standing {
	standing, known := s.of[name]
	if !known {
		standing = s.view.gather(name)
		s.of[name] = standing
	}
	return standing
}

func (v *View) gather(name string) *rollup.Standing {
	stored, revision, found := v.records.Placements.Get(name)
	if !found || stored.Deleted != nil {
		return nil
	}
	p, err := v.records.Placement(&store.Entry[api.Spec]{Name: name, Value: stored, Revision: revision})
	if err != nil { // what it selects is known all the same
		p = &api.Placement{ObjectMeta: metav1.ObjectMeta{
			Namespace: stored.Object.Namespace, Name: stored.Object.Name, UID: types.UID(stored.UID), Generation: stored.Generation,
		}}
	}
	ground, said := v.groundOf(p), v.said(name)
	return rollup.Gather(rollup.Placement{
		Placement: p, Schedule: ground.Schedule, Release: ground.Release, Latest: ground.Latest, Frozen: ground.Frozen,
		Snapshot: func(index int64) *api.Snapshot {
			snapshot, _, found := v.records.Snapshots.Get(subjects.SnapshotName(name, index))
			if !found {
				return nil
			}
			return &snapshot
		},
		Heard: func(member string) (*api.PlacementResult, api.MemberState) {
			result, state := said(member)
			return result, state.State
		},
	})
}

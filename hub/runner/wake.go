package runner

import (
	"maps"
	"slices"
	"sync"

	"flotilla/core/api"
)

// waiters lists, by run, the members it found Pending or Running when it was last decided on: those that
// may go on, and those whose agents may fall silent.
type waiters map[string]map[string]struct{}

// set replaces what a run waits for.
func (w waiters) set(run string, status *api.UpdateRunStatus) {
	delete(w, run)
	if status == nil || !status.Status.State.Active() && status.Status.State != api.StateStopping {
		return
	}
	waits := map[string]struct{}{}
	for i := range status.Stages {
		for j := range status.Stages[i].Groups {
			for k := range status.Stages[i].Groups[j].Members {
				m := &status.Stages[i].Groups[j].Members[k]
				if m.Status.State == api.StatePending || m.Status.State == api.StateRunning {
					waits[m.Name] = struct{}{}
				}
			}
		}
	}
	if len(waits) > 0 {
		w[run] = waits
	}
}

// wakeWaiting wakes the runs that wait for a member, whether for its turn or for its end.
func (r *Runner) wakeWaiting(member string) {
	for run, members := range r.waiters {
		if _, waits := members[member]; waits {
			r.queue.Add(runKey + run)
		}
	}
}

// wakeRuns wakes the runs whose status fits.
func (r *Runner) wakeRuns(fits func(*api.UpdateRunStatus) bool) {
	for _, entry := range r.records.runs.All() {
		if fits(&entry.Value) {
			r.queue.AddAt(runKey+entry.Name, r.options.Now().Add(settle))
		}
	}
}

// wakeUncreated wakes the runs that could not be created yet.
func (r *Runner) wakeUncreated() {
	for _, run := range r.states.waiting() {
		r.queue.AddAt(runKey+run, r.options.Now().Add(settle))
	}
}

// uncreated says that a run could not be created from its spec yet.
func uncreated(status *api.UpdateRunStatus) bool { return len(status.Stages) == 0 }

func (r *Runner) wakeProfiles() {
	for _, entry := range r.records.profileSpecs.All() {
		r.queue.AddAt(profileKey+entry.Name, r.options.Now().Add(profileSettle))
	}
}

// states remembers the state every run was last seen in, and which runs could not be created.
type states struct {
	mu        sync.Mutex
	of        map[string]api.UpdateState
	uncreated map[string]struct{}
}

func newStates() *states {
	return &states{of: map[string]api.UpdateState{}, uncreated: map[string]struct{}{}}
}

// turn notes the state of a run, empty for one that is gone; changed says that it differs, and first
// that the run was not known.
func (s *states) turn(run string, status *api.UpdateRunStatus) (changed, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := status.Status.State
	before, known := s.of[run]
	delete(s.uncreated, run)
	if state == "" {
		delete(s.of, run)
		return before != state, !known
	}
	s.of[run] = state
	if uncreated(status) {
		s.uncreated[run] = struct{}{}
	}
	return before != state, !known
}

// waiting are the runs that could not be created yet, sorted.
func (s *states) waiting() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.uncreated))
}

// noteRun wakes a run that was found at takeover, and, when a run enters another state, the profiles,
// one of which may wait for it.
func (r *Runner) noteRun(name string) {
	status, _, _ := r.records.runs.Get(name)
	r.noteContent(name, &status)
	changed, first := r.states.turn(name, &status)
	if first {
		r.queue.Add(runKey + name)
	}
	if changed {
		r.wakeProfiles()
	}
}

// noteLock has the runs looked at that wait for a member whose lock was given back.
func (r *Runner) noteLock(member string) {
	if _, held := r.records.locks.Get(member); !held {
		r.fleet.noteFree(member)
		r.queue.AddAt(membersKey, r.options.Now().Add(settle))
	}
}

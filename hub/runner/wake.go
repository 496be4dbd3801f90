package runner

import (
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

// uncreated says that a run could not be created from its spec yet.
func uncreated(status *api.UpdateRunStatus) bool { return len(status.Stages) == 0 }

func (r *Runner) wakeProfiles() {
	for _, entry := range r.records.profileSpecs.All() {
		r.queue.AddAt(profileKey+entry.Name, r.options.Now().Add(profileSettle))
	}
}

// states remembers the state every run was last seen in.
type states struct {
	mu sync.Mutex
	of map[string]api.UpdateState
}

func newStates() *states { return &states{of: map[string]api.UpdateState{}} }

// turn notes the state of a run, empty for one that is gone; changed says that it differs, and first
// that the run was not known.
func (s *states) turn(run string, state api.UpdateState) (changed, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.of[run]
	if state == "" {
		delete(s.of, run)
	} else {
		s.of[run] = state
	}
	return before != state, !known
}

// noteRun wakes a run that was found at takeover, and, when a run enters another state, the profiles,
// one of which may wait for it.
func (r *Runner) noteRun(name string) {
	status, _, _ := r.records.runs.Get(name)
	changed, first := r.states.turn(name, status.Status.State)
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

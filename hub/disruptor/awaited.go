package disruptor

import (
	"sync"

	"flotilla/core/api"
)

// awaited are the members that update runs wait for because something else holds them, so that a run is
// not kept off by one disruption after another.
type awaited struct {
	mu     sync.Mutex
	by     map[string]map[string]bool // members by run
	member map[string]map[string]bool // runs by member
}

func newAwaited() *awaited {
	return &awaited{by: map[string]map[string]bool{}, member: map[string]map[string]bool{}}
}

// set replaces what a run waits for and returns the members of which that is a change.
func (a *awaited) set(run string, status *api.UpdateRunStatus) (changed []string) {
	waits := map[string]bool{}
	if status != nil && status.Status.State.Active() {
		eachMember(status, func(m *api.MemberUpdateStatus) {
			if m.Status.State == api.StatePending && m.Reason == api.ReasonLockedByRun {
				waits[m.Name] = true
			}
		})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for m := range a.by[run] {
		if !waits[m] {
			delete(a.member[m], run)
			changed = append(changed, m)
		}
	}
	for m := range waits {
		if !a.by[run][m] {
			if a.member[m] == nil {
				a.member[m] = map[string]bool{}
			}
			a.member[m][run] = true
			changed = append(changed, m)
		}
	}
	a.by[run] = waits
	if len(waits) == 0 {
		delete(a.by, run)
	}
	return changed
}

// first is the first run by name that waits for a member, "" for none.
func (a *awaited) first(member string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := ""
	for run := range a.member[member] {
		if first == "" || run < first {
			first = run
		}
	}
	return first
}

func eachMember(status *api.UpdateRunStatus, f func(*api.MemberUpdateStatus)) {
	for i := range status.Stages {
		for j := range status.Stages[i].Groups {
			for k := range status.Stages[i].Groups[j].Members {
				f(&status.Stages[i].Groups[j].Members[k])
			}
		}
	}
}

// noteRun wakes the members that a run came to wait for, or waits for no longer.
func (d *Disruptor) noteRun(name string) {
	status, _, found := d.records.runs.Get(name)
	var seen *api.UpdateRunStatus
	if found {
		seen = &status
	}
	for _, member := range d.awaited.set(name, seen) {
		d.queue.Add(member)
	}
}

package runner

import (
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/core/staged"
	"flotilla/core/upgrade"
)

// situation is what a decision about one run depends on.
type situation struct {
	name string
	// run, of upgrades, and staged, of content, are nil when the spec is gone, and else one of them; status is nil when there
	// is none yet; revision is that of the status.
	run      *api.UpdateRun
	staged   *api.StagedUpdateRun
	status   *api.UpdateRunStatus
	revision uint64
	view     upgrade.View
	content  staged.View
	now      time.Time
}

// gone says that the spec of the run is.
func (s *situation) gone() bool { return s.run == nil && s.staged == nil }

// gather collects what is known around a run.
func (r *Runner) gather(name string) (*situation, error) {
	s := &situation{name: name, now: r.options.Now()}
	var err error
	if s.run, s.staged, err = r.records.run(name); err != nil {
		return nil, err
	}
	status, revision, found, err := r.records.runs.Find(name)
	if err != nil {
		return nil, err
	}
	uid := ""
	if found {
		s.status, s.revision, uid = &status, revision, status.UID
	}
	if s.staged != nil {
		return s, r.gatherContent(s)
	}
	s.view, err = r.viewFor(uid)
	if err != nil || !found {
		return s, err
	}
	s.view.Results = r.results(s)
	return s, r.check(s.status)
}

// viewFor is the fleet as a run sees it: locks it holds itself are not in its way.
func (r *Runner) viewFor(uid string) (upgrade.View, error) {
	catalog, err := r.records.catalog()
	view := upgrade.View{Fleet: r.fleet.members, Catalog: catalog, Locks: map[string]string{}, Freezes: guard.Read(r.records.freezes.Find)}
	for _, entry := range r.records.locks.All() {
		if !ownedBy(entry.Value.Holder, uid) {
			view.Locks[entry.Name] = r.holderOf(&entry.Value)
		}
	}
	return view, err
}

// check refuses to decide while a member of a run is missing from the fleet because its records cannot
// be read: it has not left.
func (r *Runner) check(status *api.UpdateRunStatus) error {
	var wrong error
	eachMember(status, func(m *api.MemberUpdateStatus) {
		if _, known := r.fleet.members.Member(m.Name); known || wrong != nil {
			return
		}
		_, _, wrong = r.records.facts(m.Name)
	})
	return wrong
}

// ownedBy says that an operation is of the run with that uid.
func ownedBy(operation, uid string) bool {
	return uid != "" && strings.HasPrefix(operation, uid+"/")
}

// results returns what agents say of the operations of a run that are not concluded, by operation id.
// An agent speaks for its own member only.
func (r *Runner) results(s *situation) map[string]api.UpgradeResult {
	found := map[string]api.UpgradeResult{}
	eachMember(s.status, func(m *api.MemberUpdateStatus) {
		if m.Status.State != api.StateRunning && !m.Locked {
			return
		}
		result, _ := r.records.results.Get(resultKey(m.Name, s.name))
		if result != nil && result.Operation == m.OperationID {
			found[m.OperationID] = *result
		}
		if m.Locked && m.Status.State != api.StateRunning {
			r.fleet.heard(m.Name, s.now)
		}
	})
	return found
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

package show

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/staged"
	"flotilla/core/upgrade"
	"flotilla/hub/door/records"
)

// runStatus is an UpdateRunStatus as users read it, without what only the record needs.
type runStatus struct {
	api.UpdateRunStatus
	Kind     string   `json:"kind,omitempty"`
	Level    int      `json:"level,omitempty"`
	Requests []string `json:"requests,omitempty"`
}

// stagedStatus is the status of a staged run as users read it: the tree, and what KubeFleet says of it.
type stagedStatus struct {
	runStatus
	api.StagedConditions
}

// profileStatus is an AutoUpgradeProfileStatus as users read it.
type profileStatus struct {
	api.AutoUpgradeProfileStatus
	Kind    string `json:"kind,omitempty"`
	Level   int    `json:"level,omitempty"`
	Profile string `json:"profile,omitempty"`
	UID     string `json:"uid,omitempty"`
}

// renderUpgrade shows an object of a kind that goes by its name alone, with the status that the runner, or the scheduler, wrote.
func (v *View) renderUpgrade(entry *store.Entry[api.Spec], brief bool) (json.RawMessage, error) {
	var shown any
	switch spec := &entry.Value; spec.Object.Kind {
	case api.KindUpdateRun:
		if status := v.records.RunStatus(spec); status != nil {
			explained := stage.Explained(status)
			if brief {
				leaveOutSettled(&explained)
			}
			shown = runStatus{UpdateRunStatus: explained}
		}
	case api.KindClusterStagedUpdateRun, api.KindStagedUpdateRun:
		if status := v.records.RunStatus(spec); status != nil {
			explained := stage.Explained(status)
			if brief {
				leaveOutSettled(&explained)
			}
			shown = stagedStatus{runStatus{UpdateRunStatus: explained}, staged.Shown(status)}
		}
	case api.KindAutoUpgradeProfile:
		if status, _, found := v.records.Profiles.Get(entry.Name); found && status.UID == spec.UID {
			shown = profileStatus{AutoUpgradeProfileStatus: status}
		}
	case api.KindEviction:
		if outcome, _, found := v.records.Evictions.Get(entry.Name); found && outcome.UID == spec.UID {
			shown = outcome.PlacementEvictionStatus
		}
	}
	return v.complete(&entry.Value, entry.Revision, entry.Value.Body, shown)
}

// leaveOutSettled takes members out of a status, which is the caller's own, but for those that run,
// wait or failed: tables need the counts.
func leaveOutSettled(status *api.UpdateRunStatus) {
	for i := range status.Stages {
		for j := range status.Stages[i].Groups {
			g := &status.Stages[i].Groups[j]
			g.Members = slices.DeleteFunc(slices.Clone(g.Members), func(m api.MemberUpdateStatus) bool {
				return m.Status.State != api.StateRunning && m.Status.State != api.StatePending && m.Status.State != api.StateFailed
			})
		}
	}
}

// gates are those of all runs that were reached.
func (v *View) gates() []api.Gate {
	var gates []api.Gate
	for _, run := range v.records.Specs[api.KindUpdateRun].All() { // of either kind
		if status := v.records.RunStatus(&run.Value); status != nil {
			gates = append(gates, stage.Gates(status)...)
		}
	}
	return gates
}

func (v *View) gateItems() []item {
	var items []item
	for _, gate := range v.gates() {
		items = append(items, item{
			ref: api.ObjectRef{APIVersion: gate.APIVersion, Kind: gate.Kind, Name: gate.Name},
			render: func(context.Context) (shown, error) {
				rendered, err := v.renderGate(gate)
				return shown{body: rendered}, err
			},
		})
	}
	return items
}

// renderGate shows a gate, which is as old as its wait.
func (v *View) renderGate(gate api.Gate) (json.RawMessage, error) {
	gate.CreationTimestamp = gate.Status.StartTime
	if _, revision, found := v.records.Runs.Get(gate.Spec.Target.Run); found {
		gate.ResourceVersion = fmt.Sprintf("%v.%d", v.store.Term.Epoch, revision)
	}
	rendered, err := json.Marshal(gate)
	if err != nil {
		return nil, fmt.Errorf("encoding gate %s: %w", gate.Name, err)
	}
	return rendered, nil
}

// gate renders the gate of that name, nil when there is none.
func (v *View) gate(ctx context.Context, name string) (json.RawMessage, error) {
	items := v.gateItems()
	i := slices.IndexFunc(items, func(i item) bool { return i.ref.Name == name })
	if i < 0 {
		return nil, nil
	}
	is, err := items[i].render(ctx)
	return is.body, err
}

// RefuseGate refuses whoever would change a gate of a run; nil when ref names none.
func (v *View) RefuseGate(ref api.ObjectRef) error {
	if !records.OurGate(ref) {
		return nil
	}
	for _, gate := range v.gates() {
		if gate.Name == ref.Name {
			return upgrade.RefuseGateChange(&gate).Failure()
		}
	}
	return nil
}

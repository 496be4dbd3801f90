package door

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/upgrade"
)

// runStatus is an UpdateRunStatus as users read it, without what only the record needs.
type runStatus struct {
	api.UpdateRunStatus
	Kind     string   `json:"kind,omitempty"`
	Level    int      `json:"level,omitempty"`
	Requests []string `json:"requests,omitempty"`
}

// profileStatus is an AutoUpgradeProfileStatus as users read it.
type profileStatus struct {
	api.AutoUpgradeProfileStatus
	Kind    string `json:"kind,omitempty"`
	Level   int    `json:"level,omitempty"`
	Profile string `json:"profile,omitempty"`
	UID     string `json:"uid,omitempty"`
}

// renderUpgrade shows an object of the kinds around upgrades, with the status that the runner wrote.
func (d *Door) renderUpgrade(entry *bus.Entry[api.Spec], brief bool) (json.RawMessage, error) {
	var shown any
	switch spec := &entry.Value; spec.Object.Kind {
	case api.KindUpdateRun:
		if status := d.records.upgrades.status(spec); status != nil {
			explained := upgrade.Explained(status)
			if brief {
				leaveOutSettled(&explained)
			}
			shown = runStatus{UpdateRunStatus: explained}
		}
	case api.KindAutoUpgradeProfile:
		if status, _, found := d.records.upgrades.profiles.Get(entry.Name); found && status.UID == spec.UID {
			shown = profileStatus{AutoUpgradeProfileStatus: status}
		}
	}
	return d.complete(&entry.Value, entry.Revision, entry.Value.Body, shown)
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
func (d *Door) gates() []api.Gate {
	var gates []api.Gate
	for _, run := range d.records.specs[api.KindUpdateRun].All() {
		if status := d.records.upgrades.status(&run.Value); status != nil {
			gates = append(gates, upgrade.Gates(status)...)
		}
	}
	return gates
}

func (d *Door) gateItems() []item {
	var items []item
	for _, gate := range d.gates() {
		items = append(items, item{
			ref:    api.ObjectRef{APIVersion: gate.APIVersion, Kind: gate.Kind, Name: gate.Name},
			render: func(context.Context) (json.RawMessage, error) { return d.renderGate(gate) },
		})
	}
	return items
}

// renderGate shows a gate, which is as old as its wait.
func (d *Door) renderGate(gate api.Gate) (json.RawMessage, error) {
	gate.CreationTimestamp = gate.Status.StartTime
	if _, revision, found := d.records.upgrades.runs.Get(gate.Spec.Target.Run); found {
		gate.ResourceVersion = fmt.Sprintf("%d.%d", d.store.Term.Epoch, revision)
	}
	rendered, err := json.Marshal(gate)
	if err != nil {
		return nil, fmt.Errorf("encoding gate %s: %w", gate.Name, err)
	}
	return rendered, nil
}

// gate renders the gate of that name, nil when there is none.
func (d *Door) gate(ctx context.Context, name string) (json.RawMessage, error) {
	items := d.gateItems()
	i := slices.IndexFunc(items, func(i item) bool { return i.ref.Name == name })
	if i < 0 {
		return nil, nil
	}
	return items[i].render(ctx)
}

// refuseGate refuses whoever would change a gate of a run; nil when ref names none.
func (d *Door) refuseGate(ref api.ObjectRef) error {
	if !ourGate(ref) {
		return nil
	}
	for _, gate := range d.gates() {
		if gate.Name == ref.Name {
			return upgrade.RefuseGateChange(&gate).Failure()
		}
	}
	return nil
}

// deleteNamed adds the deletion of an object of a named kind to the draft, unless a rule forbids it. What
// else a run leaves behind, its status, gates and locks, the runner takes away.
func (f *draft) deleteNamed(stored *api.Spec, revision uint64) error {
	switch stored.Object.Kind {
	case api.KindUpdateRun:
		status, err := f.records.upgrades.certain(stored)
		if err != nil {
			return err
		}
		if refusal := refuseDelete(status); refusal != nil {
			return refusal.Failure()
		}
	case api.KindUpdateStrategy:
		if err := f.strategyInUse(stored.Object.Name); err != nil {
			return err
		}
	}
	f.erase(stored.Object, revision)
	f.audit(auditName(stored.Object), "Deleted", stored.Object.String())
	return nil
}

func refuseDelete(status *api.UpdateRunStatus) *api.Refusal {
	if status == nil {
		return nil
	}
	_, refusal := upgrade.CheckDelete(status)
	return refusal
}

func (f *draft) strategyInUse(name string) error {
	var profiles []api.AutoUpgradeProfile
	for _, entry := range f.records.specs[api.KindAutoUpgradeProfile].All() {
		if _, going := f.going[entry.Value.Object]; going {
			continue
		}
		profile, err := api.SpecOf[api.AutoUpgradeProfile](&entry.Value)
		if err != nil {
			return err
		}
		profiles = append(profiles, *profile)
	}
	slices.SortFunc(profiles, func(a, b api.AutoUpgradeProfile) int { return cmp.Compare(a.Name, b.Name) })
	if refusal := upgrade.CheckStrategyDelete(name, profiles); refusal != nil {
		return refusal.Failure()
	}
	return nil
}

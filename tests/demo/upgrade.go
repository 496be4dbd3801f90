package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"flotilla/agent/target/memory/faults"
	"flotilla/bus"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/hub/flotilla/cli/session"
)

// The upgrade of configs/examples/upgrades/run.yaml.
const (
	spring     = "to-1-36-4"
	springFrom = "1.36.3"
	springTo   = "1.36.4"
	windowed   = "dublin"
	brittle    = "lyon"
	beside     = "berlin" // first of the other group of production
)

// brisk makes upgrades of a member quick.
func brisk(members []configs.Agent) {
	for i := range members {
		members[i].Upgrade.Memory.ControlPlane = configs.Duration(200 * time.Millisecond)
		members[i].Upgrade.Memory.NodePool = configs.Duration(200 * time.Millisecond)
	}
}

func (d *demo) upgrades(name string) string {
	return filepath.Join(d.examples(), "upgrades", name+".yaml")
}

// planUpgrade says what a run would do: one member's window is closed, so that it comes last.
func (d *demo) planUpgrade(ctx context.Context) error {
	for _, name := range []string{"catalog", "strategy"} {
		if err := d.flotilla(ctx, "apply", "-f", d.upgrades(name)); err != nil {
			return err
		}
	}
	opens := d.now().UTC().AddDate(0, 0, 3).Weekday()
	if err := d.window(ctx, fmt.Sprintf("schedule: {weekly: {intervalWeeks: 1, dayOfWeek: %s}}, durationHours: 4", opens)); err != nil {
		return err
	}
	if err := d.flotilla(ctx, "windows", windowed); err != nil {
		return err
	}
	return d.exits(ctx, session.ExitDifferent, "plan", "-f", d.upgrades("run"), "--assume", "10m", "--assume-approval", "1h")
}

// window gives the windowed member a schedule.
func (d *demo) window(ctx context.Context, schedule string) error {
	file := filepath.Join(d.folder, "maintenance.yaml")
	text := fmt.Sprintf(`apiVersion: flotilla.io/v1alpha1
kind: MemberMaintenance
metadata: {name: %s}
spec:
  aksManagedAutoUpgradeSchedule: {%s, startTime: "00:00", startDate: "2020-01-01"}
`, windowed, schedule)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	return d.flotilla(ctx, "apply", "-f", file)
}

// upgradeTest starts the run and follows it to the gate behind its first stage.
func (d *demo) upgradeTest(ctx context.Context) error {
	for _, args := range [][]string{{"apply", "-f", d.upgrades("run")}, {"run", "start", spring}} {
		if err := d.flotilla(ctx, args...); err != nil {
			return err
		}
	}
	err := d.until(ctx, "the test members are upgraded and the gate waits", func(ctx context.Context) error {
		if err := d.gateWaits(ctx); err != nil {
			return err
		}
		return d.run(ctx, api.StateRunning, map[string]api.UpdateState{
			"cluster2": api.StateCompleted, "osaka": api.StateCompleted, "tampa": api.StateCompleted,
			"berlin": api.StateNotStarted, "cluster1": api.StateNotStarted, "dublin": api.StateNotStarted,
			"lyon": api.StateNotStarted, "oslo": api.StateNotStarted,
		})
	})
	if err != nil {
		return err
	}
	if err := d.versions(ctx, springTo, "cluster2", "osaka", "tampa"); err != nil {
		return err
	}
	return d.flotilla(ctx, "get", "gates")
}

// gateWaits wants the gate behind the first stage to wait for approval.
func (d *demo) gateWaits(ctx context.Context) error {
	status, err := d.status(ctx)
	if err != nil {
		return err
	}
	if gate := status.Stages[0].AfterGates[0]; gate.Status.State != api.StatePending {
		return fmt.Errorf("the gate behind stage %s is %s, expected %s", status.Stages[0].Name, gate.Status.State, api.StatePending)
	}
	return nil
}

// upgradeProduction ends the wait and opens the gate. The first members of both groups go side by side; one of them fails.
func (d *demo) upgradeProduction(ctx context.Context) error {
	for _, name := range []string{beside, brittle} {
		d.fleet.Agent(name).Memory().SetFaults(faults.Faults{HangUpgrade: []faults.Upgrade{{What: "any"}}})
	}
	for _, args := range [][]string{{"run", "skip", spring, "wait/test"}, {"run", "approve", spring}} {
		if err := d.flotilla(ctx, args...); err != nil {
			return err
		}
	}
	err := d.until(ctx, "both groups of production go side by side", func(ctx context.Context) error {
		return d.run(ctx, api.StateRunning, map[string]api.UpdateState{beside: api.StateRunning, brittle: api.StateRunning})
	})
	if err != nil {
		return err
	}
	fmt.Printf("\n  the upgrade of member %s fails\n", brittle)
	d.fleet.Agent(brittle).Memory().SetFaults(faults.Faults{FailUpgrade: []faults.Upgrade{{What: "any"}}})
	d.fleet.Agent(beside).Memory().SetFaults(faults.Faults{})
	err = d.until(ctx, brittle+" has failed and "+windowed+" waits for its window", func(ctx context.Context) error {
		return d.run(ctx, api.StatePending, map[string]api.UpdateState{
			"berlin": api.StateCompleted, "cluster1": api.StateCompleted, "oslo": api.StateCompleted,
			brittle: api.StateFailed, windowed: api.StatePending,
		})
	})
	if err != nil {
		return err
	}
	if err := d.reasons(ctx, map[string]string{brittle: api.ReasonUpgradeFailed, windowed: api.ReasonWindowClosed}); err != nil {
		return err
	}
	return d.exits(ctx, session.ExitDifferent, "run", "status", spring)
}

// endUpgrade skips the failed member and opens the window: the run goes on by itself and ends.
func (d *demo) endUpgrade(ctx context.Context) error {
	if err := d.flotilla(ctx, "run", "skip", spring, "member/"+brittle); err != nil {
		return err
	}
	if err := d.window(ctx, "schedule: {daily: {intervalDays: 1}}, durationHours: 24"); err != nil {
		return err
	}
	upgraded := []string{"berlin", "cluster1", "cluster2", "dublin", "osaka", "oslo", "tampa"}
	want := map[string]api.UpdateState{brittle: api.StateSkipped}
	for _, name := range upgraded {
		want[name] = api.StateCompleted
	}
	err := d.until(ctx, "the run is Completed", func(ctx context.Context) error { return d.run(ctx, api.StateCompleted, want) })
	if err != nil {
		return err
	}
	err = errors.Join(
		d.reasons(ctx, map[string]string{brittle: api.ReasonSkippedByUser}),
		d.versions(ctx, springTo, upgraded...), d.versions(ctx, springFrom, brittle),
	)
	if err != nil {
		return err
	}
	return d.flotilla(ctx, "run", "status", spring)
}

func (d *demo) status(ctx context.Context) (*api.UpdateRunStatus, error) {
	var run api.UpdateRun
	request := api.GetRequest{Kind: api.KindUpdateRun, Name: spring}
	if err := bus.Request(ctx, d.fleet.Client, api.VerbGet, request, &run, bus.RequestOptions{}); err != nil {
		return nil, err
	}
	if run.Status == nil {
		return nil, fmt.Errorf("run %s has no status yet", spring)
	}
	return run.Status, nil
}

// run wants the run and these members of it to be in these states.
func (d *demo) run(ctx context.Context, state api.UpdateState, members map[string]api.UpdateState) error {
	status, err := d.status(ctx)
	if err != nil {
		return err
	}
	if status.Status.State != state {
		return fmt.Errorf("run %s is %s, expected %s", spring, status.Status.State, state)
	}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(members)) {
		m, found := stage.MemberStatus(status, name)
		if !found {
			faults = append(faults, fmt.Errorf("member %s is not in the run", name))
			continue
		}
		if m.Status.State != members[name] {
			faults = append(faults, fmt.Errorf("member %s is %s %s, expected %s: %s", name, m.Status.State, m.Reason, members[name], m.Message))
		}
	}
	return errors.Join(faults...)
}

// reasons wants members of the run to carry these reasons.
func (d *demo) reasons(ctx context.Context, want map[string]string) error {
	status, err := d.status(ctx)
	if err != nil {
		return err
	}
	for name, reason := range want {
		if m, _ := stage.MemberStatus(status, name); m == nil || m.Reason != reason {
			return fmt.Errorf("member %s has not the reason %s: %+v", name, reason, m)
		}
	}
	return nil
}

// versions looks into members themselves: control plane and pools.
func (d *demo) versions(ctx context.Context, want string, members ...string) error {
	for _, name := range members {
		found, err := d.fleet.Agent(name).Memory().Inventory(ctx)
		if err != nil {
			return err
		}
		have := []string{found.ControlPlaneVersion}
		for i := range found.NodePools {
			have = append(have, found.NodePools[i].KubernetesVersion)
		}
		if slices.ContainsFunc(have, func(v string) bool { return strings.TrimPrefix(v, "v") != want }) {
			return fmt.Errorf("member %s is at %v, expected %s", name, have, want)
		}
	}
	return nil
}

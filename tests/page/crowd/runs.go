package crowd

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/core/stage"
)

// Runs of the fleet: one is under way, one failed, one is finished, and one brings content.
const (
	runSpring = "spring"
	runAutumn = "autumn"
	runWinter = "winter"
	runStaged = staged + "-1"
)

// upgradesTo are the objects around upgrades; the west of production waits for an approval.
const upgradesTo = `
apiVersion: flotilla.io/v1alpha1
kind: UpdateStrategy
metadata: {name: waves}
spec:
  policy: {onUnreachable: Wait}
  stages:
  - {name: canary, memberSelector: {byLabel: wave=canary}, maxConcurrency: "50", maxAllowedFailures: "1"}
  - {name: staging, memberSelector: {byLabel: wave=staging}, maxConcurrency: "50", maxAllowedFailures: "3"}
  - name: prod
    memberSelector: {byLabel: "wave in (prod-east, prod-west)"}
    maxConcurrency: "50"
    maxAllowedFailures: "20"
    groups:
    - {name: east, memberSelector: {byLabel: wave=prod-east}, maxConcurrency: "20"}
    - name: west
      memberSelector: {byLabel: wave=prod-west}
      maxConcurrency: "20"
      beforeGates: [{type: Approval, displayName: 'east looks good <b onmouseover="alert(1)">really</b>'}]
---
apiVersion: flotilla.io/v1alpha1
kind: UpdateRun
metadata: {name: spring, annotations: {crowd.example.com/ticket: '<script>alert(1)</script>'}}
spec: {strategyName: waves, upgrade: {type: Full, kubernetesVersion: 1.37.1}}
---
apiVersion: flotilla.io/v1alpha1
kind: UpdateRun
metadata: {name: autumn}
spec:
  upgrade: {type: ControlPlaneOnly, kubernetesVersion: 1.36.4}
  strategy: {stages: [{name: edge, memberSelector: {byLabel: ring=edge}, maxConcurrency: "50"}]}
---
apiVersion: flotilla.io/v1alpha1
kind: UpdateRun
metadata: {name: winter}
spec:
  upgrade: {type: ControlPlaneOnly, kubernetesVersion: 1.36.4}
  strategy: {stages: [{name: lab, memberSelector: {byLabel: ring=lab}, maxConcurrency: "50"}]}
---
apiVersion: flotilla.io/v1alpha1
kind: AutoUpgradeProfile
metadata: {name: rapid}
spec: {channel: Rapid, strategyName: waves, triggerMode: OnRelease}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterStagedUpdateStrategy
metadata: {name: waves}
spec:
  stages:
  - {name: canary, labelSelector: {matchLabels: {wave: canary}}, maxConcurrency: 50%}
  - name: staging
    labelSelector: {matchLabels: {wave: staging}}
    maxConcurrency: 25%
    beforeStageTasks: [{type: Approval}]
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterStagedUpdateRun
metadata: {name: teashop-1}
spec: {placementName: teashop, stagedRolloutStrategyName: waves, state: Run}
`

// upgrade starts the runs, and returns when one is finished, one failed, and two wait for an approval.
func (f *Fleet) upgrade(ctx context.Context) error {
	documents, err := parsed(upgradesTo)
	if err != nil {
		return err
	}
	documents = append(documents, versions(f.now()))
	for _, m := range f.members {
		if m.windowed {
			documents = append(documents, m.window(f.now()))
		}
	}
	if err := f.apply(ctx, "upgrades", documents); err != nil {
		return err
	}
	for _, run := range []string{runWinter, runAutumn} {
		if err := f.run(ctx, api.VerbRunStart, run); err != nil {
			return err
		}
	}
	for _, run := range []struct {
		kind, name string
		state      api.UpdateState
	}{
		{api.KindUpdateRun, runWinter, api.StateCompleted},
		{api.KindUpdateRun, runAutumn, api.StateFailed},
		{api.KindClusterStagedUpdateRun, runStaged, api.StatePending},
	} {
		if err := f.await(ctx, func(ctx context.Context) error { return f.runIs(ctx, run.kind, run.name, run.state) }); err != nil {
			return err
		}
	}
	if err := f.run(ctx, api.VerbRunStart, runSpring); err != nil {
		return err
	}
	return f.await(ctx, f.springHangs)
}

// springHangs says that the run under way came to the last stage, where nothing goes on.
func (f *Fleet) springHangs(ctx context.Context) error {
	run, err := f.status(ctx, api.KindUpdateRun, runSpring)
	if err != nil {
		return err
	}
	found, want := (Course{run.Members, run.Finished, run.FailureCount}), f.Spring()
	if found != want {
		return fmt.Errorf("run %s is %s, %+v, expected %+v: %v", runSpring, run.Status.State, found, want, stage.WaitsFor(run))
	}
	return nil
}

// status is that of a run, without the members of which there is nothing to say.
func (f *Fleet) status(ctx context.Context, kind, name string) (*api.UpdateRunStatus, error) {
	var page api.ListResponse
	if err := f.ask(ctx, api.VerbList, api.ListRequest{Kind: kind, Brief: true}, &page); err != nil {
		return nil, err
	}
	for _, item := range page.Items {
		var run api.UpdateRun
		if err := json.Unmarshal(item, &run); err != nil {
			return nil, err
		}
		if run.Name == name && run.Status != nil {
			return run.Status, nil
		}
	}
	return nil, fmt.Errorf("run %s has no status yet", name)
}

// Course is how far a run came.
type Course struct{ Members, Finished, Failed int }

// Spring is how far the run under way goes by itself: what is left waits for an approval, for windows, or goes on for ever.
func (f *Fleet) Spring() (c Course) {
	c.Finished, c.Failed = f.eastEnds(), f.eastFails()
	for _, m := range f.members {
		c.Members += of(m.wave != "", 1, 0)
		if m.wave == waveCanary || m.wave == waveStaging {
			c.Finished++
			c.Failed += of(m.upgrades[runSpring] == fails, 1, 0)
		}
	}
	return c
}

// versions is the catalog of versions, which are there in all regions. All were published before now, so that the profile that waits
// for a release starts no run.
func versions(now time.Time) json.RawMessage {
	regions := []string{strangeRegion}
	for _, p := range places {
		regions = append(regions, p.region)
	}
	var releases []api.KubernetesRelease
	for i, version := range []string{"1.35.9", "1.36.3", "1.36.4", "1.37.1"} {
		published := metav1.NewTime(now.UTC().Truncate(24*time.Hour).AddDate(0, i-5, 0))
		releases = append(releases, api.KubernetesRelease{Version: version, State: api.ReleaseGA, Regions: regions, PublishedAt: published})
	}
	return encode(map[string]any{
		"apiVersion": api.VersionFlotilla, "kind": api.KindVersionCatalog, "metadata": map[string]any{"name": api.CatalogDefault},
		"spec": api.VersionCatalogSpec{Kubernetes: releases},
	})
}

// window is the maintenance window of a member, which opens in three days.
func (m *member) window(now time.Time) json.RawMessage {
	return encode(map[string]any{
		"apiVersion": api.VersionFlotilla, "kind": api.KindMemberMaintenance, "metadata": map[string]any{"name": m.name},
		"spec": map[string]any{"aksManagedAutoUpgradeSchedule": map[string]any{
			"schedule":      map[string]any{"weekly": map[string]any{"intervalWeeks": 1, "dayOfWeek": now.UTC().AddDate(0, 0, 3).Weekday().String()}},
			"durationHours": 4, "startTime": fmt.Sprintf("%02d:00", m.number%20), "startDate": "2020-01-01",
		}},
	})
}

// run steers a run as an operator.
func (f *Fleet) run(ctx context.Context, verb, name string) error {
	if err := f.askAs(ctx, api.RoleOperator, verb, api.RunRequest{Request: f.id(), Run: name}, nil); err != nil {
		return fmt.Errorf("%s of %s: %w", verb, name, err)
	}
	return nil
}

// runIs says what keeps a run from being in a state.
func (f *Fleet) runIs(ctx context.Context, kind, name string, state api.UpdateState) error {
	run, err := f.status(ctx, kind, name)
	if err != nil {
		return err
	}
	if run.Status.State != state {
		return fmt.Errorf("run %s is %s, expected %s: %v", name, run.Status.State, state, stage.WaitsFor(run))
	}
	return nil
}

// parsed are the documents of a text.
func parsed(text string) (documents []json.RawMessage, err error) {
	all, err := configs.Parse("crowd", []byte(text))
	for i := range all {
		documents = append(documents, all[i].JSON)
	}
	return documents, err
}

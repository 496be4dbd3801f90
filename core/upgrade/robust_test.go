package upgrade_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/upgrade"
	"flotilla/core/version"
)

// threeInAGroup is a run of three members one by one that was started.
func threeInAGroup(t *testing.T) *scene {
	t.Helper()
	s := newScene(t)
	s.fixture(nil, "")
	s.members(nil, "m1,m2,m3 group=g")
	require.Contains(t, s.createRun([]string{"r"}, "strategy: {stages: [{name: s, groups: [{name: g}]}]}\nupgrade: {type: Full, kubernetesVersion: 1.29.9}"), "NotStarted")
	return s
}

// hubCrash is scenario 95: a hub that dies before it commands, after it commanded, or after a result
// came and before it was written, leads to exactly one execution a member and to the same final tree.
func hubCrash(t *testing.T) {
	calm := threeInAGroup(t)
	calm.operation(api.VerbRunStart)([]string{"r"}, "")
	calm.until(calm.now.Add(2 * time.Hour))
	want := stage.Text(&calm.runs["r"].status)
	require.Contains(t, want, "run Completed")

	s := threeInAGroup(t)
	r := s.runs["r"]
	started, refusal := upgrade.Operate(r.object, &r.status, s.view("r"), s.now, api.VerbRunStart, &api.RunRequest{})
	require.Nil(t, refusal)
	require.Len(t, started.Take, 1)
	// Before the write: the decision is lost, and the next hub decides the same.
	again, _ := upgrade.Operate(r.object, &r.status, s.view("r"), s.now, api.VerbRunStart, &api.RunRequest{})
	require.Equal(t, started, again)

	// After the write, before the command: the next hub derives the command from what was written.
	s.locks["m1"], s.owners["m1"] = started.Take[0], "r"
	r.status = started.Status
	require.Empty(t, s.executed)
	s.settle()
	require.Equal(t, map[string]int{started.Take[0].Operation: 1}, s.executed)

	// After the result, before it was written: the step is asked again and finds the same.
	s.now = s.now.Add(10 * time.Minute)
	s.deliver()
	lost := upgrade.Step(r.object, &r.status, s.view("r"), s.now)
	require.Equal(t, lost, upgrade.Step(r.object, &r.status, s.view("r"), s.now))
	s.until(s.now.Add(2 * time.Hour))
	s.settle()
	s.until(s.now.Add(2 * time.Hour))
	require.Equal(t, want, stage.Text(&r.status))
	require.Len(t, s.executed, 3)
	for id, n := range s.executed {
		require.Equal(t, 1, n, id)
	}
}

// twoHubs is scenario 97: two hubs tick the same run at the same instant. Both name the same operation
// and only one of them can create the lock; the write of the other meets another revision.
func twoHubs(t *testing.T) {
	s := threeInAGroup(t)
	r := s.runs["r"]
	revision, written := 1, 0
	write := func(read int, d stage.Decision) bool {
		for _, lock := range d.Take {
			if _, taken := s.locks[lock.Member]; taken {
				return false
			}
		}
		if read != revision {
			return false
		}
		revision, written = revision+1, written+1
		s.apply("r", d)
		return true
	}
	first, refusal := upgrade.Operate(r.object, &r.status, s.view("r"), s.now, api.VerbRunStart, &api.RunRequest{})
	require.Nil(t, refusal)
	second, refusal := upgrade.Operate(r.object, &r.status, s.view("r"), s.now, api.VerbRunStart, &api.RunRequest{})
	require.Nil(t, refusal)
	require.Equal(t, first.Take, second.Take)
	read := revision
	require.True(t, write(read, first))
	require.False(t, write(read, second), "the second hub meets a conflict")
	require.Equal(t, 1, written)
	require.Len(t, s.executed, 1)

	// The loser reads again and finds nothing to start.
	require.Empty(t, upgrade.Step(r.object, &r.status, s.view("r"), s.now).Take)
	require.Len(t, upgrade.Operations(r.object, &r.status), 1)
}

// largeFleet is scenario 98: 1,000 members in 20 stages of 50 groups complete, and none is lost.
func largeFleet(t *testing.T) {
	run, view := thousand(t, 20, 50)
	status, refusal := upgrade.Create(run, nil, view, benchNow)
	require.Nil(t, refusal)
	sim := upgrade.NewSimulation(run, status, view, benchNow, func(string, int) upgrade.Assumed { return upgrade.Assumed{Duration: time.Second} })
	_, refusal = sim.Operate(benchNow, api.VerbRunStart, &api.RunRequest{})
	require.Nil(t, refusal)
	sim.Until(benchNow.Add(time.Hour))
	require.Equal(t, api.StateCompleted, sim.Status.Status.State)
	require.Equal(t, 1000, sim.Status.Finished)
	require.Len(t, sim.Started, 1000)
	states := map[api.UpdateState]int{}
	for _, s := range sim.Status.Stages {
		for _, g := range s.Groups {
			for _, m := range g.Members {
				states[m.Status.State]++
			}
		}
	}
	require.Equal(t, map[api.UpdateState]int{api.StateCompleted: 1000}, states)
}

// twoWriters is scenario 99: of two writes made from one revision the first wins and the second is told.
func twoWriters(t *testing.T) {
	require.Nil(t, upgrade.CheckVersion("r1", "1.7", "1.7", "1.3"))
	require.Nil(t, upgrade.CheckVersion("r1", "1.3", "1.7", "1.3"), "that of its spec")
	refusal := upgrade.CheckVersion("r1", "1.7", "1.8", "1.3")
	require.NotNil(t, refusal)
	require.Equal(t, "412", refusal.Status())
	require.Equal(t, api.CodeETagMismatch, refusal.Code)
	require.Equal(t, "run r1 changed since it was read: it is at resourceVersion 1.8, found 1.7", refusal.Message)
	require.Nil(t, upgrade.CheckVersion("r1", "", "1.8"), "a write without a revision asks for nothing")
}

var benchNow = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// thousand is a run over stages of groups with one member each.
func thousand(t testing.TB, stages, groups int) (*api.UpdateRun, upgrade.View) {
	t.Helper()
	fleet := upgrade.NewFleet(time.LoadLocation)
	strategy := &api.RunStrategy{}
	for i := range stages {
		stage := api.UpdateStage{Name: fmt.Sprintf("s%02d", i), MaxConcurrency: "50"}
		for j := range groups {
			name := fmt.Sprintf("m-%02d-%02d", i, j)
			group := fmt.Sprintf("g-%02d-%02d", i, j)
			stage.Groups = append(stage.Groups, api.UpdateGroup{Name: group})
			require.NoError(t, fleet.Set(upgrade.MemberFacts{
				Name: name, UID: "uid-" + name, Group: group, Eligible: true, Reachable: true,
				Inventory: api.MemberInventory{
					Region: []string{"weu", "eus"}[j%2], ControlPlaneVersion: "1.29.2",
					NodePools: []api.NodePoolFacts{{Name: "np1", KubernetesVersion: "1.29.2", NodeImageVersion: fullImage("U-202312.11.0")}},
				},
			}))
		}
		strategy.Stages = append(strategy.Stages, stage)
	}
	run := &api.UpdateRun{}
	run.Name, run.UID = "big", "uid-big"
	run.Spec = api.UpdateRunSpec{Strategy: strategy, Upgrade: api.Upgrade{Type: api.UpgradeFull, KubernetesVersion: "1.29.9"}}
	all := []string{"weu", "eus"}
	catalog, err := version.NewCatalog(&api.VersionCatalogSpec{
		Kubernetes: []api.KubernetesRelease{{Version: "1.29.2", State: "GA", Regions: all}, {Version: "1.29.9", State: "GA", Regions: all}},
		NodeImages: []api.NodeImageRelease{{Family: families["U"], Version: "202401.09.0", Regions: all}},
	})
	require.NoError(t, err)
	return run, upgrade.View{Fleet: fleet, Catalog: catalog}
}

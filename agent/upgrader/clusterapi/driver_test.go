package clusterapi

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flotilla/agent/management"
	"flotilla/agent/upgrader"
	"flotilla/core/api"
)

var _ upgrader.Driver = (*Driver)(nil)

// full is an operation of the control plane and some pools.
func full(pools ...string) api.UpgradeOperation {
	op := api.UpgradeOperation{ID: "u1/berlin/1", Run: "r", Type: api.UpgradeFull, ControlPlaneVersion: "1.37.1"}
	for _, p := range pools {
		op.NodePools = append(op.NodePools, api.PoolUpgrade{Pool: p, ToVersion: "1.37.1", Newest: true})
	}
	return op
}

// versions are those that the control plane and the pools small and gpu are told to have.
func (w *world) versions() [3]string {
	w.Helper()
	return [3]string{
		w.says(controlPlanes, "berlin", "spec", "version"),
		w.says(management.MachineDeployments, "small", "spec", "template", "spec", "version"),
		w.says(management.MachineDeployments, "gpu", "spec", "template", "spec", "version"),
	}
}

// The control plane goes first, and each pool when what is before it is through; pools that are not named stay.
func TestOneMovesAfterTheOther(t *testing.T) {
	const is, to = "v1.36.3", "v1.37.1"
	for name, one := range map[string]struct {
		op    api.UpgradeOperation
		order [][3]string
		done  []string
	}{
		"all of it":         {full("small", "gpu"), [][3]string{{is, is, is}, {to, is, is}, {to, to, is}, {to, to, to}}, []string{"small", "gpu"}},
		"in another order":  {full("gpu", "small"), [][3]string{{is, is, is}, {to, is, is}, {to, is, to}, {to, to, to}}, []string{"gpu", "small"}},
		"the control plane": {full(), [][3]string{{is, is, is}, {to, is, is}}, nil},
		"one pool": {
			api.UpgradeOperation{ID: "u1/berlin/1", Type: api.UpgradeFull, NodePools: []api.PoolUpgrade{{Pool: "small", ToVersion: "1.36.3"}, {Pool: "gpu", ToVersion: "1.36.5"}}},
			[][3]string{{is, is, is}, {is, is, "v1.36.5"}},
			[]string{"small", "gpu"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, plain)
			seen := [][3]string{w.versions()}
			result, err := w.carries(w.driver.Run, one.op, func(look int) error {
				if now := w.versions(); now != seen[len(seen)-1] {
					before := seen[len(seen)-1]
					require.True(t, before[0] == now[0] || w.runsOnly(before[0], ""), "%v while others move", now)
					seen = append(seen, now)
				}
				return w.act(look)
			})
			require.NoError(t, err)
			require.Equal(t, api.OutcomeSucceeded, result.Outcome, result.Message)
			require.Equal(t, one.order, seen)
			require.Equal(t, one.done, result.Pools)
			require.Equal(t, "it", w.says(management.MachineDeployments, "small", "spec", "template", "spec", "bootstrap", "configRef", "name"))
			least := 0
			for _, r := range w.told {
				require.GreaterOrEqual(t, r.Percent, least)
				least = r.Percent
			}
			require.NotEmpty(t, w.told)
		})
	}
}

// runsOnly reports whether all machines of the control plane, or of a pool, have a version.
func (w *world) runsOnly(version, of string) bool {
	w.Helper()
	for _, m := range w.seen().machines[of] {
		if m.Spec.Version != version {
			return false
		}
	}
	return true
}

// What is reported says which object moves, how many of its machines are there, and what Cluster API waits for.
func TestProgressSaysWhatIsWaitedFor(t *testing.T) {
	w := newWorld(t, plain)
	_, err := w.carries(w.driver.Run, full("small"), func(int) error {
		switch {
		case len(w.told) < 2:
			if len(w.told) == 1 && w.versions()[0] == "v1.37.1" && w.runsOnly("v1.36.3", "") {
				w.acts("")
				w.change(controlPlanes, "berlin", `{"status":{"conditions":[{"type":"RollingOut","status":"True","message":"Rolling out 2 not up-to-date replicas\n* Version v1.36.3, v1.37.1 required"}]}}`)
				w.change(management.Machines, "control-001", `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"status":{"conditions":[{"type":"Deleting","status":"True","message":"Drain not completed yet"}]}}`)
			}
			return nil
		}
		return errEnough
	})
	require.Error(t, err)
	require.Equal(t, "KubeadmControlPlane berlin goes to v1.37.1: 0 of 3 machines are there", w.told[0].Message)
	last := w.told[len(w.told)-1]
	require.Equal(t, "KubeadmControlPlane berlin goes to v1.37.1: 1 of 4 machines are there; RollingOut: Rolling out 2 not up-to-date replicas, Version v1.36.3, v1.37.1 required; Machine control-001: Drain not completed yet", last.Message)
	require.Equal(t, 12, last.Percent)
}

// Whenever the agent is killed, another goes on where it stood: nothing is written twice, and all is done.
func TestAnAgentThatComesBackGoesOn(t *testing.T) {
	for _, cluster := range []string{plain, managed} {
		for kill := 1; kill < 24; kill++ {
			t.Run(fmt.Sprintf("%t %d", cluster == managed, kill), func(t *testing.T) {
				w := newWorld(t, cluster)
				op := full("small")
				result, err := w.carries(w.driver.Run, op, func(look int) error {
					if look == kill {
						return errEnough
					}
					return w.act(look)
				})
				if err != nil {
					w.restart()
					result, err = w.carries(w.driver.Resume, op, w.act)
				}
				require.NoError(t, err)
				require.Equal(t, api.OutcomeSucceeded, result.Outcome, result.Message)
				require.Equal(t, [3]string{"v1.37.1", "v1.37.1", "v1.36.3"}, w.versions())
				wrote := 0
				for _, a := range w.objects.Actions() {
					if a.GetVerb() == "patch" && w.writes(a) {
						wrote++
					}
				}
				require.Equal(t, map[bool]int{true: 1, false: 2}[cluster == managed], wrote)
			})
		}
	}
}

// An operation for a member that Cluster API has moved already is done at once, and one that another began is gone on with.
func TestWhatIsThereIsNotBegun(t *testing.T) {
	w := newWorld(t, plain)
	_, err := w.carries(w.driver.Run, full("small"), func(look int) error {
		if look == 4 {
			return errEnough
		}
		return w.act(look)
	})
	require.Error(t, err)
	w.restart()
	second := full("small")
	second.ID = "u1/berlin/2"
	result, err := w.carries(w.driver.Run, second, w.act)
	require.NoError(t, err)
	require.Equal(t, api.OutcomeSucceeded, result.Outcome, result.Message)
	require.JSONEq(t, `{"operation":"u1/berlin/1","version":"v1.37.1"}`, w.says(controlPlanes, "berlin", "metadata", "annotations", annotationUpgrade))
	require.JSONEq(t, `{"operation":"u1/berlin/2","version":"v1.37.1"}`, w.says(management.MachineDeployments, "small", "metadata", "annotations", annotationUpgrade))
	w.restart()
	third := full("small")
	third.ID = "u1/berlin/3"
	result, err = w.carries(w.driver.Run, third, w.act)
	require.NoError(t, err)
	require.Equal(t, "KubeadmControlPlane berlin is at v1.37.1, MachineDeployment small is at v1.37.1", result.Message)
	require.JSONEq(t, `{"operation":"u1/berlin/1","version":"v1.37.1"}`, w.says(controlPlanes, "berlin", "metadata", "annotations", annotationUpgrade))
}

// While something moves an operation may take as long as it likes; when nothing does it fails, and says what Cluster API
// waits for.
func TestNothingMoves(t *testing.T) {
	w := newWorld(t, plain)
	moves := 0
	result, err := w.carries(w.driver.Run, full("small"), func(int) error {
		w.clock = w.clock.Add(7 * time.Minute)
		if w.versions()[1] == "v1.36.3" {
			w.acts("")
			moves++
			return nil
		}
		w.change(management.MachineDeployments, "small", `{"status":{"conditions":[{"type":"RollingOut","status":"True","message":"Rolling out 2 not up-to-date replicas"}]}}`)
		if w.seen().machines["small"][0].Name != "small-new" && len(w.seen().machines["small"]) == 2 {
			w.create(management.Machines, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: small-new, namespace: fleet, labels: {cluster.x-k8s.io/cluster-name: berlin, cluster.x-k8s.io/deployment-name: small}},
  spec: {version: v1.37.1}, status: {phase: Provisioning, conditions: [{type: Ready, status: "False", message: "* InfrastructureReady: no quota in zone a"}]}}`)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, api.OutcomeFailed, result.Outcome)
	require.Equal(t, api.ReasonUpgradeFailed, result.Reason)
	require.Equal(t, "nothing moved for 1h0m0s: MachineDeployment small goes to v1.37.1: 0 of 3 machines are there; RollingOut: Rolling out 2 not up-to-date replicas; "+
		"Machine small-new: Ready: InfrastructureReady: no quota in zone a; Cluster API goes on with what it was told once that is mended, then start the run again", result.Message)
	require.Greater(t, moves, 6)
}

// Neither is through before both its machines and its status say so.
func TestAStepIsThroughWhenAllSayIt(t *testing.T) {
	for name, one := range map[string]struct {
		kind   schema.GroupVersionResource
		object string
		patch  string
		mend   string
	}{
		"a control plane's status":  {controlPlanes, "berlin", `{"status":{"versions":[{"version":"v1.36.3"},{"version":"v1.37.1"}]}}`, `{"status":{"versions":[{"version":"v1.37.1"}]}}`},
		"a control plane's numbers": {controlPlanes, "berlin", `{"status":{"readyReplicas":2}}`, `{"status":{"readyReplicas":3}}`},
		"a pool's numbers":          {management.MachineDeployments, "small", `{"status":{"availableReplicas":1}}`, `{"status":{"availableReplicas":2}}`},
		"a machine that goes":       {management.Machines, "small-010", `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}`, `{"metadata":{"deletionTimestamp":null}}`},
		"a machine without a node":  {management.Machines, "small-010", `{"status":{"nodeRef":null}}`, `{"status":{"nodeRef":{"name":"n"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, plain)
			op := full("small")
			_, err := w.carries(w.driver.Run, op, w.act)
			require.NoError(t, err)
			w.restart()
			w.change(one.kind, one.object, one.patch)
			waits := 0
			result, err := w.carries(w.driver.Resume, op, func(look int) error {
				if waits++; waits == 20 {
					w.change(one.kind, one.object, one.mend)
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, api.OutcomeSucceeded, result.Outcome, result.Message)
			require.GreaterOrEqual(t, waits, 20)
		})
	}
}

package clusterapi

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"flotilla/agent/management"
	"flotilla/core/api"
)

// A launch makes a MachineDeployment larger by one, once however often an agent is killed and asks again, and is the
// machine that comes of it.
func TestALaunchIsAMachineMore(t *testing.T) {
	w := newWorld(t, plain, small)
	first, second := w.machine("small"), w.machine("small")
	w.up(first)
	w.up(second)
	for range 3 {
		require.Equal(t, "MachineDeployment small has made no Machine for it yet", w.launches(launch))
		require.EqualValues(t, 3, w.replicas("small"))
		w.restart()
	}
	w.act("small")
	require.Equal(t, "Machine small-003 is new", w.launches(launch))
	require.Equal(t, "drift-7-0", w.read(management.Machines, "small-003").GetAnnotations()[api.AnnotationLaunch])
	w.restart()
	w.change(management.Machines, "small-003", `{"status":{"conditions":[{"type":"InfrastructureReady","status":"False","reason":"NotReady","message":"* no quota\n* no disk"}]}}`)
	require.Equal(t, "Machine small-003 is InfrastructureReady: no quota, no disk", w.launches(launch))
	w.up("small-003")
	want := api.LaunchedNode{
		Node: "node-small-003", ProviderID: "cloud://small-003",
		Labels: map[string]string{"node.kubernetes.io/instance-type": "d4", "topology.kubernetes.io/zone": "z-a", "karpenter.sh/capacity-type": "on-demand"},
	}
	require.Equal(t, want, w.answered(launch))
	require.Empty(t, w.notes(management.MachineDeployments, "small"))
	w.restart()
	require.Equal(t, want, w.answered(launch), "of an agent that was started anew")
	require.EqualValues(t, 3, w.replicas("small"))
}

// A machine that goes is marked, and not drained by Cluster API too; no other goes in its place.
func TestAMachineGoesByItsMark(t *testing.T) {
	for name, m := range map[string]api.NodeMachine{
		"by its machine": {Node: "node-small-001", ProviderID: "cloud://small-001"},
		"by its node":    {Node: "node-small-001"},
		"by its launch":  {Launch: "drift-1-0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, plain, small)
			w.up(w.machine("small"))
			w.up(w.machine("small"))
			w.change(management.Machines, "small-001", `{"metadata":{"annotations":{"flotilla.io/launch":"drift-1-0"}}}`)
			for range 4 {
				require.False(t, w.removes(m))
				w.restart()
			}
			require.EqualValues(t, 1, w.replicas("small"))
			marks := w.read(management.Machines, "small-001").GetAnnotations()
			for _, mark := range []string{management.AnnotationDelete, management.AnnotationNoDrain, management.AnnotationNoDetach} {
				require.Contains(t, marks, mark)
			}
			w.act("small")
			require.Equal(t, []string{"small-002"}, w.standing("small"))
			require.True(t, w.removes(m))
			require.Empty(t, w.notes(management.MachineDeployments, "small"))
			require.EqualValues(t, 1, w.replicas("small"))
		})
	}
}

// What another went for goes all the same: as many are left as there are to be, so the number is changed once more.
func TestAMachineThatWasPassedOverGoes(t *testing.T) {
	w := newWorld(t, plain, small)
	w.up(w.machine("small"))
	w.up(w.machine("small"))
	m := api.NodeMachine{ProviderID: "cloud://small-001"}
	require.False(t, w.removes(m))
	require.False(t, w.removes(m))
	require.NoError(t, w.objects.Tracker().Delete(management.Machines, "fleet", "small-002"))
	require.False(t, w.removes(m))
	require.EqualValues(t, 0, w.replicas("small"))
	w.act("small")
	require.True(t, w.removes(m))
	require.Empty(t, w.standing("small"))
}

// A launch that nobody wants any more is taken back, before it has a machine and after.
func TestALaunchIsTakenBack(t *testing.T) {
	for name, come := range map[string]bool{"no machine came": false, "a machine came": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, plain, small)
			w.up(w.machine("small"))
			w.up(w.machine("small"))
			w.launches(launch)
			if come {
				w.act("small")
			}
			m := api.NodeMachine{Launch: launch.Name}
			for range 5 {
				if w.removes(m) {
					break
				}
				w.act("small")
				w.restart()
			}
			require.True(t, w.removes(m))
			require.Equal(t, []string{"small-001", "small-002"}, w.standing("small"))
			require.EqualValues(t, 2, w.replicas("small"))
			require.Empty(t, w.notes(management.MachineDeployments, "small"))
		})
	}
}

// A number that goes up and down at once would be the same: one waits for the other.
func TestALaunchAndARemovalDoNotCancelOut(t *testing.T) {
	w := newWorld(t, plain, small)
	w.up(w.machine("small"))
	w.up(w.machine("small"))
	m := api.NodeMachine{ProviderID: "cloud://small-001"}
	w.launches(launch)
	require.False(t, w.removes(m))
	_, err := w.Delete(t.Context(), m)
	require.EqualError(t, err, "another machine of MachineDeployment small comes first, for launch drift-7-0")
	w.act("small")
	w.launches(launch)
	require.False(t, w.removes(m))
	other := launch
	other.Name = "drift-8-0"
	require.Equal(t, "MachineDeployment small gives up Machine small-001 first", w.launches(other))
	w.act("small")
	require.True(t, w.removes(m))
	w.launches(other)
	w.act("small")
	require.Equal(t, []string{"small-002", "small-003", "small-004"}, w.standing("small"))
}

// The topology of a Cluster says the numbers of what it made, unless it leaves them open; nothing else of it changes.
func TestATopologySaysTheNumbers(t *testing.T) {
	for replicas, inTopology := range map[string]bool{"2": true, "null": false} {
		t.Run(replicas, func(t *testing.T) {
			w := newWorld(t, fmt.Sprintf(managed, replicas), small)
			w.up(w.machine("small"))
			w.up(w.machine("small"))
			before := w.read(management.Clusters, "berlin")
			w.launches(launch)
			w.restart()
			w.launches(launch)
			w.act("small")
			w.launches(launch)
			w.up("small-003")
			require.Equal(t, "node-small-003", w.answered(launch).Node)
			require.EqualValues(t, 3, w.replicas("small"))
			after := w.read(management.Clusters, "berlin")
			if inTopology {
				lists, _, err := unstructured.NestedSlice(before.Object, "spec", "topology", "workers", "machineDeployments")
				require.NoError(t, err)
				entry, _ := lists[1].(map[string]any)
				entry["replicas"] = int64(3)
				require.NoError(t, unstructured.SetNestedSlice(before.Object, lists, "spec", "topology", "workers", "machineDeployments"))
			}
			require.Equal(t, before.Object["spec"], after.Object["spec"])
			m := api.NodeMachine{ProviderID: "cloud://small-001"}
			w.removes(m)
			w.removes(m)
			w.act("small")
			require.True(t, w.removes(m))
			require.Equal(t, []string{"small-002", "small-003"}, w.standing("small"))
			require.Empty(t, w.notes(management.Clusters, "berlin")+w.notes(management.MachineDeployments, "small"))
		})
	}
}

// Somebody who changes the same meanwhile is not overwritten: the change is made anew on what they wrote.
func TestAConflictIsTakenIn(t *testing.T) {
	w := newWorld(t, plain, small)
	w.up(w.machine("small"))
	w.up(w.machine("small"))
	refused := 0
	w.objects.PrependReactor("patch", "machinedeployments", func(k8stesting.Action) (bool, runtime.Object, error) {
		if refused++; refused > 1 {
			return false, nil, nil
		}
		found, err := w.objects.Tracker().Get(management.MachineDeployments, "fleet", "small")
		require.NoError(t, err)
		d, is := found.(*unstructured.Unstructured)
		require.True(t, is)
		require.NoError(t, unstructured.SetNestedField(d.Object, int64(5), "spec", "replicas"))
		require.NoError(t, w.objects.Tracker().Update(management.MachineDeployments, d, "fleet"))
		return true, nil, apierrors.NewConflict(management.MachineDeployments.GroupResource(), "small", nil)
	})
	w.launches(launch)
	require.EqualValues(t, 6, w.replicas("small"))
}

// Whatever order launches, removals, controllers, restarts and changes of mind come in: every launch has a machine of
// its own, those that were to go are gone, and no other.
func TestNumbersComeOutRight(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			cluster := []string{plain, fmt.Sprintf(managed, "2"), fmt.Sprintf(managed, "null")}[seed%3]
			w := newWorld(t, cluster, small)
			w.up(w.machine("small"))
			w.up(w.machine("small"))
			wanted := map[string]bool{"a-0": true, "b-0": true, "c-0": true}
			for name := range wanted {
				wanted[name] = r.IntN(3) > 0
			}
			leaves := api.NodeMachine{Node: "node-small-001", ProviderID: "cloud://small-001"}
			answers := map[string]string{}
			for step := range 200 {
				w.disturb(r)
				for _, name := range []string{"a-0", "b-0", "c-0"} {
					l := launch
					l.Name = name
					switch {
					case r.IntN(2) == 0 || answers[name] != "":
					case wanted[name] || step < 20 && r.IntN(4) == 0:
						if answer, err := w.Launch(t.Context(), l); err == nil && wanted[name] {
							require.Empty(t, answer.Failed)
							answers[name] = answer.Node
						}
					case step >= 20:
						_, _ = w.Delete(t.Context(), api.NodeMachine{Launch: name})
					}
				}
				if r.IntN(2) == 0 {
					_, _ = w.Delete(t.Context(), leaves)
				}
			}
			left := map[string]bool{"node-small-002": true}
			for name, is := range wanted {
				if is {
					require.NotEmpty(t, answers[name], "launch %s", name)
					left[answers[name]] = true
				}
			}
			found := map[string]bool{}
			for _, m := range w.standing("small") {
				found["node-"+m] = true
			}
			require.Equal(t, left, found)
			require.EqualValues(t, len(left), w.replicas("small"))
			require.Empty(t, w.notes(management.Clusters, "berlin")+w.notes(management.MachineDeployments, "small"))
		})
	}
}

// disturb has controllers act, machines come up, and the agent killed, or not.
func (w *world) disturb(r *rand.Rand) {
	w.Helper()
	if r.IntN(3) == 0 {
		w.act("small")
	}
	if r.IntN(5) == 0 {
		w.restart()
	}
	for _, m := range w.standing("small") {
		if r.IntN(3) == 0 {
			w.up(m)
		}
	}
}

// Every change is one of the version that was read, so that the API server refuses it where others changed the same.
func TestEveryChangeIsOfTheVersionThatWasRead(t *testing.T) {
	w := newWorld(t, plain, small)
	w.up(w.machine("small"))
	w.up(w.machine("small"))
	w.change(management.MachineDeployments, "small", `{"metadata":{"resourceVersion":"7"}}`)
	w.change(management.Machines, "small-001", `{"metadata":{"resourceVersion":"7"}}`)
	changes := 0
	w.objects.PrependReactor("patch", "*", func(a k8stesting.Action) (bool, runtime.Object, error) {
		patch, is := a.(k8stesting.PatchAction)
		require.True(t, is)
		require.Contains(t, string(patch.GetPatch()), `"resourceVersion":"7"`)
		changes++
		return false, nil, nil
	})
	m := api.NodeMachine{ProviderID: "cloud://small-001"}
	require.False(t, w.removes(m))
	require.False(t, w.removes(m))
	require.Equal(t, 2, changes)
}

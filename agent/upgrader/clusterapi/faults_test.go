package clusterapi

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"flotilla/agent/management"
	"flotilla/core/api"
)

// writes reports whether an action is a write of the driver, not one of the world.
func (w *world) writes(a k8stesting.Action) bool {
	patch, is := a.(k8stesting.PatchAction)
	return is && strings.Contains(string(patch.GetPatch()), annotationUpgrade)
}

// fails has the writes of the driver fail a number of times.
func (w *world) fails(times int, err error) {
	w.objects.PrependReactor("patch", "*", func(a k8stesting.Action) (bool, runtime.Object, error) {
		if !w.writes(a) || times == 0 {
			return false, nil, nil
		}
		times--
		return true, nil, err
	})
}

// What cannot be carried out is refused before anything is changed, with what to do.
func TestOperationsThatCannotBe(t *testing.T) {
	const images = "Cluster API takes node images from the templates of its machines, and driver clusterapi changes no template"
	pools := func(p ...api.PoolUpgrade) api.UpgradeOperation {
		return api.UpgradeOperation{ID: "u", Type: api.UpgradeFull, NodePools: p}
	}
	for name, one := range map[string]struct {
		cluster string
		op      api.UpgradeOperation
		change  func(w *world)
		says    string
	}{
		"images alone":    {op: api.UpgradeOperation{ID: "u", Type: api.UpgradeNodeImageOnly, NodePools: []api.PoolUpgrade{{Pool: "small", Newest: true}}}, says: images + ": give MachineDeployments another template, or set upgrade.driver to exec"},
		"an image":        {op: pools(api.PoolUpgrade{Pool: "small", ToVersion: "1.37.1", To: "f-202401.09.0"}), says: "node pool small is to have image f-202401.09.0, but " + images + ": leave nodeImageSelection out, or set upgrade.driver to exec"},
		"a newest image":  {op: pools(api.PoolUpgrade{Pool: "small", Newest: true}), says: "node pool small is to have the newest image, but " + images + ": set upgrade.driver to exec"},
		"an unknown pool": {op: full("np1"), says: "found no MachineDeployment of node pool np1, expected one of gpu, small"},
		"no pools at all": {op: full("np1"), says: "found no MachineDeployment of node pool np1, expected one of none, because the Cluster has no MachineDeployment", change: func(w *world) {
			for _, name := range []string{"small", "gpu"} {
				require.NoError(w, w.objects.Tracker().Delete(management.MachineDeployments, "fleet", name))
			}
		}},
		"two of a name": {cluster: managed, op: full("small"), says: "MachineDeployment gpu and MachineDeployment small are both called node pool small: give one of them another name", change: func(w *world) {
			w.change(management.MachineDeployments, "gpu", fmt.Sprintf(topologyLabel, "small"))
		}},
		"no control plane": {op: full(), says: "Cluster fleet/berlin names no control plane in spec.controlPlaneRef: what upgrades it is not Cluster API", change: func(w *world) {
			w.change(management.Clusters, "berlin", `{"spec":{"controlPlaneRef":null}}`)
		}},
		"a control plane of no version": {op: full(), says: "KubeadmControlPlane berlin says no version in spec.version: what upgrades it is not Cluster API", change: func(w *world) {
			w.change(controlPlanes, "berlin", `{"spec":{"version":null}}`)
		}},
		"a pool of no version": {op: full("small"), says: "MachineDeployment small says no version in spec.template.spec.version: its machines' images do", change: func(w *world) {
			w.change(management.MachineDeployments, "small", `{"spec":{"template":{"spec":{"version":null}}}}`)
		}},
		"OnDelete": {op: full("small"), says: "MachineDeployment small has rollout strategy OnDelete, so its machines stay as they are until somebody deletes them: set RollingUpdate", change: func(w *world) {
			w.change(management.MachineDeployments, "small", `{"spec":{"rollout":{"strategy":{"type":"OnDelete"}}}}`)
		}},
		"a build": {op: full(), says: "KubeadmControlPlane berlin has version v1.36.3+rke2r1, and the operation does not say which build of v1.37.1+... it is to have: set upgrade.driver to exec", change: func(w *world) {
			w.change(controlPlanes, "berlin", `{"spec":{"version":"v1.36.3+rke2r1"}}`)
		}},
		"another version than the topology's": {cluster: managed, op: pools(api.PoolUpgrade{Pool: "small", ToVersion: "1.36.4"}), says: "node pool small cannot go to 1.36.4: the topology of Cluster fleet/berlin has one version for all, v1.36.3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[bool]string{true: one.cluster, false: plain}[one.cluster != ""])
			if one.change != nil {
				one.change(w)
			}
			result, err := w.carries(w.driver.Run, one.op, func(int) error { return nil })
			require.NoError(t, err)
			require.Equal(t, api.UpgradeResult{Outcome: api.OutcomeFailed, Reason: api.ReasonAgentRejected, Message: one.says}, result)
			for _, a := range w.objects.Actions() {
				require.False(t, w.writes(a), "%v", a)
			}
		})
	}
}

// While Cluster API is told not to act nothing is begun, and why is said; an operation that runs then waits.
func TestAPausedClusterIsLeftAlone(t *testing.T) {
	const paused, none = `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`, `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`
	for says, change := range map[string]func(w *world, patch string){
		"Cluster fleet/berlin is paused":       func(w *world, patch string) { w.change(management.Clusters, "berlin", patch) },
		"KubeadmControlPlane berlin is paused": func(w *world, patch string) { w.change(controlPlanes, "berlin", patch) },
		"MachineDeployment small is paused":    func(w *world, patch string) { w.change(management.MachineDeployments, "small", patch) },
	} {
		t.Run(says, func(t *testing.T) {
			w := newWorld(t, plain)
			change(w, paused)
			result, err := w.carries(w.driver.Run, full("small"), w.act)
			require.NoError(t, err)
			require.Equal(t, api.UpgradeResult{Outcome: api.OutcomeBlocked, Message: says}, result)
			change(w, none)
			result, err = w.carries(w.driver.Run, full("small"), func(int) error {
				change(w, paused)
				w.clock = w.clock.Add(time.Minute)
				if !strings.HasPrefix(says, "MachineDeployment") || w.versions()[1] != "v1.36.3" {
					return nil
				}
				return w.act(0)
			})
			require.NoError(t, err)
			require.Equal(t, api.OutcomeFailed, result.Outcome)
			require.Contains(t, result.Message, "nothing moved for 1h0m0s: ")
			require.Contains(t, result.Message, says)
		})
	}
}

// A version that somebody else takes back is not changed again: there would be no end of that.
func TestAForeignChangeIsSeen(t *testing.T) {
	for name, one := range map[string]struct {
		cluster, what string
		back          func(w *world)
	}{
		"control plane": {plain, "KubeadmControlPlane berlin", func(w *world) { w.change(controlPlanes, "berlin", `{"spec":{"version":"v1.36.3"}}`) }},
		"control plane, annotation too": {plain, "KubeadmControlPlane berlin", func(w *world) {
			w.change(controlPlanes, "berlin", `{"spec":{"version":"v1.36.3"},"metadata":{"annotations":null}}`)
		}},
		"topology": {managed, "Cluster fleet/berlin", func(w *world) { w.change(management.Clusters, "berlin", `{"spec":{"topology":{"version":"v1.36.3"}}}`) }},
	} {
		for _, restarted := range []bool{false, true} {
			if restarted && strings.Contains(name, "annotation") {
				continue // nothing is left of it
			}
			t.Run(fmt.Sprint(name, restarted), func(t *testing.T) {
				w := newWorld(t, one.cluster)
				changed := false
				follow := w.driver.Run
				if restarted {
					_, err := w.carries(follow, full("small"), func(look int) error {
						if look == 3 {
							return errEnough
						}
						return nil
					})
					require.Error(t, err)
					w.restart()
					one.back(w)
					changed, follow = true, w.driver.Resume
				}
				result, err := w.carries(follow, full("small"), func(look int) error {
					if look == 3 && !changed {
						one.back(w)
						changed = true
					}
					return nil
				})
				require.NoError(t, err)
				require.Equal(t, api.OutcomeFailed, result.Outcome)
				require.Contains(t, result.Message, "the operation gave "+one.what+" version v1.37.1, and now it is v1.36.3: somebody else changed it")
			})
		}
	}
}

// What the API server refuses is told with its words: nothing was changed at first, and then it was.
func TestTheAPIServerRefuses(t *testing.T) {
	no := apierrors.NewForbidden(controlPlanes.GroupResource(), "berlin", errors.New("no"))
	w := newWorld(t, plain)
	w.fails(1, no)
	result, err := w.carries(w.driver.Run, full("small"), w.act)
	require.NoError(t, err)
	require.Equal(t, api.OutcomeBlocked, result.Outcome)
	require.Contains(t, result.Message, "KubeadmControlPlane berlin cannot be changed: the agent may not patch kubeadmcontrolplanes of controlplane.cluster.x-k8s.io in namespace fleet")

	w = newWorld(t, plain)
	w.fails(1, no)
	w.fails(1, apierrors.NewConflict(controlPlanes.GroupResource(), "berlin", nil))
	result, err = w.carries(w.driver.Run, full("small"), w.act)
	require.NoError(t, err)
	require.Equal(t, api.OutcomeBlocked, result.Outcome, "a conflict changes nothing")

	w = newWorld(t, plain)
	result, err = w.carries(w.driver.Run, full("small"), func(look int) error {
		if look == 3 {
			w.fails(1, no)
		}
		return w.act(look)
	})
	require.NoError(t, err)
	require.Equal(t, api.OutcomeFailed, result.Outcome)
	require.Contains(t, result.Message, "MachineDeployment small cannot be changed: ")
}

// What cannot be done now is done later; what cannot be done for too long has failed.
func TestWhatFailsIsTriedAgain(t *testing.T) {
	for name, one := range map[string]error{
		"a conflict": apierrors.NewConflict(controlPlanes.GroupResource(), "berlin", nil), "an API server that is busy": apierrors.NewInternalError(errors.New("busy")),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, plain)
			w.fails(5, one)
			result, err := w.carries(w.driver.Run, full("small"), w.act)
			require.NoError(t, err)
			require.Equal(t, api.OutcomeSucceeded, result.Outcome, result.Message)

			w = newWorld(t, plain)
			w.fails(-1, one)
			result, err = w.carries(w.driver.Run, full("small"), func(int) error { w.clock = w.clock.Add(time.Minute); return nil })
			require.NoError(t, err)
			require.Equal(t, api.OutcomeFailed, result.Outcome)
			require.Contains(t, result.Message, "nothing moved for 1h0m0s: ")
		})
	}
}

// An agent that cannot read the management cluster begins nothing, and gives up what it began after as long as if nothing
// moved.
func TestAManagementClusterThatDoesNotAnswer(t *testing.T) {
	w := newWorld(t, plain)
	away := false
	w.objects.PrependReactor("list", "machines", func(k8stesting.Action) (bool, runtime.Object, error) {
		return away, nil, apierrors.NewInternalError(errors.New("away"))
	})
	away = true
	result, err := w.carries(w.driver.Run, full(), w.act)
	require.NoError(t, err)
	require.Equal(t, api.OutcomeBlocked, result.Outcome)
	require.Contains(t, result.Message, "list machines at https://management")
	_, err = w.driver.Inventory(t.Context())
	require.ErrorContains(t, err, "list machines at https://management")
	away = false
	result, err = w.carries(w.driver.Run, full(), func(look int) error {
		away = look > 1
		w.clock = w.clock.Add(time.Minute)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, api.OutcomeFailed, result.Outcome)
	require.Contains(t, result.Message, "nothing moved for 1h0m0s: the Cluster cannot be read: list machines at https://management")
}

// An annotation that somebody has spoilt is no reason to change a version twice.
func TestMarksThatCannotBeReadStopEverything(t *testing.T) {
	w := newWorld(t, plain)
	w.change(controlPlanes, "berlin", `{"metadata":{"annotations":{"flotilla.io/upgrade":"?"}}}`)
	result, err := w.carries(w.driver.Run, full(), w.act)
	require.NoError(t, err)
	require.Equal(t, api.OutcomeBlocked, result.Outcome)
	require.Contains(t, result.Message, "annotation flotilla.io/upgrade of KubeadmControlPlane berlin: invalid character")
	require.Contains(t, result.Message, "take it off when no upgrade runs")
	require.Equal(t, "v1.36.3", w.versions()[0])
}

// Every change is one of the version that was read, so that the API server refuses it where others changed the same.
func TestEveryChangeIsOfTheVersionThatWasRead(t *testing.T) {
	for _, cluster := range []string{plain, managed} {
		w := newWorld(t, cluster)
		w.change(management.Clusters, "berlin", `{"metadata":{"resourceVersion":"7"}}`)
		w.change(management.MachineDeployments, "small", `{"metadata":{"resourceVersion":"7"}}`)
		w.change(controlPlanes, "berlin", `{"metadata":{"resourceVersion":"7"}}`)
		wrote := 0
		w.objects.PrependReactor("patch", "*", func(a k8stesting.Action) (bool, runtime.Object, error) {
			if w.writes(a) {
				patch, _ := a.(k8stesting.PatchAction)
				require.Contains(t, string(patch.GetPatch()), `"resourceVersion":"7"`)
				wrote++
			}
			return false, nil, nil
		})
		result, err := w.carries(w.driver.Run, full("small"), w.act)
		require.NoError(t, err)
		require.Equal(t, api.OutcomeSucceeded, result.Outcome, result.Message)
		require.NotZero(t, wrote)
	}
}

// Everything that keeps the agent from the Cluster is named, with what mends it.
func TestWhatIsMissingIsNamed(t *testing.T) {
	w := newWorld(t, plain)
	require.NoError(t, w.driver.Check(t.Context()))
	for _, kind := range []string{"kubeadmcontrolplanes", "machines"} {
		w.objects.PrependReactor("*", kind, func(a k8stesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "", nil)
		})
	}
	err := w.driver.Check(t.Context())
	require.ErrorContains(t, err, "the agent may not list machines of cluster.x-k8s.io in namespace fleet at https://management, which Role flotilla-management of docs/members.md lets it")
	require.ErrorContains(t, err, "the agent may not get kubeadmcontrolplanes of controlplane.cluster.x-k8s.io in namespace fleet at https://management, which Role flotilla-management of docs/members.md lets it")
}

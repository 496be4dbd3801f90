package disruption

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/simulate/simulatetest"
)

func daemon(p *api.PodState)   { p.Owner = "DaemonSet" }
func critical(p *api.PodState) { p.Critical = true }

// Pods go in four waves, the next only when the one before is gone.
func TestDrainWaves(t *testing.T) {
	all := []api.PodState{simulatetest.Pod("app", 1), simulatetest.Pod("ds", 1, daemon), simulatetest.Pod("dns", 1, critical), simulatetest.Pod("cni", 1, daemon, critical)}
	for n, want := range []string{"default/app", "default/ds", "default/dns", "default/cni"} {
		step := Drain(DrainInput{Node: simulatetest.Node("n", "d2", "z-a", "a", all[n:]...), Began: simulatetest.Now, Now: simulatetest.Now.Add(time.Minute)})
		require.Equal(t, []string{want}, step.Evict)
		require.False(t, step.Drained)
		require.Len(t, step.WaitingFor, 4-n)
	}
	empty := DrainInput{Node: simulatetest.Node("n", "d2", "z-a", "a"), Began: simulatetest.Now, Now: simulatetest.Now.Add(4 * time.Second)}
	step := Drain(empty)
	require.False(t, step.Drained, "a drain lasts five seconds at least")
	require.Equal(t, simulatetest.Now.Add(5*time.Second), step.Recheck)
	empty.Now = simulatetest.Now.Add(5 * time.Second)
	require.Equal(t, DrainStep{Drained: true, Detached: true, DeleteInstance: true}, Drain(empty))
	empty.InstanceGone = true
	require.Equal(t, DrainStep{Drained: true, Detached: true, Released: true}, Drain(empty))
}

// What a drain waits for and what it lets be.
func TestDrainWaitsFor(t *testing.T) {
	terminating := func(ago time.Duration) func(*api.PodState) {
		return func(p *api.PodState) { p.Terminating, p.GoneBy = true, metav1.NewTime(simulatetest.Now.Add(-ago)) }
	}
	for name, row := range map[string]struct {
		pod     api.PodState
		evict   bool
		drained bool
	}{
		"a pod":                      {simulatetest.Pod("p", 1), true, false},
		"an ended pod":               {simulatetest.Pod("p", 1, func(p *api.PodState) { p.Phase = "Failed" }), false, true},
		"a mirror pod":               {simulatetest.Pod("p", 1, func(p *api.PodState) { p.Owner = "Node" }), false, true},
		"one that tolerates":         {simulatetest.Pod("p", 1, tolerating(api.TaintDisrupted)), false, true},
		"a protected pod":            {simulatetest.Pod("p", 1, func(p *api.PodState) { p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"} }), false, false},
		"a terminating pod":          {simulatetest.Pod("p", 1, terminating(30*time.Second)), false, false},
		"a pod stuck in terminating": {simulatetest.Pod("p", 1, terminating(61*time.Second)), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			step := Drain(DrainInput{Node: simulatetest.Node("n", "d2", "z-a", "a", row.pod), Began: simulatetest.Now.Add(-time.Hour), Now: simulatetest.Now})
			require.Equal(t, row.evict, len(step.Evict) == 1)
			require.Equal(t, row.drained, step.Drained)
			require.Empty(t, step.Delete)
		})
	}
}

// With a deadline a pod is deleted once its own grace would not be over in time, whatever protects it
// and whatever its wave.
func TestDrainDeadline(t *testing.T) {
	node := simulatetest.Node("n", "d2", "z-a", "a",
		simulatetest.Pod("app", 1, func(p *api.PodState) { p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"} }),
		simulatetest.Pod("cni", 1, daemon, critical, func(p *api.PodState) { p.GraceSeconds = new(int64(120)) }))
	node.TerminationGracePeriod = "10m"
	deadline := DrainDeadline(node, simulatetest.Now)
	require.Equal(t, simulatetest.Now.Add(10*time.Minute), deadline)
	at := func(d time.Duration) DrainStep {
		return Drain(DrainInput{Node: node, Began: simulatetest.Now, Deadline: deadline, Now: simulatetest.Now.Add(d)})
	}
	require.Empty(t, at(time.Minute).Delete)
	require.Equal(t, simulatetest.Now.Add(8*time.Minute+time.Second), at(time.Minute).Recheck)
	require.Empty(t, at(8*time.Minute).Delete, "at T - grace exactly it may still end by itself")
	require.Equal(t, []DrainDelete{{"default/cni", 2*time.Minute - time.Second}}, at(8*time.Minute+time.Second).Delete)
	require.Equal(t, []DrainDelete{{"default/app", time.Second}, {"default/cni", time.Second}}, at(11*time.Minute).Delete)

	long := simulatetest.Node("n", "d2", "z-a", "a", simulatetest.Pod("p", 1, func(p *api.PodState) { p.Terminating, p.GoneBy = true, metav1.NewTime(deadline.Add(time.Hour)) }))
	step := Drain(DrainInput{Node: long, Began: simulatetest.Now, Deadline: deadline, Now: simulatetest.Now.Add(time.Minute)})
	require.Equal(t, []DrainDelete{{"default/p", 9 * time.Minute}}, step.Delete, "a longer end is cut short")
	require.True(t, DrainDeadline(simulatetest.Node("n", "d2", "z-a", "a"), simulatetest.Now).IsZero())
}

// Volumes are waited for, except those of pods that stay, until the deadline.
func TestDrainVolumes(t *testing.T) {
	stays := simulatetest.Pod("p", 1, tolerating(api.TaintDisrupted), with(api.PodVolume{Name: "default/b", ID: "b", Driver: "disk"}))
	in := DrainInput{Node: simulatetest.Node("n", "d2", "z-a", "a", stays), Began: simulatetest.Now, Now: simulatetest.Now.Add(time.Minute), Attached: []string{"a", "b"}}
	step := Drain(in)
	require.True(t, step.Drained)
	require.False(t, step.Detached)
	require.Equal(t, []string{"volume a, which is attached"}, step.WaitingFor)
	in.Attached = []string{"b"}
	require.True(t, Drain(in).DeleteInstance)
	in.Attached, in.Deadline = []string{"a"}, simulatetest.Now.Add(time.Minute)
	skipped := Drain(in)
	require.True(t, skipped.VolumesSkipped)
	require.True(t, skipped.DeleteInstance)

	gone := simulatetest.Node("n", "d2", "z-a", "a", simulatetest.Pod("p", 1))
	gone.Ready = false
	require.True(t, Drain(DrainInput{Node: gone, InstanceGone: true, Began: simulatetest.Now, Now: simulatetest.Now}).Released, "a machine that is gone needs no drain")
}

// A setting shortens the least time, and a refused eviction is tried again with its reason told.
func TestDrainSaysWhatRefuses(t *testing.T) {
	in := DrainInput{Node: simulatetest.Node("n", "d2", "z-a", "a", simulatetest.Pod("p", 1)), Began: simulatetest.Now, Now: simulatetest.Now.Add(time.Second), Least: 100 * time.Millisecond}
	in.Refused = map[string]string{"default/p": "budget default/b allows none", "default/other": "x"}
	step := Drain(in)
	require.Equal(t, []string{"default/p"}, step.Evict)
	require.Equal(t, []string{"pod default/p, whose eviction was refused: budget default/b allows none"}, step.WaitingFor)
	in.Node = simulatetest.Node("n", "d2", "z-a", "a")
	require.True(t, Drain(in).DeleteInstance)
}

package nodes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	targetmemory "flotilla/agent/target/memory"
	"flotilla/agent/target/memory/faults"
	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// An agent that is told to leave nodes alone takes back what one before it told and did, except that a node
// which is being deleted is not let go with its pods.
func TestNodesAreLeftAlone(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1", "n2", "n3")
	o := hub.options(m)
	_, stop := startWatch(t, o, t.TempDir())
	hub.whole("n1", "n2", "n3")
	stop()
	taint := corev1.Taint{Key: api.TaintDisrupted, Effect: corev1.TaintEffectNoSchedule}
	change := func(name string, f func(*corev1.Node)) { require.NoError(t, m.UpdateNode(t.Context(), name, f)) }
	change("n1", func(n *corev1.Node) {
		n.Finalizers, n.Spec.Taints = []string{api.FinalizerTermination}, []corev1.Taint{taint}
		n.Annotations = map[string]string{api.AnnotationDisruption: "d1"}
	})
	change("n2", func(n *corev1.Node) {
		n.Finalizers, n.Spec.Taints = []string{api.FinalizerKarpenter}, []corev1.Taint{taint}
	})
	change("n3", func(n *corev1.Node) { n.Finalizers = []string{api.FinalizerTermination} })
	require.NoError(t, m.DeleteNode(t.Context(), "n3", ""))

	abstain(t, o, "nodes.enabled is false")
	bustest.Eventually(t, func() error {
		if why := hub.stale(); why != "nodes.enabled is false" {
			return errors.New(why)
		}
		return nil
	})
	hub.mu.Lock()
	require.True(t, hub.view.Declined())
	hub.mu.Unlock()
	bustest.Eventually(t, func() error {
		s, err := m.Survey(t.Context())
		if err == nil && len(s.Nodes[0].Finalizers) != 0 {
			err = fmt.Errorf("nodes are %+v", s.Nodes)
		}
		return err
	})
	s, err := m.Survey(t.Context())
	require.NoError(t, err)
	require.Empty(t, s.Nodes[0].Spec.Taints)
	require.Equal(t, []corev1.Taint{taint}, s.Nodes[1].Spec.Taints, "Karpenter's own")
	require.Equal(t, []string{api.FinalizerKarpenter}, s.Nodes[1].Finalizers)
	require.Equal(t, []string{api.FinalizerTermination}, s.Nodes[2].Finalizers)

	told, err := o.Hub.NodeInventory(t.Context())
	require.NoError(t, err)
	require.NoError(t, decline(t.Context(), o.Hub, "nodes.enabled is false"))
	again, err := o.Hub.NodeInventory(t.Context())
	require.NoError(t, err)
	require.Equal(t, told, again, "what the hub knows is not told again")

	startWatch(t, o, t.TempDir())
	hub.whole("n1", "n2", "n3")
}

// A member that does not answer is released once it does.
func TestNodesAreLeftAloneOnceTheMemberAnswers(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1")
	require.NoError(t, m.UpdateNode(t.Context(), "n1", func(n *corev1.Node) { n.Finalizers = []string{api.FinalizerTermination} }))
	m.SetFaults(faults.Faults{Down: true})
	abstain(t, hub.options(m), "no")
	bustest.Eventually(t, func() error {
		if why := hub.stale(); why != "no" {
			return errors.New(why)
		}
		return nil
	})
	m.SetFaults(faults.Faults{})
	released(t, m)
}

// released waits until no finalizer of ours is on the first node of a member.
func released(t *testing.T, m *targetmemory.Member) {
	t.Helper()
	bustest.Eventually(t, func() error {
		s, err := m.Survey(t.Context())
		if err == nil && len(s.Nodes[0].Finalizers) != 0 {
			err = errors.New("the node still has its finalizer")
		}
		return err
	})
}

// A member is released by an agent that hubs do not hear, because it was revoked.
func TestNodesAreLeftAloneWithoutAHub(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1")
	require.NoError(t, m.UpdateNode(t.Context(), "n1", func(n *corev1.Node) { n.Finalizers = []string{api.FinalizerTermination} }))
	o := hub.options(m)
	hub.server.Stop(t)
	abstain(t, o, "no")
	released(t, m)
}

// What was begun and is not over is at least said.
func TestLaunchesThatNobodyTakesBack(t *testing.T) {
	var said bytes.Buffer
	o := Options{Member: "berlin", Data: t.TempDir(), Log: zerolog.New(&said)}
	warnOfLaunches(&o)
	require.Empty(t, said.String())
	l, err := openLedger(filepath.Join(o.Data, "nodes"), "berlin")
	require.NoError(t, err)
	require.NoError(t, l.save(launch{Launch: api.NodeLaunch{Name: "d1-0"}}))
	warnOfLaunches(&o)
	require.Contains(t, said.String(), `"launch":"d1-0"`)
	require.NoError(t, os.WriteFile(l.path("d1-0"), []byte("{"), 0o600))
	said.Reset()
	warnOfLaunches(&o)
	require.Contains(t, said.String(), "is not known")
}

func abstain(t *testing.T, o *Options, why string) {
	t.Helper()
	left := *o
	left.Data = t.TempDir()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { _ = Abstain(ctx, left, why) })
	t.Cleanup(func() { cancel(); running.Wait() })
}

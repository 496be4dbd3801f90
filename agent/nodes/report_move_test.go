package nodes

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/agent/target"
	"flotilla/agent/target/memory"
	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// Whatever the hub has heard so far, no pod that moves is missing: it is where it was, without a node, or
// where it went. Nodes change all the while, each at its own time.
func TestPodsThatMoveAreNeverMissing(t *testing.T) {
	const pods = 6
	hub, m := listen(t), poolMember(t, "n1", "n2", "n3", "n4")
	o := hub.options(m)
	o.Interval = 40 * time.Millisecond
	w, _ := startWatch(t, o, t.TempDir())
	put(t, m, web(pods))
	hub.whole("n1", "n2", "n3", "n4")
	bustest.Eventually(t, func() error { return known(hub.messages(), pods, pods) })
	begun := len(hub.messages())
	for i := range 40 {
		heard := len(hub.messages())
		for k := range 4 {
			relabel(t, m, fmt.Sprintf("n%d", k+1), "step", fmt.Sprint(i, k))
		}
		move(t, m)
		if i%5 == 0 {
			require.NoError(t, w.flush(t.Context(), fmt.Sprintf("n%d", 1+i%4)))
		}
		bustest.Eventually(t, func() error {
			if len(hub.messages()) == heard {
				return errors.New("nothing was told")
			}
			return nil
		})
	}
	bustest.Eventually(t, func() error { return known(hub.messages(), pods, pods) })
	all := hub.messages()
	for n := begun; n <= len(all); n++ {
		require.NoError(t, known(all[:n], pods, 1<<10), "after %d of %d messages", n, len(all))
	}
}

// move deletes a pod, whose successor must go to another node. The pod is gone at once: while one ends it
// needs no place, and on a member in memory it has no successor yet.
func move(t *testing.T, m *memory.Member) {
	t.Helper()
	s, err := m.Survey(t.Context())
	require.NoError(t, err)
	at := slices.IndexFunc(s.Pods, func(p *corev1.Pod) bool { return p.Spec.NodeName != "" && p.DeletionTimestamp == nil })
	if at < 0 {
		return
	}
	p := s.Pods[at]
	for _, n := range s.Nodes {
		require.NoError(t, m.UpdateNode(t.Context(), n.Name, func(n *corev1.Node) { n.Spec.Unschedulable = n.Name == p.Spec.NodeName }))
	}
	require.NoError(t, m.DeletePod(t.Context(), target.PodRef{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}, 0))
}

// known counts the pods that who heard these messages knows of: there must be least of them, and most at
// most.
func known(messages []heard, least, most int) error {
	nodes, pending := map[string][]api.PodState{}, []api.PodState(nil)
	for _, h := range messages {
		if h.inventory != nil {
			pending = h.inventory.Pending
		} else {
			nodes[h.event.Node.Name] = h.event.Node.Pods
		}
	}
	n := len(pending)
	for _, list := range nodes {
		n += len(list) // those that end have no successor yet on a member in memory
	}
	if n < least || n > most {
		return fmt.Errorf("%d pods are known, from %d to %d were expected", n, least, most)
	}
	return nil
}

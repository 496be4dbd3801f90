package nodes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/agent/target"
	"flotilla/agent/target/memory"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/nodesync"
)

// sluggish is a member on which no pod is seen but those of a moment, as long as it hides the others.
type sluggish struct {
	*memory.Member

	mu    sync.Mutex
	known map[string]bool // by uid, nil hides none
}

func (s *sluggish) Survey(ctx context.Context) (*target.Survey, error) {
	survey, err := s.Member.Survey(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.known != nil {
		survey.Pods = slices.DeleteFunc(survey.Pods, func(p *corev1.Pod) bool { return !s.known[string(p.UID)] })
	}
	return survey, err
}

// hide hides the pods that come from now on, or shows all again.
func (s *sluggish) hide(t *testing.T, on bool) {
	t.Helper()
	survey, err := s.Member.Survey(t.Context())
	require.NoError(t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = nil
	if on {
		s.known = map[string]bool{}
		for _, p := range survey.Pods {
			s.known[string(p.UID)] = true
		}
	}
}

// empty deletes the pods of a node, and returns their names.
func (s *sluggish) empty(t *testing.T, node string) []string {
	t.Helper()
	survey, err := s.Member.Survey(t.Context())
	require.NoError(t, err)
	var names []string
	for _, p := range survey.Pods {
		if p.Spec.NodeName == node {
			names = append(names, p.Name)
			require.NoError(t, s.DeletePod(t.Context(), target.PodRef{Namespace: p.Namespace, Name: p.Name}, 0))
		}
	}
	return names
}

// waiting is an error until the newest inventory of a watcher lists these pods as waiting for a node.
func (e *ear) waiting(w *reporter, names ...string) error {
	_, inv := e.newest("")
	found := map[string]bool{}
	if inv != nil {
		for i := range inv.Pending {
			found[inv.Pending[i].Name] = true
		}
	}
	if listed := slices.Sorted(maps.Keys(found)); inv == nil || w.sync.Lacks(inv.Boot, 0, 0) || strings.Join(listed, " ") != strings.Join(slices.Sorted(slices.Values(names)), " ") {
		return fmt.Errorf("found %v, expected %v: %+v", listed, names, inv)
	}
	return nil
}

// Pods that are between two nodes are so for the next process of the agent too, which knows them from what was told:
// those that left before it ended, and those that left while there was none. Whoever is back is not waited for.
func TestPodsBetweenTwoNodesOutliveTheAgent(t *testing.T) {
	for name, away := range map[string]bool{"left before": false, "left meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			hub, m := listen(t), &sluggish{Member: poolMember(t, "n1", "n2")}
			put(t, m.Member, web(4))
			o := hub.options(m)
			first, stop := startWatch(t, o, t.TempDir())
			hub.whole("n1", "n2")
			bustest.Eventually(t, func() error { return known(hub.messages(), 4, 4) })
			require.NoError(t, m.UpdateNode(t.Context(), "n1", func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, disrupted) }))
			bustest.Eventually(t, func() error {
				if n, _ := hub.node("n1"); !nodesync.Going(&n) {
					return fmt.Errorf("n1 is %+v", n.Taints)
				}
				return nil
			})
			m.hide(t, true)
			var left []string
			if away {
				stop()
				left = m.empty(t, "n1")
			} else {
				left = m.empty(t, "n1")
				bustest.Eventually(t, func() error { return hub.waiting(first, left...) })
				stop()
			}
			require.NotEmpty(t, left)
			second, stop := startWatch(t, o, t.TempDir())
			bustest.Eventually(t, func() error { return hub.waiting(second, left...) })
			hub.whole("n1", "n2")
			m.hide(t, false)
			second.wake()
			bustest.Eventually(t, func() error { return hub.waiting(second) })
			stop()
			require.NoError(t, m.UpdateNode(t.Context(), "n2", func(n *corev1.Node) { n.Labels["seen"] = "yes" }))
			third, _ := startWatch(t, o, t.TempDir())
			hub.expect("n2", func(n *api.NodeState) bool { return n.Labels["seen"] == "yes" })
			hub.whole("n1", "n2")
			require.NoError(t, hub.waiting(third), "all are back")
		})
	}
}

package contract

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flotilla/agent/target"
)

// held keeps a node from going.
const held = "flotilla.io/contract"

func init() {
	addNodes(map[string]func(*nodeSuite){
		"nodes/one that joins is surveyed, counted and listed": nodeIsCounted,
		"nodes/what may be changed is, and nothing else":       nodeIsChanged,
		"nodes/changes at the same time are all made":          nodeIsChangedAtOnce,
		"nodes/one that is not there is not found": func(s *nodeSuite) {
			require.True(s, apierrors.IsNotFound(s.Target().UpdateNode(s.Context(), s.ns+"-none", func(*corev1.Node) {})))
			require.True(s, apierrors.IsNotFound(s.Target().DeleteNode(s.Context(), s.ns+"-none", "")))
		},
		"nodes/one without finalizers goes at once": func(s *nodeSuite) {
			name := s.joins()
			require.NoError(s, s.Target().DeleteNode(s.Context(), name, ""))
			s.goneNode(name)
		},
		"nodes/a finalizer keeps one until it is taken off": func(s *nodeSuite) {
			name := s.joins()
			s.change(name, func(n *corev1.Node) { n.Finalizers = append(n.Finalizers, held) })
			uid := string(s.shows(name, "the finalizer", func(n *corev1.Node) bool { return slices.Contains(n.Finalizers, held) }).UID)
			require.NoError(s, s.Target().DeleteNode(s.Context(), name, uid))
			s.shows(name, "that it is being deleted", func(n *corev1.Node) bool { return n.DeletionTimestamp != nil })
			require.NoError(s, s.Target().DeleteNode(s.Context(), name, uid), "again")
			s.change(name, func(n *corev1.Node) { n.Finalizers = nil })
			s.goneNode(name)
		},
		"nodes/another of the same name is not deleted": func(s *nodeSuite) {
			name := s.joins()
			require.True(s, apierrors.IsConflict(s.Target().DeleteNode(s.Context(), name, "another")))
			s.shows(name, "that it stays", func(n *corev1.Node) bool { return n.DeletionTimestamp == nil })
		},
		"nodes/what changes of one is told": func(s *nodeSuite) {
			name := s.joins()
			told := s.watch(func(c target.Change) bool { return c.Nodes })
			s.change(name, func(n *corev1.Node) { n.Labels["contract"] = "x" })
			told()
			told = s.watch(func(c target.Change) bool { return c.Nodes })
			require.NoError(s, s.Target().DeleteNode(s.Context(), name, ""))
			told()
		},
	})
}

// watch returns what waits until a change that matters is told after now.
func (s *nodeSuite) watch(matters func(target.Change) bool) (told func()) {
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	s.Cleanup(cancel)
	changes := s.Target().Watch(ctx)
	require.NotNil(s, changes)
	return func() {
		s.Helper()
		for c := range changes {
			if matters(c) {
				return
			}
		}
		require.Fail(s, "nothing was told")
	}
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// with is a map with one more entry.
func with(all map[string]string, key, value string) map[string]string {
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	return all
}

func nodeIsCounted(s *nodeSuite) {
	name := s.joins()
	s.runs("web", name)
	listed, err := s.Target().NodeObjects(s.Context())
	require.NoError(s, err)
	require.True(s, slices.ContainsFunc(listed, func(n *corev1.Node) bool { return n.Name == name }))
	require.True(s, slices.IsSortedFunc(listed, func(a, b *corev1.Node) int { return compare(a.Name, b.Name) }))
	s.until(func() error {
		counted, err := s.Target().Nodes(s.Context())
		if err != nil {
			return err
		}
		at := slices.IndexFunc(counted, func(n target.Node) bool { return n.Name == name })
		if at < 0 {
			return fmt.Errorf("node %s is not counted", name)
		}
		if n := counted[at]; n.Requested.Cpu().MilliValue() != 500 || n.Allocatable.Cpu().Value() != 4 || n.NotReady {
			return fmt.Errorf("it is counted as %+v", n)
		}
		return nil
	})
}

func nodeIsChanged(s *nodeSuite) {
	name := s.joins()
	before := s.shows(name, "anything", func(*corev1.Node) bool { return true })
	taint := corev1.Taint{Key: "contract", Value: "x", Effect: corev1.TaintEffectNoSchedule}
	s.change(name, func(n *corev1.Node) {
		n.Labels["contract"], n.Annotations = "label", with(n.Annotations, "contract", "note")
		n.Finalizers, n.Spec.Taints = append(n.Finalizers, held), append(n.Spec.Taints, taint)
		n.Spec.Unschedulable = true
		n.Status.Capacity = nil
		n.UID = "another"
	})
	after := s.shows(name, "what was changed", func(n *corev1.Node) bool {
		return n.Labels["contract"] == "label" && n.Annotations["contract"] == "note" && n.Spec.Unschedulable &&
			slices.Contains(n.Finalizers, held) && slices.Contains(n.Spec.Taints, taint)
	})
	require.Equal(s, before.UID, after.UID)
	require.Equal(s, before.Status.Capacity.Cpu().Value(), after.Status.Capacity.Cpu().Value())
	s.change(name, func(n *corev1.Node) {
		delete(n.Labels, "contract")
		delete(n.Annotations, "contract")
		n.Finalizers, n.Spec.Unschedulable = nil, false
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t == taint })
	})
	s.shows(name, "what it was", func(n *corev1.Node) bool {
		return n.Labels["contract"] == "" && n.Annotations["contract"] == "" && !n.Spec.Unschedulable && len(n.Finalizers) == 0 && !slices.Contains(n.Spec.Taints, taint)
	})
}

func nodeIsChangedAtOnce(s *nodeSuite) {
	name := s.joins()
	var running sync.WaitGroup
	faults := make([]error, 8)
	mine := func(i int) corev1.Taint {
		return corev1.Taint{Key: fmt.Sprint("contract-", i), Effect: corev1.TaintEffectNoSchedule}
	}
	for i := range faults {
		running.Go(func() {
			faults[i] = s.Target().UpdateNode(s.Context(), name, func(n *corev1.Node) {
				n.Labels[fmt.Sprint("contract-", i)] = "yes"
				n.Spec.Taints = append(n.Spec.Taints, mine(i))
			})
		})
	}
	running.Wait()
	for _, err := range faults {
		require.NoError(s, err)
	}
	s.shows(name, "all labels and taints", func(n *corev1.Node) bool {
		for i := range faults {
			if n.Labels[fmt.Sprint("contract-", i)] != "yes" || !slices.Contains(n.Spec.Taints, mine(i)) {
				return false
			}
		}
		return true
	})
}

package memory

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/podspec"
)

// UpdateNode changes what others may write of a node. Taints that follow from its condition come back by
// themselves. A taint NoExecute ends the pods that do not tolerate it.
func (m *Member) UpdateNode(_ context.Context, name string, change func(*corev1.Node)) error {
	m.mu.Lock()
	defer m.unlock()
	n, err := m.nodeAt(name, "")
	if err != nil {
		return err
	}
	before := m.showNode(n)
	after := before.DeepCopy()
	change(after)
	if reflect.DeepEqual(before, after) {
		return nil
	}
	n.Labels, n.Annotations, n.Finalizers = maps.Clone(after.Labels), maps.Clone(after.Annotations), slices.Clone(after.Finalizers)
	n.Unschedulable = after.Spec.Unschedulable
	n.Own = slices.DeleteFunc(slices.Clone(after.Spec.Taints), conditional)
	m.judge(n)
	if m.released(n) {
		return nil
	}
	if reflect.DeepEqual(before.Labels, n.Labels) && reflect.DeepEqual(before.Spec.Taints, n.taints) {
		m.notify(target.Change{Nodes: true})
		return nil
	}
	m.banish(n)
	m.resettle(n)
	return nil
}

// DeleteNode takes a node away, once its finalizers are off.
func (m *Member) DeleteNode(_ context.Context, name, uid string) error {
	m.mu.Lock()
	defer m.unlock()
	n, err := m.nodeAt(name, uid)
	if err != nil {
		return err
	}
	if n.Deleting.IsZero() {
		n.Deleting = m.clock.Now()
		m.judge(n)
	}
	if !m.released(n) {
		m.resettle(n)
	}
	return nil
}

// nodeAt finds the node that a call is about; an empty uid is any.
func (m *Member) nodeAt(name, uid string) (*node, error) {
	if err := m.down(); err != nil {
		return nil, err
	}
	nodes := schema.GroupResource{Resource: "nodes"}
	n := m.nodeNamed(name)
	if n == nil {
		return nil, apierrors.NewNotFound(nodes, name)
	}
	if uid != "" && uid != string(n.UID) {
		return nil, apierrors.NewConflict(nodes, name, fmt.Errorf("uid is %s, not %s", n.UID, uid))
	}
	return n, nil
}

// released takes a deleted node away that nothing holds any more.
func (m *Member) released(n *node) bool {
	if n.Deleting.IsZero() || len(n.Finalizers) > 0 {
		return false
	}
	m.leave(n)
	m.resettle()
	return true
}

// conditional reports the taints that follow from a node's condition.
func conditional(t corev1.Taint) bool {
	return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable || t.Key == corev1.TaintNodeUnschedulable
}

// banish ends the pods that do not tolerate a taint NoExecute of their node.
func (m *Member) banish(n *node) {
	hard := slices.DeleteFunc(slices.Clone(n.Own), func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectNoExecute })
	if len(hard) == 0 {
		return
	}
	for _, p := range slices.SortedFunc(maps.Keys(n.pods), byName) {
		if podspec.Untolerated(p.made.Pod.Spec.Tolerations, hard) != nil {
			m.terminate(p, p.made.Grace)
		}
	}
}

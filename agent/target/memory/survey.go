package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/podspec"
	"flotilla/core/apply"
	"flotilla/core/strict"
)

var _ target.Nodes = (*Member)(nil)

// Survey looks at the whole member. Objects that did not change are those of the survey before.
func (m *Member) Survey(context.Context) (*target.Survey, error) {
	m.mu.Lock()
	defer m.unlock()
	if err := m.down(); err != nil {
		return nil, err
	}
	s := &target.Survey{
		Budgets:    m.showBudgets(),
		DaemonSets: typed[appsv1.DaemonSet](m, "DaemonSet.apps"),
		Namespaces: typed[corev1.Namespace](m, "Namespace"),
		Claims:     typed[corev1.PersistentVolumeClaim](m, "PersistentVolumeClaim"),
		Volumes:    typed[corev1.PersistentVolume](m, "PersistentVolume"),
		Classes:    typed[storagev1.StorageClass](m, "StorageClass.storage.k8s.io"),
		CSINodes:   typed[storagev1.CSINode](m, "CSINode.storage.k8s.io"),
	}
	s.Nodes = m.showNodes()
	if m.listed == nil {
		m.listed = slices.SortedFunc(maps.Values(m.pods), byName)
	}
	s.Pods = make([]*corev1.Pod, len(m.listed))
	for i, p := range m.listed {
		s.Pods[i] = m.show(p)
	}
	s.Attachments = m.attachments(s)
	s.NodeClaims = m.nodeClaims()
	return s, nil
}

// NodeObjects lists the nodes.
func (m *Member) NodeObjects(context.Context) ([]*corev1.Node, error) {
	m.mu.Lock()
	defer m.unlock()
	if err := m.down(); err != nil {
		return nil, err
	}
	return m.showNodes(), nil
}

func (m *Member) showNodes() []*corev1.Node {
	var out []*corev1.Node
	for _, n := range m.nodes {
		out = append(out, m.showNode(n))
	}
	return out
}

// PodsOf lists the pods of a workload.
func (m *Member) PodsOf(_ context.Context, workload *unstructured.Unstructured) ([]*corev1.Pod, error) {
	m.mu.Lock()
	defer m.unlock()
	s := m.objects[apply.IdentityOf(apply.RefOf(workload))]
	if err := m.down(); err != nil || s == nil {
		return nil, err
	}
	var pods []*corev1.Pod
	for _, p := range s.Pods {
		pods = append(pods, m.show(p))
	}
	return pods, nil
}

func byNamespaceAndName[T metav1.Object](a, b T) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}

// kubernetes is a pointer to a typed object.
type kubernetes[T any] interface {
	*T
	metav1.Object
}

// typed lists the objects of a kind, "DaemonSet.apps", as their own type. What cannot be read as such is
// left out: nothing here validates it.
func typed[T any, P kubernetes[T]](m *Member, kind string) []*T {
	var out []*T
	for _, s := range m.objects {
		if s.kind() != kind {
			continue
		}
		if read, ok := s.shown.(*T); ok && s.shownFrom == s.Object {
			out = append(out, read)
			continue
		}
		read := new(T)
		if err := strict.FromUnstructured(s.Object.Object, read); err != nil {
			continue
		}
		if kind == "Namespace" {
			P(read).SetLabels(spaceLabels(s))
		}
		s.shown, s.shownFrom = read, s.Object
		out = append(out, read)
	}
	slices.SortFunc(out, func(a, b *T) int { return byNamespaceAndName(P(a), P(b)) })
	return out
}

// spaceLabels are those of a namespace with the one that an API server adds.
func spaceLabels(s *stored) map[string]string {
	out := maps.Clone(s.Object.GetLabels())
	if out == nil {
		out = map[string]string{}
	}
	out[corev1.LabelMetadataName] = s.Object.GetName()
	return out
}

// showBudgets lists the PodDisruptionBudgets with what their controller says now; one that it has not
// seen yet allows nothing.
func (m *Member) showBudgets() []*policyv1.PodDisruptionBudget {
	list := typed[policyv1.PodDisruptionBudget](m, "PodDisruptionBudget.policy")
	for i, b := range list {
		list[i] = &policyv1.PodDisruptionBudget{TypeMeta: b.TypeMeta, ObjectMeta: b.ObjectMeta, Spec: b.Spec}
		s := m.objects[budgetID(b)]
		if !m.settled(s) {
			continue
		}
		now, status := m.budget(s), &list[i].Status
		status.ObservedGeneration, status.DisruptionsAllowed = s.Object.GetGeneration(), int32(now.Allowed)
		status.ExpectedPods, status.CurrentHealthy, status.DesiredHealthy = int32(now.Expected), int32(now.Healthy), int32(now.desired)
	}
	return list
}

// attachments are the volumes of CSI drivers that the nodes of pods have attached: a pod's volumes are
// detached when it is gone.
func (m *Member) attachments(s *target.Survey) []*storagev1.VolumeAttachment {
	if len(s.Volumes) == 0 {
		return nil
	}
	volumes := m.volumes()
	made := map[string]*storagev1.VolumeAttachment{}
	for _, p := range s.Pods {
		for i := range p.Spec.Volumes {
			from := p.Spec.Volumes[i].PersistentVolumeClaim
			if from == nil || p.Spec.NodeName == "" {
				continue
			}
			if pv := volumes.Bound(p.Namespace, from.ClaimName); pv != nil && pv.Spec.CSI != nil {
				a := attachment(pv, p.Spec.NodeName)
				made[a.Name] = a
			}
		}
	}
	return slices.SortedFunc(maps.Values(made), byNamespaceAndName)
}

func attachment(pv *corev1.PersistentVolume, node string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "csi-" + podspec.Suffix(pv.Name+"/"+node, 12)},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: pv.Spec.CSI.Driver, NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv.Name},
		},
		Status: storagev1.VolumeAttachmentStatus{Attached: true},
	}
}

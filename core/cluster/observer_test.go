package cluster_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/cluster"
)

func observedPod(name, node, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "uid"},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func observedNode(name string, labels map[string]string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid", Labels: labels}}
}

// An Observer that has seen other listings says of each what one says that has seen none, and gives what did not change as
// the value that it was.
func TestAnObserverSeesEveryChange(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data"}}
	bound := claim.DeepCopy()
	bound.Spec.VolumeName = "pv"
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "disk", VolumeHandle: "h"}
	db := observedPod("db", "n2", "1")
	db.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	machine := &api.NodeClaim{Status: api.NodeClaimStatus{NodeName: "n1"}}
	drivers := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
		Name: "disk", Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(7))},
	}}}}
	l := cluster.Listing{
		Nodes: []*corev1.Node{observedNode("n1", nil), observedNode("n2", nil)},
		Pods:  []*corev1.Pod{observedPod("b", "n1", "1"), observedPod("a", "n1", "2"), db, observedPod("waits", "", "1")},
	}
	var o cluster.Observer
	for i, change := range []func(){
		func() {},
		func() { l.Pods = append(l.Pods, observedPod("c", "n1", "3")) },
		func() { l.Pods[0] = observedPod("b", "n1", "4") },
		func() { l.Pods[0], l.Pods[1] = l.Pods[1], l.Pods[0] },
		func() { l.Pods[0] = observedPod("a", "n2", "2") },
		func() { l.Nodes[0] = observedNode("n1", map[string]string{api.LabelNodePool: "x"}) },
		func() { l.Claims = []*corev1.PersistentVolumeClaim{claim} },
		func() {
			l.Claims, l.Volumes = []*corev1.PersistentVolumeClaim{bound}, []*corev1.PersistentVolume{volume}
		},
		func() { l.ClaimsUnknown = true },
		func() { l.CSINodes = []*storagev1.CSINode{drivers} },
		func() { l.NodeClaims = []*api.NodeClaim{machine} },
		func() { l.NodeClaims = nil },
		func() { l.Pods = slices.Delete(l.Pods, 0, 2) },
		func() { l.Nodes = l.Nodes[:1] },
		func() { l.Nodes = append(l.Nodes, observedNode("n2", nil)) },
	} {
		change()
		require.Equal(t, cluster.Observe(&l), o.Observe(&l), "after change %d", i)
	}
}

func TestAnObserverGivesWhatDidNotChangeAsItWas(t *testing.T) {
	l := cluster.Listing{Nodes: []*corev1.Node{observedNode("n1", nil), observedNode("n2", nil)}}
	for i := range 20 {
		l.Pods = append(l.Pods, observedPod(fmt.Sprint("p", i), fmt.Sprint("n", 1+i%2), "1"))
	}
	var o cluster.Observer
	first := o.Observe(&l)
	l.Pods = append(l.Pods, observedPod("more", "n1", "1"))
	second := o.Observe(&l)
	require.Len(t, second.Nodes[0].Pods, 11)
	require.Same(t, &first.Nodes[1].Pods[0], &second.Nodes[1].Pods[0])
	second.Nodes[0].Since = metav1.Unix(1<<30, 0)
	require.Zero(t, o.Observe(&l).Nodes[0].Since, "what a caller notes in a state is its own")
}

package kube

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/core/strict"
)

// nodeClaims are the machines of Karpenter.
var nodeClaims = schema.GroupVersionResource{Group: api.GroupKarpenter, Version: "v1", Resource: "nodeclaims"}

// surveyed is what decides, beside nodes and pods, where pods may go. It is watched from the first survey on: an agent
// that is to leave nodes alone needs none of it.
type surveyed struct {
	daemonSets, claims, volumes, classes, attachments, csiNodes, nodeClaims *list
}

func newSurveyed(o *lists, clients kubernetes.Interface, machines lister[*unstructured.UnstructuredList]) *surveyed {
	core, storage, moved := clients.CoreV1(), clients.StorageV1(), target.Change{Pods: true}
	s := &surveyed{
		daemonSets:  openList(o, "daemonsets", clients.AppsV1().DaemonSets(metav1.NamespaceAll), &appsv1.DaemonSet{}, withoutManagers, moved),
		claims:      openList(o, "persistentvolumeclaims", core.PersistentVolumeClaims(metav1.NamespaceAll), &corev1.PersistentVolumeClaim{}, withoutManagers, moved),
		volumes:     openList(o, "persistentvolumes", core.PersistentVolumes(), &corev1.PersistentVolume{}, withoutManagers, moved),
		classes:     openList(o, "storageclasses", storage.StorageClasses(), &storagev1.StorageClass{}, withoutManagers, moved),
		attachments: openList(o, "volumeattachments", storage.VolumeAttachments(), &storagev1.VolumeAttachment{}, withoutManagers, moved),
		csiNodes:    openList(o, "csinodes", storage.CSINodes(), &storagev1.CSINode{}, withoutManagers, target.Change{Nodes: true}),
		nodeClaims:  openOptional(o, "nodeclaims", machines, &unstructured.Unstructured{}, claimOf, target.Change{Nodes: true}),
	}
	return s
}

// claimOf reads a NodeClaim.
func claimOf(object any) (any, error) {
	found, is := object.(*unstructured.Unstructured)
	if !is {
		return object, nil
	}
	claim := &api.NodeClaim{}
	if err := strict.FromUnstructured(found.Object, claim); err != nil {
		return nil, err
	}
	return withoutManagers(claim)
}

// Survey looks at what is watched. It waits for what is being read, at first; what cannot be read, or is not watched any
// more, is an error.
func (t *Target) Survey(ctx context.Context) (*target.Survey, error) {
	c := t.census
	m := c.surveyed()
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, l := range []*list{c.nodes, c.pods, c.budget, c.namespaces, m.daemonSets, m.claims, m.volumes, m.classes, m.attachments, m.csiNodes, m.nodeClaims} {
		if err := l.await(waiting); err != nil {
			return nil, err
		}
	}
	s := &target.Survey{}
	for _, read := range []func() error{
		into(&s.Nodes, c.nodes), into(&s.Pods, c.pods), into(&s.Budgets, c.budget), into(&s.Namespaces, c.namespaces),
		into(&s.DaemonSets, m.daemonSets), into(&s.Claims, m.claims), into(&s.Volumes, m.volumes), into(&s.Classes, m.classes),
		into(&s.Attachments, m.attachments), into(&s.CSINodes, m.csiNodes), into(&s.NodeClaims, m.nodeClaims),
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// NodeObjects lists the nodes.
func (t *Target) NodeObjects(ctx context.Context) ([]*corev1.Node, error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := t.census.nodes.await(waiting); err != nil {
		return nil, err
	}
	return objects[*corev1.Node](t.census.nodes)
}

// into reads a list.
func into[T metav1.Object](all *[]T, from *list) func() error {
	return func() (err error) {
		*all, err = objects[T](from)
		return err
	}
}

package lab

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Node is a node that kwok plays: 4 CPUs, 16 GiB, 110 pods. It has no part of a cluster before AddNode.
func Node(name string) *corev1.Node {
	size := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(4, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(16<<30, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status:     corev1.NodeStatus{Allocatable: size, Capacity: size},
	}
}

// AddNode creates a node and returns when pods can be put on it.
func (c *Cluster) AddNode(ctx context.Context, node *corev1.Node) error {
	nodes := c.clients.CoreV1().Nodes()
	if _, err := nodes.Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating node %s: %w", node.Name, err)
	}
	return Until(ctx, func(ctx context.Context) error {
		found, err := nodes.Get(ctx, node.Name, metav1.GetOptions{})
		if err == nil && (!isReady(found) || len(found.Spec.Taints) > 0) {
			err = fmt.Errorf("node %s is not Ready, or has taints: %v", node.Name, found.Spec.Taints)
		}
		return err
	})
}

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

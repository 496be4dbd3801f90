package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/core/cluster"
)

// poolLabels are where clouds say which pool a node belongs to, the first that a node has.
var poolLabels = []string{
	"karpenter.sh/nodepool", "kubernetes.azure.com/agentpool", "cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup",
}

// imageLabel is where a cloud says which image a node was made from.
const imageLabel = "kubernetes.azure.com/node-image-version"

// Nodes lists the nodes with what their pods request.
func (t *Target) Nodes(context.Context) ([]target.Node, error) {
	all, err := objects[*corev1.Node](t.census.nodes)
	if err != nil {
		return nil, err
	}
	pods, err := objects[*corev1.Pod](t.census.pods)
	if err != nil {
		return nil, err
	}
	requested := map[string]api.Amounts{}
	for _, pod := range pods {
		if pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			requested[pod.Spec.NodeName] = sum(requested[pod.Spec.NodeName], cluster.Requests(pod))
		}
	}
	nodes := make([]target.Node, len(all))
	for i, node := range all {
		nodes[i] = nodeOf(node, requested[node.Name])
	}
	return nodes, nil
}

func nodeOf(node *corev1.Node, requested api.Amounts) target.Node {
	n := target.Node{
		Name: node.Name, Region: node.Labels[corev1.LabelTopologyRegion], Zone: node.Labels[corev1.LabelTopologyZone],
		ProviderID: node.Spec.ProviderID, CapacityType: capacityOf(node), InstanceType: node.Labels[corev1.LabelInstanceTypeStable],
		Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable, Requested: quantities(requested),
		Kubelet: node.Status.NodeInfo.KubeletVersion, Image: node.Labels[imageLabel], NotReady: true,
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			n.NotReady = false
		}
	}
	for _, label := range poolLabels {
		if pool := node.Labels[label]; pool != "" {
			n.Pool = pool
			break
		}
	}
	return n
}

// spotLabels are where clouds say that a node is a spot one.
var spotLabels = map[string]string{
	"kubernetes.azure.com/scalesetpriority": "spot", "cloud.google.com/gke-spot": "true", "eks.amazonaws.com/capacityType": "SPOT",
}

func capacityOf(node *corev1.Node) string {
	for label, spot := range spotLabels {
		if node.Labels[label] == spot {
			return api.CapacitySpot
		}
	}
	return node.Labels[api.LabelCapacityType]
}

func sum(a, b api.Amounts) api.Amounts {
	if a == nil {
		a = api.Amounts{}
	}
	for name, n := range b {
		a[name] += n
	}
	return a
}

// quantities writes amounts as Kubernetes does.
func quantities(amounts api.Amounts) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, n := range amounts {
		switch name := corev1.ResourceName(name); name {
		case corev1.ResourceCPU:
			list[name] = *resource.NewMilliQuantity(n, resource.DecimalSI)
		case corev1.ResourcePods:
		default:
			list[name] = *resource.NewQuantity(n, resource.BinarySI)
		}
	}
	return list
}

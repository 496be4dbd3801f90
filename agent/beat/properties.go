package beat

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"flotilla/agent/target"
	"flotilla/core/api"
)

const bytesPerGB = 1 << 30

// Properties computes what a member's nodes say of it, by the table of seed 004: the number of nodes;
// cpu and memory in total, allocatable and available, the last being what is allocatable less what
// pods request, at least 0; and, when every node has a price, dollars per hour for a core and for a
// GiB, each as if it bore the whole price, with three decimals, as KubeFleet's Azure provider does.
func Properties(nodes []target.Node) map[string]string {
	out := map[string]string{api.PropertyNodeCount: strconv.Itoa(len(nodes))}
	price, priced := 0.0, len(nodes) > 0
	for i := range nodes {
		price += nodes[i].Price
		priced = priced && nodes[i].Price > 0
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		total, allocatable, available := sum(nodes, name)
		at := api.PropertyResourcePrefix
		out[at+"total-"+string(name)] = total.String()
		out[at+"allocatable-"+string(name)] = allocatable.String()
		out[at+"available-"+string(name)] = available.String()
		amount := total.AsApproximateFloat64()
		if !priced || amount <= 0 {
			continue
		}
		if name == corev1.ResourceCPU {
			out[api.PropertyCPUCost] = fmt.Sprintf("%.3f", price/amount)
		} else {
			out[api.PropertyMemoryCost] = fmt.Sprintf("%.3f", price/(amount/bytesPerGB))
		}
	}
	return out
}

func sum(nodes []target.Node, name corev1.ResourceName) (total, allocatable, available resource.Quantity) {
	for i := range nodes {
		add(&total, nodes[i].Capacity, name)
		add(&allocatable, nodes[i].Allocatable, name)
		free := nodes[i].Allocatable[name].DeepCopy()
		if requested, ok := nodes[i].Requested[name]; ok {
			free.Sub(requested)
		}
		if free.Sign() > 0 {
			available.Add(free)
		}
	}
	return total, allocatable, available
}

func add(to *resource.Quantity, list corev1.ResourceList, name corev1.ResourceName) {
	if q, ok := list[name]; ok {
		to.Add(q)
	}
}

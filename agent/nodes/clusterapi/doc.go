// Package clusterapi is the provider of machines of a cluster that Cluster API looks after: it scales MachineDeployments.
//
// A MachineDeployment belongs to a NodePool by the label karpenter.sh/nodepool, its own or that of its template; a pool
// may have several, one for each instance type, zone and capacity type. What its nodes are it says as it does to the
// Cluster Autoscaler, by the annotation capacity.cluster-autoscaler.kubernetes.io/labels, or by labels of its template;
// its failure domain is the zone, and machines with the label cluster.x-k8s.io/interruptible are spot. The autoscaler's
// annotation of the most nodes of a group is kept to.
//
// A launch makes one of them larger by one and claims, by the annotation flotilla.io/launch, a Machine that came after
// that. A machine that goes is marked with cluster.x-k8s.io/delete-machine before its MachineDeployment becomes smaller
// by one. Either is noted in the same write that changes the number, in the annotation flotilla.io/machines, so that it
// is done once however often it is asked for. A MachineDeployment whose number the topology of its Cluster says is
// changed there.
//
// One party drains a node: the agent, before it asks for the machine to go, which is why Cluster API is told not to
// (machine.cluster.x-k8s.io/exclude-node-draining). Machines that Cluster API takes away by itself, in a rollout or
// because a person wants fewer, it drains by itself.
//
// Package agentd gives it to package nodes.
package clusterapi

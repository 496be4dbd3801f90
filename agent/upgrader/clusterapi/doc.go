// Package clusterapi is the upgrade driver of a cluster that Cluster API looks after: it changes the version of the
// control plane, waits until Cluster API is through with that, and then the versions of the MachineDeployments that the
// operation names, one after another. Where a topology says the version of a whole Cluster it is changed there, and the
// MachineDeployments that are not named are left behind by topology.cluster.x-k8s.io/defer-upgrade.
//
// A node pool is a MachineDeployment: it is called as that is, or as its entry of the topology.
//
// The annotation flotilla.io/upgrade says in the same write which operation made which version. So an agent that comes
// back goes on where another stood, and a version that somebody else wrote meanwhile is seen, and not written over.
// Nothing is undone: an operation that failed leaves what Cluster API was told, and Cluster API goes on with it.
//
// What its machines are made of, images too, Cluster API takes from templates, which are not changed here.
//
// Package agentd gives it to the upgrader.
package clusterapi

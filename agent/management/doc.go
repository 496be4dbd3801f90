// Package management reads and changes the Cluster API objects of one cluster: its Cluster, its MachineDeployments and
// its Machines, on the management cluster that they lie on. It keeps nothing, so that what it says is what the API
// server says.
package management

// Package cluster is one member's nodes and pods.
//
// Observe turns objects of Kubernetes into what an agent tells of a node, a View folds what was told into a Cluster, in
// whatever order it comes, and a Cluster holds nodes, pods, daemons and PodDisruptionBudgets, parsed once when they
// enter. It must not change while something is decided about it.
package cluster

// Package karpenter is the provider of machines in a cluster that runs Karpenter: it creates and deletes NodeClaims, and
// Karpenter makes, registers, drains and takes away the machines. One party drains a node: Karpenter those that it made.
//
// Package agentd gives it to package nodes. While the member is in the fleet every NodePool of the cluster has a budget
// of 0 in place of its own, so that Karpenter disrupts no node by itself and two do not decide about one; its own budgets
// are kept in an annotation and given back when the member leaves. What is not voluntary goes on: expiration,
// interruption and repair are Karpenter's.
package karpenter

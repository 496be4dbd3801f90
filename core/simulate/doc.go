// Package simulate finds out where pods go when nodes are taken away.
//
// A State is a member with its pools, at a moment. NewIndex lays it out for one decision: free capacity in columns,
// counts of pods by topology domain. A simulated move changes the index in place and is undone from a journal, so that
// it costs what it touches and not the size of the member. An index serves one goroutine.
//
// Simulate takes nodes away and places their pods as Karpenter's scheduler would: on nodes that there are, else on new
// ones, each a Claim with the instance types that are left to it.
package simulate

// Package capacity is what nodes may be made from, and how many may be down.
//
// A Catalog lists instance types with what they hold, where they are offered and for how much. A Pool is a NodePool
// with what it admits of a catalog; Needs are what labels of a node must be, of pools, types and pods alike. Budgets say
// how many nodes of a pool may be disrupted at a moment, and a Calendar when that changes. All of them are parsed once
// and never changed after; amounts are in the units of api.Amounts.
package capacity

// Package told keeps what agents tell of the nodes of their members, as it is stored, and decodes of it into a view what is
// asked for. The disruptor has one Nodes for each member.
//
// Whoever delivers pushes, from any goroutine, and waits for nobody: reading is left to who decides, one at a time. What
// comes late, twice or not at all means the same whether it is decoded as it comes or later.
package told

// Package disruption decides which nodes of a member to remove or replace, and says of every other
// node why not.
//
// These are Karpenter's decisions, with the rules N1 to N26 of docs/rules.md. Decide changes nothing that
// can be seen from outside, reads no clock, and gives equal decisions for equal states, whatever the order
// of their parts. core/orchestration carries its commands out, core/explain tells of them.
package disruption

// Package overlay decides what an apply leaves of an object as single changes made it. Labels, taints, cordons, scales and
// edits are patches; an overlay is what they made of an object since documents say nothing of it. An apply keeps what its
// document does not set, as kubectl does, and takes over the rest: a member that somebody cordoned stays so when its file
// is applied again. Package hub/door stores overlays beside specs.
package overlay

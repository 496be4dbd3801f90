// Package content decides everything about the objects that users want placed: what is stripped from
// them, by which digest they are known, which of them a placement selects, and in which order they are
// applied (D19).
//
// The door calls it on every write, core/plan on documents from files; both keep an Index of heads.
// Nothing here reads a body after New: heads carry all that selection needs. Objects are JSON values as
// the Kubernetes decoder makes them (map[string]any, []any, string, bool, int64, float64, nil); inputs
// are never changed and equal inputs give equal bytes.
package content

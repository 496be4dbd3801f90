// Package schema describes the kinds that the hub holds, field by field: for `flotilla explain` and for the JSON
// schemas of `flotilla schema`. The shapes are those of the Go types that documents are decoded into, the
// sentences and defaults those of docs/objects.md, which is read as it is; of Kubernetes' own kinds they are
// Kubernetes' own. What of it are words, bounds and patterns stands in limits.go, held to the validation by a test.
package schema

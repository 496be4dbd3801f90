// Package object holds kubectl's verbs on every kind: apply, diff, get, describe, delete, wait, edit, label, annotate, events,
// explain, schema and correct.
package object

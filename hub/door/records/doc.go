// Package records is bucket state as the door reads it: where the spec of an object lies, what can be made out of a record
// that cannot be read, the fleet as it would be, the index of all content, and how objects are named in answers and events.
package records

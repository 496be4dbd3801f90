// Package render decides what overrides make of the objects of a snapshot on one member: which are left out, and which
// are changed, to what.
//
// The room hub/renderer asks it for every bound member, hub/roller and hub/door which overrides touch a snapshot. All
// ClusterResourceOverrides are followed first, by name, then all ResourceOverrides, by namespace and name; the rules of
// one in their order. Members on whose labels the rules do the same have one shape, and share what was rendered.
//
// What it returns is sorted, equal for equal input, and holds nothing of what it was given. A Failure never holds a value
// of an object or of a patch.
package render

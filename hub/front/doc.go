// Package front serves the Kubernetes API of a fleet: what kubectl, Helm and controllers read and write are the objects
// that the door holds. It decides nothing: each write is one request to the door in the name of who asks, and what is
// shown is what the door answers.
//
// Objects of every kind are unstructured here, so that fields which this program does not know survive. Kinds of
// Kubernetes have the schema of client-go for what needs one: server-side apply, strategic merge patches, and fields
// that are none.
package front

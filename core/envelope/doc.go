// Package envelope opens the objects that hold others for members, so that the hub's side never meets those as what they are:
// a ResourceEnvelope, a ClusterResourceEnvelope, and a ConfigMap that says by its annotation that it is one.
//
// core/validate calls it to judge what lies in an envelope, core/content to place it and to find the Secrets in it. What is
// opened is bounded, whatever aliases a text is made of; no text that was found is part of what is said of it.
package envelope

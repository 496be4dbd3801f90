package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VerbWatch waits until something changes.
const VerbWatch = "watch"

// WatchRequest waits for a change of what is watched, and answers at once where there was one after a mark. What
// changed is read with other verbs.
type WatchRequest struct {
	Asked
	// Kinds are those of objects, nodes and disruptions among them; at most 32.
	Kinds []WatchedKind `json:"kinds,omitempty"`
	// Events says that what happens is watched too.
	Events bool `json:"events,omitempty"`
	// After is the Mark of an earlier answer; empty: none, so that the answer comes at once.
	After string `json:"after,omitempty"`
	// Wait is for how long, at most 30 s; 5 s when 0. Less than a millisecond is none: the answer comes at once.
	Wait metav1.Duration `json:"wait,omitzero"`
}

// WatchedKind is a kind of objects. An empty APIVersion stands for every one.
type WatchedKind struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
}

// WatchResponse says where the next wait begins.
type WatchResponse struct {
	Mark string `json:"mark"`
	// Changed says that something may have changed, and not that the time was up.
	Changed bool `json:"changed"`
}

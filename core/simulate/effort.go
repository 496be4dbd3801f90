package simulate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/cluster"
)

// effort is what it takes to know how pods keep each other near and away. It is bounded: a member whose pods all demand something
// else of all others would hold up the decisions about others for minutes.
type effort struct {
	made, asked int
	*Work
}

// Pods of one shape share their terms. A term that demands a label is held only against pods with that label, and one of named
// namespaces only against pods in them: thousands of workloads stay far below. A term that demands no label is held against every
// pod of its namespaces.
const (
	// mostMade is how many terms of shapes of pods are read. A term is read again with each softer step of its shape.
	mostMade = 50_000
	// mostAsked is how often a term is held against pods of one shape and labels, or counts a pod.
	mostAsked = 6_000_000
	// aDomain is what a domain that a group knows takes, in terms that are asked.
	aDomain = 4
	// aTerm is how many values of a selector, or namespaces of a term, take as long as a term.
	aTerm = 16
)

// weightOf is how long a selector takes, in terms of few values.
func weightOf(s *metav1.LabelSelector) int { return 1 + cluster.ValuesOf(s)/aTerm }

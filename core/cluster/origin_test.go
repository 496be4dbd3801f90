package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// What is kept of the labels that a node was made with leaves out those that change in its life.
func TestLabelsThatANodeWasMadeWith(t *testing.T) {
	labels := map[string]string{
		"team": "web", api.LabelRegistered: "true", api.LabelInitialized: "true", api.LabelNodePool: "a",
		corev1.LabelHostname: "n1", corev1.LabelNodeExcludeBalancers: "true",
	}
	require.JSONEq(t, `{"team": "web"}`, OriginLabels(labels))
	require.Len(t, labels, 6, "what was given is not changed")
}

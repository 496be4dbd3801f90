package rollout

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"

	"flotilla/core/api"
)

// Whoever has the release in hand that was written and whoever read it back decide alike.
func requireReadsBack(t *testing.T, written *api.Release) {
	t.Helper()
	encoded, err := json.Marshal(written)
	require.NoError(t, err)
	var read api.Release
	require.NoError(t, json.Unmarshal(encoded, &read))
	require.True(t, equality.Semantic.DeepEqual(written, &read), "%s reads as another release", encoded)
}

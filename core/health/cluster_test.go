package health

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Members that report the same cluster are told together, others and those that report none are not.
func TestMembersOfOneClusterAreTold(t *testing.T) {
	require.Empty(t, SharedClusters(map[string]string{"berlin": "c1", "oslo": "c2", "paris": "", "rome": ""}))
	problems := SharedClusters(map[string]string{"oslo": "c1", "berlin": "c1", "rome": "c3", "paris": "c2", "lima": "c3"})
	require.Len(t, problems, 2)
	require.Equal(t, "member/berlin", problems[0].Object)
	require.Equal(t, ReasonSharedCluster, problems[0].Reason)
	require.Equal(t, "the agents of berlin, oslo report the same cluster, c1: it belongs to one of them at most", problems[0].Message)
	require.Equal(t, "member/lima", problems[1].Object)
}

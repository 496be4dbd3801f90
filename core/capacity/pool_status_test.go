package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// The deletion of a pool waits until its nodes are gone from every member, as they were counted after it.
func TestWhatTheDeletionOfAPoolWaitsFor(t *testing.T) {
	members := []api.PoolMember{{Member: "a", Nodes: 2, Disrupting: 1}, {Member: "b", Nodes: 1}, {Member: "c"}, {Member: "d", Unknown: "not heard of", Nodes: 3}}
	for _, c := range []struct {
		record *api.PoolRecord
		waits  []string
		over   bool
	}{
		{nil, []string{"the hub to count its nodes"}, false},
		{&api.PoolRecord{}, []string{"the hub to count its nodes"}, false},
		{&api.PoolRecord{Deleting: true}, nil, true},
		{&api.PoolRecord{Deleting: true, Members: members}, []string{"a: 2 nodes", "b: 1 node", "d: not heard of"}, false},
		{&api.PoolRecord{Deleting: true, Members: members[2:3]}, nil, true},
	} {
		waits, over := PoolRemains(c.record)
		require.Equal(t, c.waits, waits)
		require.Equal(t, c.over, over)
	}
	pool := &api.NodePool{}
	status := StatusOfPool(pool, &api.PoolRecord{Members: members})
	require.Equal(t, []any{6, 1, members}, []any{status.Nodes, status.Disrupting, status.Members})
	require.Nil(t, status.Unconfirmed)
	pool.DeletionTimestamp = &metav1.Time{}
	require.Equal(t, []string{"the hub to count its nodes"}, StatusOfPool(pool, nil).Unconfirmed)
}

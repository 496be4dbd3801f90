package streams

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// A replica that follows is current, whatever is under way at that moment; who leads a stream alone knows of its replicas.
func TestReplicasAsTheirLeaderTellsOfThem(t *testing.T) {
	require.Empty(t, replicas(nil))
	require.Empty(t, replicas(&jetstream.ClusterInfo{Leader: "n0"}), "one server keeps it alone")
	peers := []*jetstream.PeerInfo{
		{Name: "n1", Peer: "p1", Current: true, Active: time.Second},
		{Name: "n2", Peer: "p2", Active: time.Second, Lag: 3},
		{Name: "n3", Peer: "p3", Active: time.Second, Lag: mostLag},
		{Name: "n4", Peer: "p4", Active: mostSilent},
		{Name: "n5", Peer: "p5", Current: true, Offline: true},
		{Name: "Server name unknown at this time (peerID: p6)", Peer: "p6", Offline: true},
		{Name: "n7", Peer: "p7", Current: true, Pending: true},
	}
	require.Empty(t, replicas(&jetstream.ClusterInfo{Replicas: peers}), "nobody leads")
	require.Equal(t, []Replica{
		{Server: "n0", Current: true},
		{Server: "n1", Peer: "p1", Current: true},
		{Server: "n2", Peer: "p2", Current: true},
		{Server: "n3", Peer: "p3"},
		{Server: "n4", Peer: "p4"},
		{Server: "n5", Peer: "p5", Offline: true},
		{Peer: "p6", Offline: true},
	}, replicas(&jetstream.ClusterInfo{Leader: "n0", Replicas: peers}))
}

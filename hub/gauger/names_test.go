package gauger

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/streams"
	"flotilla/core/fullness"
)

// A server keeps its name while those that are asked, who were restarted, do not know it.
func TestAServerKeepsItsName(t *testing.T) {
	g := New(nil, Options{})
	unknown := []streams.Replica{{Peer: "p1"}}
	require.Equal(t, []fullness.Replica{{Server: "p1"}}, g.replicas(unknown))
	g.replicas([]streams.Replica{{Server: "n0", Current: true}, {Server: "n1", Peer: "p1", Current: true}})
	require.Equal(t, []fullness.Replica{{Server: "n1"}}, g.replicas(unknown))
}

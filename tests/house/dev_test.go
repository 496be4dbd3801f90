package house

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// A whole fleet in one process is killed: its members in memory are what they were. An upgraded one is at
// its new version, and nodes that were empty stay away.
func TestAKilledDevFleetRemembersItsMembers(t *testing.T) {
	t.Parallel()
	h := newHouseWith(t, []string{"--dev"})
	h.memberIs(t, "tampa", func(s *api.MemberClusterStatus) bool { return s.State == api.MemberReady && s.Nodes == 2 })
	h.memberIs(t, "cluster1", func(s *api.MemberClusterStatus) bool { return s.State == api.MemberReady && s.Nodes == 5 })
	h.say(t, "run", "create", "spring", "--to", "1.37.1", "-l", "kubernetes-fleet.io/member-name=tampa", "--start")
	h.say(t, "apply", "-f", "../../configs/examples/nodes/catalog-east.yaml,../../configs/examples/nodes/pool-workers.yaml")
	upgraded := func(s *api.MemberClusterStatus) bool { return s.KubernetesVersion == "v1.37.1" && s.Nodes == 2 }
	emptied := func(s *api.MemberClusterStatus) bool { return s.KubernetesVersion == "v1.36.3" && s.Nodes == 0 }
	h.memberIs(t, "tampa", upgraded)
	h.memberIs(t, "cluster1", emptied)

	h.hub.Kill()
	killed := elsewhen.Now()
	h.hub.Start(t)
	h.connect(t)
	for name, check := range map[string]func(*api.MemberClusterStatus) bool{"tampa": upgraded, "cluster1": emptied} {
		h.memberIs(t, name, func(s *api.MemberClusterStatus) bool { return s.AgentStatus[0].LastReceivedHeartbeat.After(killed) })
		var m api.MemberCluster
		require.NoError(t, h.request(t, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: name}, &m))
		require.True(t, check(m.Status), "%s is at %s with %d nodes", name, m.Status.KubernetesVersion, m.Status.Nodes)
	}
}

// say runs the command line and returns what it prints.
func (h *house) say(t *testing.T, args ...string) string {
	t.Helper()
	out, code := h.flotilla(t, args...)
	require.Zero(t, code, out)
	return out
}

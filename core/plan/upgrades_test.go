package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/plan"
)

// exportedMember is a member as a KubeFleet hub exports it, with an inventory and no state of ours.
const exportedMember = `
apiVersion: cluster.kubernetes-fleet.io/v1
kind: MemberCluster
metadata: {name: m1}
status:
  agentStatus:
  - type: MemberAgent
    lastReceivedHeartbeat: "2026-11-20T12:00:00Z"
    conditions: [{type: Joined, status: "True", reason: Joined, message: "", lastTransitionTime: "2026-11-01T00:00:00Z"}]
  inventory: {controlPlaneVersion: 1.29.2}
`

func TestMembersAreReachableByTheirHeartbeatWhereFilesTellNoState(t *testing.T) {
	c, faults := plan.Collect(yamlDocuments(t, exportedMember))
	require.NoError(t, faults.Err())
	beat := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for after, reachable := range map[time.Duration]bool{0: true, 5 * time.Minute: true, 5*time.Minute + time.Second: false} {
		view, err := c.Upgrades.View(time.LoadLocation, beat.Add(after), 0)
		require.NoError(t, err)
		m, ok := view.Fleet.Member("m1")
		require.True(t, ok)
		require.Equal(t, reachable, m.Reachable, after)
		if !reachable {
			require.Equal(t, beat, m.LastSeen.UTC())
		}
	}
}

func TestRunsInFilesThatCannotBePlanned(t *testing.T) {
	underway := `
apiVersion: flotilla.io/v1alpha1
kind: UpdateRun
metadata: {name: spring}
spec: {upgrade: {type: Full, kubernetesVersion: 1.29.9}}
status: {status: {state: Running}, stages: [{name: default, status: {state: Running}, groups: []}]}
`
	edited := `
apiVersion: flotilla.io/v1alpha1
kind: UpdateRun
metadata: {name: spring}
spec: {upgrade: {type: Full, kubernetesVersion: 1.30.5}}
`
	_, faults := plan.Collect(yamlDocuments(t, underway+"---\n"+edited))
	require.ErrorContains(t, faults.Err(), "its spec can be edited before its first start only")
	_, faults = plan.Collect(yamlDocuments(t, edited+"---\n"+edited))
	require.ErrorContains(t, faults.Err(), "a second document of this name")
}

// A member whose files tell no more than its versions has joined, as far as they tell; one that they say has not joined, or
// of which they tell nothing, has not.
func TestMembersThatFilesTellLittleOfHaveJoined(t *testing.T) {
	const head = "apiVersion: cluster.kubernetes-fleet.io/v1\nkind: MemberCluster\nmetadata: {name: m1}\n"
	for text, joined := range map[string]bool{
		exportedMember: true,
		strings.Replace(exportedMember, `{type: Joined, status: "True"`, `{type: Joined, status: "False"`, 1): false,
		head + "status: {inventory: {controlPlaneVersion: 1.29.2}}\n":                                         true,
		head + "spec: {}\n": false,
	} {
		c, faults := plan.Collect(yamlDocuments(t, text))
		require.NoError(t, faults.Err())
		view, err := c.Upgrades.View(time.LoadLocation, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), 0)
		require.NoError(t, err)
		m, found := view.Fleet.Member("m1")
		require.True(t, found)
		require.Equal(t, joined, m.Eligible, text)
	}
}

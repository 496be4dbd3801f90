package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is on a member is described behind what it is.
func TestMembersAreDescribedWithWhatTheyHold(t *testing.T) {
	fleet := startHurried(t)
	admitAll(t, fleet)
	applyAll(t, fleet, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
---
{"apiVersion": "placement.kubernetes-fleet.io/v1", "kind": "ClusterResourcePlacement", "metadata": {"name": "shop"},
 "spec": {"resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}]}}
---
{"apiVersion": "placement.kubernetes-fleet.io/v1", "kind": "ClusterResourcePlacementEviction", "metadata": {"name": "off"}, "spec": {"placementName": "none", "clusterName": "oslo"}}`)
	r := &runner{env: liveEnvironment(fleet), mask: maskLive}
	described := ""
	until(t, func() bool {
		described = r.output(t, &command{line: "flotilla describe member oslo"})
		return strings.Contains(described, "shop  1  Available") && strings.Contains(described, "Refused")
	})
	require.Regexp(t, `(?s)State: +Ready\nPlacements:\n  Placement +Snapshot +State +Since +Message\n  shop +1 +Available +.*\nEvictions:\n`+
		`  Eviction +Placement +State +Age +Message\n  off +none +Refused +\S+ +Failed to find.*\nEvents:\n`, described)
	require.NotContains(t, described, "Runs:")
	require.NotContains(t, described, "Held By:")
}

package tests

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/tests/elsewhen"
)

const toFailOver = `
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: %[1]s%[3]s}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: %[1]s}]
  policy: %[2]s
`

const (
	pickOne   = "{placementType: PickN, numberOfClusters: 1}"
	pickAll   = "{placementType: PickAll}"
	pickNamed = "{placementType: PickFixed, clusterNames: [%s]}"
	failsOver = `, annotations: {flotilla.io/failover-after: 4s}`
)

// A member that falls silent is replaced after failover-after, and not before, where the placement picks
// any member; one that names it, or takes all there are, stays with it.
func TestFailoverOfASilentMember(t *testing.T) {
	s := newSliceWith(t, func(o *dev.Options) {
		o.Hub.Policy.MemberTimeout, o.Hub.Policy.Grace = 8*time.Second, time.Millisecond // agents of a busy machine are late
		for i := range o.Members {
			o.Members[i].HeartbeatInterval = configs.Duration(time.Second)
		}
	}, "berlin", "oslo")
	s.apply(fmt.Sprintf(toFailOver, "any", pickOne, failsOver))
	s.apply(fmt.Sprintf(toFailOver, "all", pickAll, ""))
	picked := on(s.converges("any", 1, "1"))
	require.Len(t, picked, 1)
	away, other := picked[0], map[string]string{"berlin": "oslo", "oslo": "berlin"}[picked[0]]
	s.apply(fmt.Sprintf(toFailOver, "named", fmt.Sprintf(pickNamed, away), ""))
	s.converges("all", 2, "1")
	s.converges("named", 1, "1")

	silent := elsewhen.Now()
	require.NoError(t, s.fleet.StopAgent(away))
	bustest.EventuallyIn(t, time.Minute, func() error {
		status, err := s.status("any")
		if err == nil && !slices.Equal(on(status), []string{other}) {
			err = fmt.Errorf("any is on %v", on(status))
		}
		return err
	})
	require.Greater(t, elsewhen.Since(silent), 10*time.Second, "the last heartbeat was at most two seconds before, as far as it is recorded")
	require.Equal(t, []string{other}, on(s.converges("any", 1, "1")))
	for placement, members := range map[string][]string{"all": {"berlin", "oslo"}, "named": {away}} {
		status, err := s.status(placement)
		require.NoError(t, err)
		require.Equal(t, members, on(status), placement)
	}
}

// on lists the members that a placement is picked for, or kept by.
func on(status *api.PlacementStatus) []string {
	var members []string
	for i := range status.PlacementStatuses {
		if name := status.PlacementStatuses[i].ClusterName; name != "" {
			members = append(members, name)
		}
	}
	return members
}

// Failover that could only take away is refused at the door.
func TestFailoverIsRefusedWhereNobodyIsPickedInstead(t *testing.T) {
	s := newSlice(t, "berlin")
	for _, policy := range []string{pickAll, fmt.Sprintf(pickNamed, "oslo")} {
		err := s.tryToApply(fmt.Sprintf(toFailOver, "web", policy, failsOver))
		var refused *api.Failure
		require.ErrorAs(t, err, &refused)
		require.Len(t, refused.Faults, 1)
		require.Equal(t, `metadata.annotations["flotilla.io/failover-after"]`, refused.Faults[0].Path)
		require.Contains(t, refused.Faults[0].Expected, "only a PickN picks another member in the place of one that is away")
	}
}

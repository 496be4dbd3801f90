package overview_test

import (
	"testing"

	"flotilla/core/api"
	"flotilla/core/overview"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A placement that is read again after the fleet was is no better than either says.
func TestARowOfTwoMomentsIsNoBetterThanEither(t *testing.T) {
	row := func(available metav1.ConditionStatus, entry string) overview.Placement {
		status := &api.PlacementStatus{Conditions: []metav1.Condition{{Type: api.KindClusterResourcePlacement + "Available", Status: available}}}
		if entry != "" {
			status.PlacementStatuses = []api.PerMemberStatus{{ClusterName: "berlin", State: entry}}
		}
		return overview.PlacementOf(&api.Placement{}, status)
	}
	for _, c := range []struct {
		brief metav1.ConditionStatus
		whole overview.Placement
		want  overview.Sign
	}{
		{metav1.ConditionTrue, row(metav1.ConditionTrue, api.EntryAvailable), overview.Well},
		{metav1.ConditionFalse, row(metav1.ConditionTrue, api.EntryAvailable), overview.Moving},
		{metav1.ConditionTrue, row(metav1.ConditionTrue, api.EntryFailed), overview.Bad},
	} {
		read := row(c.brief, "")
		read.Complete(&c.whole)
		require.Equal(t, c.want, read.Sign, "%s beside %s", c.brief, c.whole.Sign)
	}
}

package plan_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/plan"
)

// fleetPlan is placements that each take ten of the members of one region.
func fleetPlan(members, placements int) plan.Input {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	in := plan.Input{Now: now}
	for i := range members {
		in.Members = append(in.Members, api.Member{
			Name: fmt.Sprintf("member-%05d", i), HasAgent: true, Joined: "True", Healthy: "True", LastHeartbeat: now,
			Labels: map[string]string{"region": fmt.Sprint(i % 5)},
		})
	}
	ten := int32(10)
	only := &metav1.LabelSelector{MatchLabels: map[string]string{"region": "1"}}
	for i := range placements {
		in.Subjects = append(in.Subjects, plan.Subject{Placement: api.Placement{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%03d", i)},
			Spec: api.PlacementSpec{Policy: &api.Policy{PlacementType: api.PickN, NumberOfClusters: &ten, Affinity: &api.Affinity{
				ClusterAffinity: &api.ClusterAffinity{Required: &api.ClusterSelector{ClusterSelectorTerms: []api.ClusterSelectorTerm{{LabelSelector: only}}}},
			}}},
		}})
	}
	return in
}

// TestAPlanOfAWholeFleetStaysWithinItsBound holds all picks, the verdicts that fit, and counts of the
// rest.
func TestAPlanOfAWholeFleetStaysWithinItsBound(t *testing.T) {
	in := fleetPlan(1000, 20)
	whole := plan.Build(in)
	require.Len(t, whole.Placements[19].Verdicts, 1000)
	require.Empty(t, whole.Notes)

	in.MaxVerdicts = 2500
	bounded := plan.Build(in)
	rows := 0
	for i := range bounded.Placements {
		require.Equal(t, whole.Placements[i].Picked, bounded.Placements[i].Picked)
		require.NotNil(t, bounded.Placements[i].Verdicts)
		rows += len(bounded.Placements[i].Verdicts)
	}
	require.Equal(t, 2000, rows)
	require.Equal(t, whole.Details, bounded.Details)
	require.Len(t, bounded.Notes, 18)
	require.Equal(t, "placement/p002: 1000 verdicts are left out (10 picked, 800 refused by affinity, 190 by rank): "+
		"flotilla why placement/p002 --member NAME", bounded.Notes[0])
	text, err := json.Marshal(bounded)
	require.NoError(t, err)
	full, err := json.Marshal(whole)
	require.NoError(t, err)
	require.Less(t, len(text), len(full)/5)
}

// TestQuietPlacementsTakeNoRoom for they are not in the answer.
func TestQuietPlacementsTakeNoRoom(t *testing.T) {
	in := fleetPlan(100, 3)
	for i := range in.Subjects[:2] {
		in.Subjects[i].Quiet = true
		none := int32(0)
		in.Subjects[i].Placement.Spec.Policy.NumberOfClusters = &none
	}
	in.MaxVerdicts = 100
	answer := plan.Build(in)
	require.Len(t, answer.Placements, 1)
	require.Len(t, answer.Placements[0].Verdicts, 100)
	require.Empty(t, answer.Notes)
}

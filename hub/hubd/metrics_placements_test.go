package hubd

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/status"
)

// Beyond the cap the worst keep series of their own, and the rest is one series with their sum.
func TestSeriesAreBounded(t *testing.T) {
	var all []series
	for i := range MostSeries + 100 {
		all = append(all, series{name: fmt.Sprintf("p%04d", i), values: []float64{1, 0}})
	}
	all[MostSeries+50].trouble, all[MostSeries+50].values[1] = 3, 3
	got := bounded(all)
	require.Len(t, got, MostSeries+1)
	require.Equal(t, fmt.Sprintf("p%04d", MostSeries+50), got[0].name, "who is in trouble is named")
	require.Equal(t, "p0000", got[1].name)
	require.Equal(t, series{name: OtherSeries, values: []float64{100, 0}}, got[MostSeries])
	require.Len(t, bounded(all[:MostSeries]), MostSeries)
}

// Drift that agents correct is a series of the placement and of each member, as drift that is left is.
func TestCorrectedDriftIsCounted(t *testing.T) {
	st := &api.PlacementStatus{
		Counts: api.PlacementCounts{Picked: 3, Corrected: 2},
		Alarms: []api.Alarm{{Reason: status.AlarmCorrected, Members: []string{"berlin", "oslo"}}, {Reason: status.AlarmDrifted, Members: []string{"oslo"}}},
	}
	p := placementSeries("web", st)
	require.Len(t, p.values, len(placementStates)+1)
	values := map[string]float64{}
	for i, name := range placementStates {
		values[name] = p.values[i]
	}
	require.Equal(t, map[string]float64{"picked": 3, "current": 0, "available": 0, "failed": 0, "drifted": 0, "corrected": 2, "unconfirmed": 0}, values)
	require.InDelta(t, 2, p.trouble, 0)
	members := map[string]*[troubles]float64{}
	countTroubles(members, st)
	require.Equal(t, map[string]*[troubles]float64{"berlin": {troubleCorrected: 1}, "oslo": {troubleCorrected: 1, troubleDrifted: 1}}, members)
}

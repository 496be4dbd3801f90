package hubd

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
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

package schedule_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/schedule"
)

func gzipped(t *testing.T, value any) int {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	t.Logf("%d bytes, %d gzipped", len(text), packed.Len())
	return packed.Len()
}

// Records of ten thousand members stay far below what a bucket takes: verdicts within 75 KiB, bindings
// within 64 KiB.
func TestRecordsOfTenThousandMembersAreSmall(t *testing.T) {
	fleet := schedule.NewFleet(benchMembers(10000)...)
	for name, policy := range map[string]*api.Policy{
		"PickAll": benchPickAll(), "PickNSorter": benchPickNSorter(), "PickNSpread": benchPickNSpread(), "everybody": nil,
	} {
		t.Run(name, func(t *testing.T) {
			in := schedule.Input{Placement: "web", Policy: policy, Fleet: fleet, Now: benchNow}
			plan := schedule.Schedule(in)
			require.Less(t, gzipped(t, &plan.Verdicts), 75<<10)
			require.Less(t, gzipped(t, plan.Schedule(in)), 64<<10)
		})
	}
}

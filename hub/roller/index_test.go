package roller

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// TestPlacementsOfAMemberAreFoundWithoutReadingAll asks for every member of a large fleet, as happens
// at a start and when a region is lost.
func TestPlacementsOfAMemberAreFoundWithoutReadingAll(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	r := newRecords(store)
	r.schedules.OnChange(r.noteSchedule)
	const members, placements = 2000, 50
	name := func(i int) string { return fmt.Sprintf("member-%05d", i) }
	bindings := make([]api.Binding, members)
	for i := range bindings {
		bindings[i] = api.Binding{Member: name(i), Policy: "p"}
	}
	for i := range placements {
		key := r.schedules.Key(fmt.Sprintf("p%03d", i))
		_, err := store.Writer.Write(bustest.Context(t), bus.Put(key, &api.Schedule{Header: api.NewHeader(api.KindSchedule), UID: "u", Bindings: bindings[i:]}, 0))
		require.NoError(t, err)
	}
	require.Len(t, r.on(name(members-1)), placements)
	require.Equal(t, []string{"p000", "p001"}, r.on(name(1)))
	began := time.Now()
	for i := range members {
		r.on(name(i))
	}
	require.Less(t, time.Since(began), 2*time.Second, "a scan for each takes minutes in a fleet of ten thousand")
}

package reporter

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// Every member of a large fleet is asked for, as happens at a start and when a region is lost.
func TestPlacementsOfAMemberAreFound(t *testing.T) {
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
	for i := range members {
		require.Len(t, r.on(name(i)), min(i+1, placements), name(i))
	}
}

package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
)

// A restore that is broken off while it writes leaves state that nobody leads on, until it is restored again.
func TestARestoreThatIsBrokenOff(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	_, err := leader.Writer.Write(bustest.Context(t), store.Put("schedule.old", bustest.Schedule("old", 1), 0))
	require.NoError(t, err)
	records := map[string][]byte{}
	for i := range 600 { // more than one batch
		records[fmt.Sprintf("schedule.p%d", i)] = []byte("{}")
	}
	records["status.web"] = fmt.Appendf(nil, "%q", bustest.Noise(3*bus.MaxValue))
	_, err = leader.Replace(bustest.Context(t), records, 7)
	require.ErrorIs(t, err, bus.ErrTooLarge)

	found := bustest.Lead(t, server.Hub(t), "hub-test", store.LeadOptions{})
	require.NotNil(t, found.Damage)
	require.Equal(t, "a restore was broken off", found.Damage.String())
	_, err = found.Writer.Write(bustest.Context(t), store.Put("schedule.new", api.Schedule{}, 0))
	require.ErrorIs(t, err, bus.ErrDamaged)

	delete(records, "status.web")
	epoch, err := found.Replace(bustest.Context(t), records, 7)
	require.NoError(t, err)
	require.Greater(t, epoch, uint64(7))
	whole := bustest.Lead(t, server.Hub(t), "hub-test", store.LeadOptions{})
	require.Nil(t, whole.Damage)
	require.Len(t, whole.State.Keys("schedule."), 600)
}

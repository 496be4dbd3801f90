package bus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
)

// The reserve of a hub that was told nothing is 256 MiB, or a fiftieth of a small file system.
func TestTheReserveOfAFolder(t *testing.T) {
	for _, c := range []struct{ asked, total, want int64 }{
		{0, 1 << 40, 256 << 20}, {0, 256 << 20 * 50, 256 << 20}, {0, 1 << 30, 1 << 30 / 50}, {5, 1 << 40, 5}, {-1, 1 << 40, 0},
	} {
		room, err := bus.RoomIn("/data", c.asked, func(string) (int64, int64, error) { return 0, c.total, nil })
		require.NoError(t, err)
		require.Equal(t, c.want, room.Reserve, "%d of %d", c.asked, c.total)
	}
}

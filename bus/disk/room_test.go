package disk_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/disk"
)

// The reserve of a hub that was told nothing is 256 MiB, or a fiftieth of a small file system.
func TestTheReserveOfAFolder(t *testing.T) {
	for _, c := range []struct{ asked, total, want int64 }{
		{0, 1 << 40, 256 << 20}, {0, 256 << 20 * 50, 256 << 20}, {0, 1 << 30, 1 << 30 / 50}, {5, 1 << 40, 5}, {-1, 1 << 40, 0},
	} {
		room, err := disk.RoomIn("/data", c.asked, func(string) (disk.Space, error) { return disk.Space{Total: c.total}, nil })
		require.NoError(t, err)
		require.Equal(t, c.want, room.Reserve, "%d of %d", c.asked, c.total)
	}
}

// Room is what can be written: bytes, and inodes where a file system counts them.
func TestRoomIsBytesAndInodes(t *testing.T) {
	const (
		gib   = 1 << 30
		bytes = "/data has 12 MiB free of 20 GiB, 256 MiB are kept in reserve"
	)
	for name, c := range map[string]struct {
		space disk.Space
		asked int64
		short string // what is said; empty where there is room
		files bool
	}{
		"enough of both":              {disk.Space{Free: gib, Total: 20 * gib, FreeFiles: 1000, TotalFiles: 1 << 20}, 0, "", false},
		"no bytes":                    {disk.Space{Free: 12 << 20, Total: 20 * gib, FreeFiles: 1000, TotalFiles: 1 << 20}, 0, bytes, false},
		"no inodes":                   {disk.Space{Free: gib, Total: 20 * gib, TotalFiles: 1 << 20}, 0, "/data has 0 inodes free of 1048576, 1000 are kept in reserve", true},
		"nearly no inodes":            {disk.Space{Free: gib, Total: 20 * gib, FreeFiles: 999, TotalFiles: 1 << 20}, 5, "/data has 999 inodes free of 1048576, 1000 are kept in reserve", true},
		"few inodes of few":           {disk.Space{Free: gib, Total: 20 * gib, FreeFiles: 81, TotalFiles: 4096}, 0, "", false},
		"too few inodes of few":       {disk.Space{Free: gib, Total: 20 * gib, FreeFiles: 80, TotalFiles: 4096}, 0, "/data has 80 inodes free of 4096, 81 are kept in reserve", true},
		"none of very few":            {disk.Space{Free: gib, Total: 20 * gib, TotalFiles: 10}, 0, "/data has 0 inodes free of 10, 1 are kept in reserve", true},
		"neither":                     {disk.Space{Free: 12 << 20, Total: 20 * gib, TotalFiles: 1 << 20}, 0, bytes, false},
		"inodes are made when wanted": {disk.Space{Free: gib, Total: 20 * gib}, 0, "", false},
		"nothing is counted":          {disk.Space{}, 0, "", false},
		"nothing is kept in reserve":  {disk.Space{Total: 20 * gib, TotalFiles: 1 << 20}, -1, "", false},
		"inodes alone are counted":    {disk.Space{FreeFiles: 3, TotalFiles: 1 << 20}, 0, "/data has 3 inodes free of 1048576, 1000 are kept in reserve", true},
	} {
		t.Run(name, func(t *testing.T) {
			room, err := disk.RoomIn("/data", c.asked, func(string) (disk.Space, error) { return c.space, nil })
			require.NoError(t, err)
			require.Equal(t, c.short != "", room.Short())
			require.Equal(t, c.files, room.WantsFiles())
			if room.Short() {
				require.Equal(t, c.short, room.String())
			}
		})
	}
}

// What file systems say of their inodes where they do not count them is no limit.
func TestInodesThatNobodyCounts(t *testing.T) {
	for _, c := range []struct {
		free, total     uint64
		left, all       int64
		toldBy, because string
	}{
		{10, 100, 10, 100, "ext4", "it counts them"},
		{0, 100, 0, 100, "ext4", "they are used up"},
		{0, 0, 0, 0, "btrfs", "it makes them as they are wanted"},
		{math.MaxUint64, math.MaxUint64, 0, 0, "a network file system", "it has no limit"},
		{math.MaxUint64, 100, 0, 0, "a network file system", "more are free than there are"},
		{5, 0, 0, 0, "a network file system", "more are free than there are"},
	} {
		left, all := disk.Inodes(c.free, c.total)
		require.Equal(t, [2]int64{c.left, c.all}, [2]int64{left, all}, "%s says %d of %d: %s", c.toldBy, c.free, c.total, c.because)
	}
}

// The machine counts the inodes of the folder of a test, or has no limit; it never has more free ones than there are.
func TestInodesOfThisMachine(t *testing.T) {
	space, err := disk.FileSystem(t.TempDir())
	require.NoError(t, err)
	require.Positive(t, space.Total)
	require.LessOrEqual(t, space.FreeFiles, space.TotalFiles)
	_, err = disk.FileSystem("/nowhere/at/all")
	require.ErrorContains(t, err, "looking how much room /nowhere/at/all has")
}

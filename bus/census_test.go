package bus_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

// blocksOf are the files of a stream in the data folder of a server.
func blocksOf(t *testing.T, dir, stream string) []string {
	t.Helper()
	var blocks []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if filepath.Ext(path) == ".blk" && filepath.Base(filepath.Dir(filepath.Dir(path))) == stream {
			blocks = append(blocks, path)
		}
		return err
	}))
	require.NotEmpty(t, blocks)
	return blocks
}

// flip turns over 64 bytes of a file, and says how long it is.
func flip(t *testing.T, path string, offset int) {
	t.Helper()
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := offset; i < min(offset+64, len(body)); i++ {
		body[i] ^= 0xff
	}
	require.NoError(t, os.WriteFile(path, body, 0o600))
}

// settledWith waits until the ledger holds every write of a store.
func settledWith(t *testing.T, store *bus.Store) {
	t.Helper()
	bustest.Eventually(t, func() error {
		if !bus.LedgerSettled(store) {
			return fmt.Errorf("the ledger is behind")
		}
		return nil
	})
}

// written writes n schedules, changes every third of them and deletes every tenth, and returns what is there.
func filled(t *testing.T, store *bus.Store, n int) map[string]uint64 {
	t.Helper()
	there := map[string]uint64{}
	for i := range n {
		record := schedule(fmt.Sprintf("p%d", i), 1)
		record.Message = noise(600)
		key := subjects.Schedules.Key(record.Placement)
		there[key] = write(t, store, bus.Put(key, record, 0))[0]
		switch {
		case i%10 == 9:
			write(t, store, bus.Delete(key, there[key]))
			delete(there, key)
		case i%3 == 0:
			there[key] = write(t, store, bus.Put(key, record, there[key]))[0]
		}
	}
	return there
}

// missing are the keys whose records are not those that were stored.
func missing(store *bus.Store, there map[string]uint64) []string {
	var keys []string
	for key, revision := range there {
		if store.State.Revision(key) != revision {
			keys = append(keys, key)
		}
	}
	return keys
}

// Bytes are flipped anywhere in the files of state: no hub leads over what that takes away, and every record that
// is gone is named.
func TestAHoleInStateIsNamed(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	there := filled(t, store, 60)
	settledWith(t, store)
	const cuts = 12
	damaged := 0
	for cut := range cuts {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			copied := server.Copied(t, func(dir string) {
				for _, block := range blocksOf(t, dir, store.Conn.Fleet.BucketStream(subjects.State)) {
					info, err := os.Stat(block)
					require.NoError(t, err)
					flip(t, block, int(info.Size())*cut/cuts)
				}
			})
			found := bustest.Lead(t, copied.Hub(t), "hub-test", bus.LeadOptions{})
			gone := missing(found, there)
			if len(gone) == 0 {
				require.Nil(t, found.Damage)
				return
			}
			damaged++
			require.NotNil(t, found.Damage, "%d records are gone", len(gone))
			require.Subset(t, append(found.Damage.Gone, found.Damage.Older...), gone)
			require.Zero(t, found.Damage.Unnamed)
			_, err := found.Writer.Write(t.Context(), bus.Put("schedule.new", api.Schedule{}, 0))
			require.ErrorIs(t, err, bus.ErrDamaged)
		})
	}
	require.Positive(t, damaged)
}

package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/census"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
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
func settledWith(t *testing.T, leader *store.Store) {
	t.Helper()
	bustest.Eventually(t, func() error {
		if !store.LedgerSettled(leader) {
			return fmt.Errorf("the ledger is behind")
		}
		return nil
	})
}

// written writes n schedules, changes every third of them and deletes every tenth, and returns what is there.
func filled(t *testing.T, leader *store.Store, n int) map[string]uint64 {
	t.Helper()
	there := map[string]uint64{}
	for i := range n {
		record := bustest.Schedule(fmt.Sprintf("p%d", i), 1)
		record.Message = `"` + bustest.Noise(600) + `"`
		key := subjects.Schedules.Key(record.Placement)
		there[key] = bustest.Write(t, leader, store.Put(key, record, 0))[0]
		switch {
		case i%10 == 9:
			bustest.Write(t, leader, store.Delete(key, there[key]))
			delete(there, key)
		case i%3 == 0:
			there[key] = bustest.Write(t, leader, store.Put(key, record, there[key]))[0]
		}
	}
	return there
}

// missing are the keys whose records are not those that were stored.
func missing(store *store.Store, there map[string]uint64) []string {
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
	leader := server.Lead(t)
	there := filled(t, leader, 60)
	settledWith(t, leader)
	const cuts = 12
	damaged, told := 0, 0
	for cut := range cuts {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			copied := server.Copied(t, func(dir string) {
				for _, block := range blocksOf(t, dir, leader.Conn.Fleet.BucketStream(subjects.State)) {
					info, err := os.Stat(block)
					require.NoError(t, err)
					flip(t, block, int(info.Size())*cut/cuts)
				}
			})
			found := bustest.Lead(t, copied.Hub(t), "hub-test", store.LeadOptions{})
			gone := missing(found, there)
			if len(gone) == 0 {
				require.Nil(t, found.Damage)
				return
			}
			damaged++
			require.NotNil(t, found.Damage, "%d records are gone", len(gone))
			require.Subset(t, append(found.Damage.Gone, found.Damage.Older...), gone)
			require.Zero(t, found.Damage.Unnamed)
			if lost := found.Damage.Lost; lost.Bytes > 0 {
				told++
				require.Contains(t, found.Damage.String(), fmt.Sprintf("%d bytes", lost.Bytes))
			}
			_, err := found.Writer.Write(t.Context(), store.Put("schedule.new", api.Schedule{}, 0))
			require.ErrorIs(t, err, bus.ErrDamaged)
		})
	}
	require.Positive(t, damaged)
	require.Positive(t, told, "what the server says of it is told too")
}

// A hub that leads finds out when it lists state anew that a record is gone, and stops.
func TestALeaderFindsAHoleWhenItListsAnew(t *testing.T) {
	server := bustest.Start(t)
	direct := server.Hub(t)
	leader := compete(t, server.Hub(t), "hub-0")
	store := bustest.Within(t, leader.led, "hub-0 leads")
	filled(t, store, 20)
	settledWith(t, store)
	stream, err := direct.JS.Stream(bustest.Context(t), direct.Fleet.BucketStream(subjects.State))
	require.NoError(t, err)
	gone := direct.Fleet.BucketSubject(subjects.State, subjects.Schedules.Key("p1"))
	require.NoError(t, stream.Purge(bustest.Context(t), jetstream.WithPurgeSubject(gone)))
	require.NoError(t, store.State.Relist(bustest.Context(t)))
	require.ErrorIs(t, bustest.Within(t, leader.lost, "hub-0 stops"), bus.ErrDamaged)
	again := bustest.Within(t, leader.led, "hub-0 says what is gone")
	require.Equal(t, []string{subjects.Schedules.Key("p1")}, again.Damage.Gone)
}

// The newest writes are gone that were not yet on disk for good, as after a power cut: the hub leads all the same, and
// says what they were.
func TestNewestWritesThatAPowerCutTook(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	filled(t, leader, 20)
	settledWith(t, leader)
	before, name := t.TempDir(), leader.Conn.Fleet.BucketStream(subjects.State)
	bustest.CopyFolder(t, before, server.Dir())
	var cut *bustest.Server
	for revision := uint64(0); cut == nil; { // until it is copied before the write comes of age
		revision = bustest.Write(t, leader, store.Put(subjects.Schedules.Key("young"), bustest.Schedule("young", 1), revision))[0]
		bustest.Eventually(t, func() error {
			if !store.LedgerHolds(bustest.Context(t), leader) {
				return fmt.Errorf("the ledger is behind")
			}
			return nil
		})
		copied := server.Copied(t, func(dir string) { rollBack(t, before, dir, name) })
		if !store.LedgerSettled(leader) {
			cut = copied
		}
	}
	found := bustest.Lead(t, cut.Hub(t), "hub-test", store.LeadOptions{})
	told := toldOf(t, found)
	require.Contains(t, told, "schedule of young")
	require.Contains(t, told, "all writes after sequence")
	require.Equal(t, leader.Term.Epoch+1, found.Term.Epoch, "the server gives numbers twice, so versions are told apart by their epoch")
}

// Whatever was acknowledged is named when a damaged file takes it away, however soon after that.
func TestTheNewestWriteIsNamedToo(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	filled(t, leader, 20)
	for i := range 10 {
		young := subjects.Schedules.Key(fmt.Sprintf("young-%d", i))
		bustest.Write(t, leader, store.Put(young, bustest.Schedule("young", 1), 0))
		copied := server.Copied(t, func(dir string) {
			blocks := blocksOf(t, dir, leader.Conn.Fleet.BucketStream(subjects.State))
			newest := blocks[len(blocks)-1]
			info, err := os.Stat(newest)
			require.NoError(t, err)
			flip(t, newest, int(info.Size())-64)
		})
		found := bustest.Lead(t, copied.Hub(t), "hub-test", store.LeadOptions{})
		require.Zero(t, found.State.Revision(young))
		require.Contains(t, toldOf(t, found), fmt.Sprintf("schedule of young-%d", i))
		copied.Stop(t)
	}
}

// toldOf is what events tell of lost state, a line each.
func toldOf(t *testing.T, store *store.Store) string {
	t.Helper()
	require.Nil(t, store.Damage)
	events, err := streams.ReadAudit(bustest.Context(t), store.Conn, streams.AuditQuery{Object: "fleet/state"})
	require.NoError(t, err)
	told := ""
	for _, e := range events {
		require.Equal(t, "StateLost", e.Reason)
		told += e.Message + "\n"
	}
	return told
}

// However much is gone, events name all of it that people wrote.
func TestEventsNameAllThatIsGone(t *testing.T) {
	d := &census.Damage{After: 7, UpTo: 9}
	for i := range 100 {
		d.Gone = append(d.Gone, subjects.Schedules.Key(fmt.Sprintf("derived-%d", i)))
		d.Deleted = append(d.Deleted, subjects.PlacementSpecs.Key(fmt.Sprintf("placement-with-a-long-name-%d", i)))
	}
	told := ""
	for _, line := range d.Lines() {
		require.Less(t, len(line), bus.MaxAudit*3/4)
		told += line + "\n"
	}
	for i := range 100 {
		require.Contains(t, told+",", fmt.Sprintf("placement-with-a-long-name-%d", i))
	}
	require.Contains(t, told, "100 records back after they were deleted: placement placement-with-a-long-name-0,")
	require.Contains(t, told, "gone: 100 records of the hub's own: schedule of derived-0,")
	require.Contains(t, told, "all writes after sequence 7, up to 9, are gone")
}

// Records that are gone before the ledger had them are counted, though nobody knows their names.
func TestAHoleThatNobodyCanNameIsCounted(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	filled(t, leader, 10)
	settledWith(t, leader)
	before := t.TempDir()
	bustest.CopyFolder(t, before, server.Dir())
	young := subjects.Schedules.Key("young")
	bustest.Write(t, leader, store.Put(young, bustest.Schedule("young", 1), 0))
	bustest.Write(t, leader, store.Put(subjects.Schedules.Key("last"), bustest.Schedule("last", 1), 0))
	copied := server.Copied(t, func(dir string) { rollBack(t, before, dir, leader.Conn.Fleet.BucketStream(subjects.Census)) })
	c := copied.Hub(t)
	stream, err := c.JS.Stream(bustest.Context(t), c.Fleet.BucketStream(subjects.State))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(bustest.Context(t), jetstream.WithPurgeSubject(c.Fleet.BucketSubject(subjects.State, young))))
	found := bustest.Lead(t, c, "hub-test", store.LeadOptions{})
	require.NotNil(t, found.Damage)
	require.Equal(t, 1, found.Damage.Unnamed)
	require.Contains(t, found.Damage.String(), "1 record gone whose names were not noted yet")
}

// rollBack puts the files of a stream from one data folder into another.
func rollBack(t *testing.T, from, to, stream string) {
	t.Helper()
	old, kept := filepath.Dir(filepath.Dir(blocksOf(t, to, stream)[0])), filepath.Dir(filepath.Dir(blocksOf(t, from, stream)[0]))
	require.NoError(t, os.RemoveAll(old))
	require.NoError(t, os.CopyFS(old, os.DirFS(kept)))
}

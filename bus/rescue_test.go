package bus_test

import (
	"testing"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

// A hub is killed while it makes the stream of state anew: the next one goes on with it, and every record is there.
func TestARenewalThatIsBrokenOffIsGoneOnWith(t *testing.T) {
	for step, name := range []string{bus.Kept: "kept", bus.Emptied: "emptied", bus.HalfWritten: "half written"} {
		t.Run(name, func(t *testing.T) {
			server := bustest.Start(t)
			store := server.Lead(t)
			there := filled(t, store, 30)
			settledWith(t, store)
			left := subjects.Schedules.Key("left")
			revision := bustest.Write(t, store, bus.Put(left, bustest.Schedule("left", 1), 0))[0]
			bustest.Write(t, store, bus.Op{Key: left, Revision: revision, Note: "it was deleted"})
			epoch := store.Term.Epoch
			require.NoError(t, bus.BreakOff(bustest.Context(t), store, step))
			copied := server.Copied(t, func(string) {})
			for range 2 { // once it is done it is not done again
				found := bustest.Lead(t, copied.Hub(t), "hub-test", bus.LeadOptions{})
				require.Nil(t, found.Damage)
				require.Equal(t, epoch, found.Term.Epoch)
				require.Greater(t, found.Term.Term, store.Term.Term)
				require.Len(t, found.State.Keys(subjects.Schedules.Prefix()), len(there))
				require.Equal(t, "it was deleted", found.State.Gone(left), "and is not lost")
				key := subjects.Schedules.Key("p0")
				bustest.Write(t, found, bus.Put(key, bustest.Schedule("p0", 9), found.State.Revision(key)))
			}
		})
	}
}

package store_test

import (
	"testing"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

// A hub is killed while it makes the stream of state anew: the next one goes on with it, and every record is there.
func TestARenewalThatIsBrokenOffIsGoneOnWith(t *testing.T) {
	for step, name := range []string{store.Kept: "kept", store.Emptied: "emptied", store.HalfWritten: "half written"} {
		t.Run(name, func(t *testing.T) {
			server := bustest.Start(t)
			leader := server.Lead(t)
			there := filled(t, leader, 30)
			settledWith(t, leader)
			left := subjects.Schedules.Key("left")
			revision := bustest.Write(t, leader, store.Put(left, bustest.Schedule("left", 1), 0))[0]
			bustest.Write(t, leader, store.Op{Key: left, Revision: revision, Note: "it was deleted"})
			epoch := leader.Term.Epoch
			require.NoError(t, store.BreakOff(bustest.Context(t), leader, step))
			copied := server.Copied(t, func(string) {})
			for range 2 { // once it is done it is not done again
				found := bustest.Lead(t, copied.Hub(t), "hub-test", store.LeadOptions{})
				require.Nil(t, found.Damage)
				require.Equal(t, epoch, found.Term.Epoch)
				require.Greater(t, found.Term.Term, leader.Term.Term)
				require.Len(t, found.State.Keys(subjects.Schedules.Prefix()), len(there))
				require.Equal(t, "it was deleted", found.State.Gone(left), "and is not lost")
				key := subjects.Schedules.Key("p0")
				bustest.Write(t, found, store.Put(key, bustest.Schedule("p0", 9), found.State.Revision(key)))
			}
		})
	}
}

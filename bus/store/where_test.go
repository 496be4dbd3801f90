package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

// Who wants some of the records has their names, sorted.
func TestSomeOfTheRecords(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	table := store.TableOf[api.Schedule](leader.State, subjects.Schedules)
	for _, name := range []string{"web", "api", "db"} {
		_, err := leader.Writer.Write(bustest.Context(t), store.Put(table.Key(name), &api.Schedule{Placement: name}, 0))
		require.NoError(t, err)
	}
	require.Equal(t, []string{"api", "web"}, table.NamesWhere(func(s *api.Schedule) bool { return s.Placement != "db" }))
	require.Empty(t, table.NamesWhere(func(*api.Schedule) bool { return false }))
}

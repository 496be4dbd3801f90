package gauger_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/hub/gauger"
	"flotilla/subjects"
)

// write stores an override of so many bytes.
func write(t *testing.T, leader *store.Store, name string, bytes int) {
	t.Helper()
	key := subjects.OverrideSpecs.Key(name)
	bustest.Write(t, leader, store.Put(key, api.Spec{Set: strings.Repeat("a", bytes)}, leader.State.Revision(key)))
}

// What records take in memory is told of as a stream that fills up is, with the kinds that take most, and the last eighth of it is
// short: both end where records go.
func TestWhatRecordsTakeInMemoryIsToldOf(t *testing.T) {
	const mib = 1 << 20
	server := bustest.Start(t)
	leader := server.Lead(t)
	metrics := gauger.NewMetrics()
	g := gauger.New(leader, gauger.Options{Interval: 20 * time.Millisecond, Records: 4 * mib, Metrics: metrics, Log: leader.Conn.Log})
	bustest.Room(t, g)
	write(t, leader, "a", mib) // its text, and what is made of it
	bustest.Write(t, leader, store.Put("schedule.web", bustest.Schedule("web", 1), 0))
	require.Empty(t, g.Problems())
	require.False(t, g.Memory(0).Short())
	require.False(t, g.Memory(mib).Short())
	more := g.Memory(2 * mib)
	require.True(t, more.Short())
	require.Regexp(t, `^the memory for records, with 2\.0 MiB for what is asked, has 0 bytes free of 4\.0 MiB, 512 KiB are kept in reserve$`, more.String())

	write(t, leader, "b", 3<<18)
	room := g.Memory(0)
	require.True(t, room.Short(), "at once")
	require.Regexp(t, `^the memory for records has \d+ KiB free of 4\.0 MiB, 512 KiB are kept in reserve$`, room.String())
	kinds := `override \(3\.5 MiB in 2\), layout \(\d\.\d KiB in 1\), schedule of placement \(\d\.\d KiB in 1\)`
	require.Regexp(t, `^3\.5 MiB are in use, most of it by `+kinds+": make room by deleting some of them, or start the hub with a larger --records-limit$", room.Remedy)
	bustest.Eventually(t, func() error {
		if len(g.Problems()) == 0 {
			return errors.New("no problem")
		}
		return nil
	})
	problem := g.Problems()[0]
	require.Equal(t, "stream/records-in-memory", problem.Object)
	require.Equal(t, "flotilla events stream/records-in-memory", problem.Next)
	text := `it is 8\d % full, 3\.5 MiB of 4\.0 MiB; what does not fit is refused; most is of ` + kinds + ": make room by deleting some of them, or start the hub with a larger --records-limit$"
	require.Regexp(t, "^"+text, problem.Message)
	require.Regexp(t, "^Warning StreamFilling: "+text, lastEvent(t, server, gauger.InMemory, 1))
	require.Equal(t, len(subjects.Assets())+1, series(t, metrics)["flotilla_stream_bytes"])

	write(t, leader, "b", 0)
	require.False(t, g.Memory(0).Short(), "at once")
	require.Regexp(t, `^Normal StreamHasRoom: there is room again: it is 5\d % full, 2\.\d MiB of 4\.0 MiB$`, lastEvent(t, server, gauger.InMemory, 2))
	bustest.Eventually(t, func() error {
		if problems := g.Problems(); len(problems) > 0 {
			return fmt.Errorf("still %+v", problems)
		}
		return nil
	})
}

// A hub that was told of no limit has none, and one that was told nothing has 2 GiB.
func TestRecordsWithoutALimit(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	require.False(t, gauger.New(leader, gauger.Options{Records: -1}).Memory(1<<60).Short())
	require.EqualValues(t, 2<<30, gauger.New(leader, gauger.Options{}).Memory(0).Total)
}

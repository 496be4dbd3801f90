package gauger_test

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/hub/gauger"
	"flotilla/subjects"
)

// fill has the agent of a member report results of nearly 16 KiB until enough says so.
func fill(t *testing.T, agent *member.Conn, enough func() bool) {
	t.Helper()
	for n := 0; !enough(); n++ {
		body := make([]byte, 15<<9)
		_, err := rand.Read(body)
		require.NoError(t, err)
		require.NoError(t, agent.PutResult(bustest.Context(t), subjects.CommandPlacement, fmt.Sprintf("web-%d", n), hex.EncodeToString(body)))
	}
}

// stored says that the results of all take so many bytes.
func stored(t *testing.T, store *store.Store, bytes int64) func() bool {
	t.Helper()
	return func() bool {
		uses, err := streams.Uses(bustest.Context(t), store.Conn)
		require.NoError(t, err)
		at := slices.IndexFunc(uses, func(u streams.Use) bool { return u.Short == subjects.Result })
		return uses[at].Bytes >= bytes
	}
}

// start runs a gauger until the end of the test.
func start(t *testing.T, store *store.Store, metrics *gauger.Metrics) *gauger.Gauger {
	t.Helper()
	g := gauger.New(store, gauger.Options{Interval: 20 * time.Millisecond, Metrics: metrics, Log: store.Conn.Log})
	bustest.Room(t, g)
	return g
}

// A stream that fills up is told of with who fills it, shown while it is full, and told of again once there is room.
func TestAStreamThatFillsUpIsToldOfUntilThereIsRoom(t *testing.T) {
	server := bustest.Start(t)
	store := bustest.Lead(t, server.Hub(t), "hub-test", store.LeadOptions{Layout: streams.LayoutOptions{ResultBytes: 400 << 10}})
	metrics := gauger.NewMetrics()
	g := start(t, store, metrics)
	fill(t, server.Agent(t, "oslo"), stored(t, store, 20<<10))
	require.Empty(t, g.Problems())
	fill(t, server.Agent(t, "paris"), stored(t, store, 330<<10))

	name := store.Conn.Fleet.BucketStream(subjects.Result)
	bustest.Eventually(t, func() error {
		if len(g.Problems()) == 0 {
			return errors.New("no problem")
		}
		return nil
	})
	full := `it is \d\d % full, \d+ KiB of 400 KiB; what does not fit is refused; of 2 members most is of paris \(\d+ KiB\), oslo \(\d+ KiB\): ` +
		"revoke members that are none, or raise streams.results of the hub and `nats stream edit " + name + " --max-bytes=819200`$"
	problem := g.Problems()[0]
	require.Equal(t, "stream/"+name, problem.Object)
	require.Equal(t, "flotilla describe member paris", problem.Next)
	require.Regexp(t, "^"+full, problem.Message)
	require.Regexp(t, "^Warning StreamFilling: "+full, lastEvent(t, server, name, 1), "which was told when it was a little less full, or more")
	require.Equal(t, len(subjects.Assets())+1, series(t, metrics)["flotilla_stream_limit_bytes"], "and what records take in memory")

	require.NoError(t, store.ResultBatches.PurgeMember(bustest.Context(t), "paris"))
	bustest.Eventually(t, func() error {
		if problems := g.Problems(); len(problems) > 0 {
			return fmt.Errorf("still %+v", problems)
		}
		return nil
	})
	require.Regexp(t, `^Normal StreamHasRoom: there is room again: it is \d % full, \d+ KiB of 400 KiB$`, lastEvent(t, server, name, 2))
}

// lastEvent is the last event of a stream once there are so many.
func lastEvent(t *testing.T, server *bustest.Server, name string, wanted int) (last string) {
	t.Helper()
	bustest.Eventually(t, func() error {
		events, err := streams.ReadAudit(bustest.Context(t), server.Inspector(t), streams.AuditQuery{Object: "stream/" + name})
		if err != nil || len(events) < wanted {
			return fmt.Errorf("%d events: %w", len(events), err)
		}
		last = events[len(events)-1].Type + " " + events[len(events)-1].Reason + ": " + events[len(events)-1].Message
		return nil
	})
	return last
}

// series are how many each metric has.
func series(t *testing.T, metrics *gauger.Metrics) map[string]int {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	families, err := registry.Gather()
	require.NoError(t, err)
	found := map[string]int{}
	for _, family := range families {
		found[family.GetName()] = len(family.GetMetric())
	}
	return found
}

// Members that use half of their share or more have a series, at most so many, and none once nobody leads.
func TestMembersNearTheirShareHaveASeries(t *testing.T) {
	server := bustest.Start(t)
	store := bustest.Lead(t, server.Hub(t), "hub-test", store.LeadOptions{Layout: streams.LayoutOptions{Share: bus.Share{Results: 512 << 10}}})
	metrics := gauger.NewMetrics()
	fill(t, server.Agent(t, "oslo"), stored(t, store, 20<<10))
	fill(t, server.Agent(t, "paris"), stored(t, store, 320<<10))
	t.Run("while a hub leads", func(t *testing.T) {
		start(t, store, metrics)
		bustest.Eventually(t, func() error {
			if n := series(t, metrics)["flotilla_member_share_used"]; n != 1 {
				return fmt.Errorf("%d series", n)
			}
			return nil
		})
	})
	require.Empty(t, series(t, metrics))
}

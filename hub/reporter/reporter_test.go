package reporter_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/hub/reporter"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// house is a leader's store with a reporter on it; the test plays everyone else.
type house struct {
	server   *bustest.Server
	store    *store.Store
	statuses *store.Table[api.PlacementStatus]
	agents   map[string]*member.Conn
	stop     func()
	runs     atomic.Int64 // how often the placement was looked at
}

func start(t *testing.T, o reporter.Options, members ...string) *house {
	return startAt(t, elsewhen.Now, o, members...)
}

// startAt starts a house whose clock is now.
func startAt(t *testing.T, now func() time.Time, o reporter.Options, members ...string) *house {
	server := bustest.Start(t)
	broker := server.TCP()
	broker.Now = now
	conn, err := bus.ConnectHub(bustest.Context(t), broker)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	h := &house{server: server, store: bustest.Lead(t, conn, "hub-test", store.LeadOptions{}), agents: map[string]*member.Conn{}}
	h.statuses = store.TableOf[api.PlacementStatus](h.store.State, subjects.Statuses)
	for _, m := range members {
		h.agents[m] = server.Agent(t, m)
		h.put(t, subjects.MemberSpecs.Key(m), api.Spec{Object: api.ObjectRef{Kind: api.KindMemberCluster, Name: m}, UID: "m", Body: json.RawMessage(`{}`)})
		h.state(t, m, api.MemberReady)
	}
	h.run(t, o)
	return h
}

func (h *house) run(t *testing.T, o reporter.Options) {
	o.Settle, o.Log = 10*time.Millisecond, h.store.Conn.Log
	o.Runs = func(key string) {
		if key == "placement:web" {
			h.runs.Add(1)
		}
	}
	room := reporter.New(h.store, o)
	h.stop = bustest.Room(t, room)
}

// put writes a record whatever its revision; nil deletes it.
func (h *house) put(t *testing.T, key string, value any) {
	t.Helper()
	bustest.Overwrite(t, h.store, key, value)
}

func (h *house) state(t *testing.T, member string, state api.MemberState) {
	h.put(t, subjects.Members.Key(member), api.MemberRecord{Name: member, UID: "m", State: state, LastSeen: metav1.NewTime(elsewhen.Now())})
}

// place writes what door, scheduler and roller would: the placement at its first snapshot on members.
func (h *house) place(t *testing.T, members ...string) {
	h.put(t, subjects.PlacementSpecs.Key("web"), api.Spec{
		Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "web"}, UID: "u1", Generation: 1, Body: json.RawMessage(`{}`),
	})
	h.put(t, subjects.Snapshots.Key(subjects.SnapshotName("web", 1)), api.Snapshot{Placement: "web", UID: "u1", Index: 1})
	s := api.Schedule{Placement: "web", UID: "u1", Generation: 1, Fulfilled: true, Message: "found"}
	for _, m := range members {
		s.Bindings = append(s.Bindings, api.Binding{Member: m, Reason: "picked"})
	}
	h.put(t, subjects.Schedules.Key("web"), s)
	h.release(t, false, members...)
}

func (h *house) release(t *testing.T, withdrawn bool, members ...string) {
	r := api.Release{Placement: "web", Step: 1}
	for _, m := range members {
		r.Entries = append(r.Entries, api.ReleaseEntry{Member: m, UID: "u1", Snapshot: 1, Generation: 1, Withdrawn: withdrawn})
	}
	h.put(t, subjects.Releases.Key("web"), r)
}

func (h *house) answer(t *testing.T, member, kind, placement string, change func(*api.PlacementResult)) {
	r := api.PlacementResult{
		Header: api.NewHeader(api.KindPlacementResult), Member: member, Placement: placement, UID: "u1", Generation: 1, Snapshot: 1,
		Applied: "True", Available: "True", Changed: metav1.NewTime(elsewhen.Now()),
	}
	change(&r)
	require.NoError(t, h.agents[member].PutResult(bustest.Context(t), kind, placement, r))
}

func available(*api.PlacementResult) {}

// last waits until the last condition of the placement has this reason, and returns its status.
func (h *house) last(t *testing.T, want string) api.PlacementStatus {
	t.Helper()
	var found api.PlacementStatus
	bustest.Eventually(t, func() error {
		st, _, ok := h.statuses.Get("web")
		if !ok || len(st.Conditions) == 0 {
			return errors.New("no status yet")
		}
		found = st
		if got := st.Conditions[len(st.Conditions)-1].Reason; got != want {
			return fmt.Errorf("last reason %s, wanted %s; %+v", got, want, st)
		}
		return nil
	})
	return found
}

// looked waits until the placement was looked at so many times more.
func (h *house) looked(t *testing.T, times int64) {
	t.Helper()
	want := h.runs.Load() + times
	bustest.Eventually(t, func() error {
		if now := h.runs.Load(); now < want {
			return fmt.Errorf("looked at %d times, wanted %d", now, want)
		}
		return nil
	})
}

// keys waits until bucket result holds exactly these keys.
func (h *house) keys(t *testing.T, want ...string) {
	t.Helper()
	bustest.Eventually(t, func() error {
		if got := h.store.Results.Keys(""); !slices.Equal(got, want) {
			return fmt.Errorf("results %v, wanted %v", got, want)
		}
		return nil
	})
}

func TestStatusFollowsResults(t *testing.T) {
	h := start(t, reporter.Options{}, "berlin", "oslo")
	h.place(t, "berlin", "oslo")
	st := h.last(t, "WorkNotSynchronizedYet")
	require.Equal(t, 2, st.Counts.Picked)
	h.answer(t, "berlin", subjects.CommandPlacement, "web", available)
	h.answer(t, "oslo", subjects.CommandPlacement, "web", func(r *api.PlacementResult) {
		r.Applied, r.Available, r.Failed, r.Total = "False", "", 1, 2
		r.Failures = []api.ManifestFailure{{Condition: "Applied", Reason: "ManifestApplyFailed", Message: "no"}}
	})
	st = h.last(t, "ApplyFailed")
	require.Equal(t, 1, st.Counts.Failed)
	require.Equal(t, "oslo", st.PlacementStatuses[0].ClusterName)
	require.Len(t, st.PlacementStatuses[0].FailedPlacements, 1)

	h.answer(t, "oslo", subjects.CommandPlacement, "web", available)
	st = h.last(t, "ResourceAvailable")
	require.Empty(t, st.PlacementStatuses, "nobody is in trouble")
	h.told(t, []string{
		"PlacementRolloutStarted", "PlacementOverriddenSucceeded", "PlacementWorkSynchronized", "ApplyFailed",
		"PlacementApplied", "PlacementAvailable", "PlacementRolloutCompleted",
	})

	h.answer(t, "oslo", subjects.CommandPlacement, "web", func(r *api.PlacementResult) {
		r.CorrectedTotal = 1
		r.Corrected = []api.Correction{{ObjectRef: api.ObjectRef{Kind: "ConfigMap", Namespace: "shop", Name: "cart"}, Fields: "/data/a"}}
	})
	h.told(t, []string{"PlacementRolloutCompleted", "DriftCorrected"})
	require.Equal(t, 1, h.last(t, "ResourceAvailable").Counts.Corrected)

	h.state(t, "oslo", api.MemberUnknown)
	st = h.last(t, "ResourceAvailableUnknown")
	require.Contains(t, st.PlacementStatuses[0].Conditions[5].Message, "last known: snapshot 1, applied and available")
	h.state(t, "oslo", api.MemberReady)
	h.last(t, "ResourceAvailable")
}

// told waits until the audit stream holds these reasons, in this order, and possibly others that were
// passed through on the way.
func (h *house) told(t *testing.T, want []string) {
	client := h.server.Inspector(t)
	bustest.Eventually(t, func() error {
		events, err := streams.ReadAudit(bustest.Context(t), client, streams.AuditQuery{Object: "placement/web"})
		var reasons []string
		next := 0
		for _, e := range events {
			reasons = append(reasons, e.Reason)
			if next < len(want) && e.Reason == want[next] {
				next++
			}
		}
		if err != nil || next < len(want) {
			return fmt.Errorf("told %v (%w), wanted %v", reasons, err, want)
		}
		return nil
	})
}

// A condition that turns back and forth is told a few times, and once more when it may be: nothing else is written then.
func TestATurnThatWasLeftOutIsTold(t *testing.T) {
	var ahead atomic.Int64
	h := startAt(t, func() time.Time { return elsewhen.Now().Add(time.Duration(ahead.Load())) }, reporter.Options{}, "berlin")
	h.place(t, "berlin")
	for range 5 {
		h.answer(t, "berlin", subjects.CommandPlacement, "web", func(r *api.PlacementResult) { r.Applied, r.Available, r.Failed, r.Total = "False", "", 1, 1 })
		h.last(t, "ApplyFailed")
		h.answer(t, "berlin", subjects.CommandPlacement, "web", available)
		h.last(t, "ResourceAvailable")
	}
	client := h.server.Inspector(t)
	turns := func() (times int) {
		events, err := streams.ReadAudit(bustest.Context(t), client, streams.AuditQuery{Object: "placement/web"})
		require.NoError(t, err)
		for _, e := range events {
			if e.Reason == "PlacementAvailable" {
				times++
			}
		}
		return times
	}
	_, before, _ := h.statuses.Get("web")
	require.Equal(t, 4, turns())
	ahead.Store(int64(time.Hour))
	h.answer(t, "berlin", subjects.CommandPlacement, "web", func(r *api.PlacementResult) { r.Order.Generation = 99 }) // nothing but a reason to look
	bustest.Eventually(t, func() error {
		if times := turns(); times != 5 {
			return fmt.Errorf("told %d times", times)
		}
		return nil
	})
	_, after, _ := h.statuses.Get("web")
	require.Equal(t, before, after)
}

func TestNothingChangedNothingWritten(t *testing.T) {
	h := start(t, reporter.Options{}, "berlin", "oslo")
	h.place(t, "berlin")
	h.answer(t, "berlin", subjects.CommandPlacement, "web", available)
	h.last(t, "ResourceAvailable")
	_, before, _ := h.statuses.Get("web")
	h.stop()

	h.run(t, reporter.Options{})
	h.answer(t, "berlin", subjects.CommandPlacement, "web", func(r *api.PlacementResult) { r.Order.Generation = 99 })
	h.put(t, subjects.PlacementSpecs.Key("other"), api.Spec{Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "other"}, UID: "u9", Body: json.RawMessage(`{}`)})
	bustest.Eventually(t, func() error {
		entry, _ := h.store.Results.Get(subjects.ResultKey("berlin", subjects.CommandPlacement, "web"))
		if _, _, found := h.statuses.Get("other"); !found || entry.Sequence != 2 {
			return errors.New("the new reporter is not at work")
		}
		return nil
	})
	_, after, _ := h.statuses.Get("web")
	require.Equal(t, before, after)
}

// While much is on its way a status is written once a second, as soon as all has arrived at once.
func TestWhatIsOnItsWayIsWrittenNowAndThen(t *testing.T) {
	h := start(t, reporter.Options{}, "berlin", "oslo")
	h.place(t, "berlin", "oslo")
	h.last(t, "WorkNotSynchronizedYet")
	var writes atomic.Int64
	h.statuses.OnChange(func(string) { writes.Add(1) })
	writes.Store(0)
	began := elsewhen.Now()
	const answers = 30
	for i := range answers {
		h.answer(t, "oslo", subjects.CommandPlacement, "web", func(r *api.PlacementResult) {
			r.Applied, r.AppliedReason, r.Available, r.Total = "False", "ApplyInProgress", "", i
		})
		h.looked(t, 1)
	}
	seconds := int64(elsewhen.Now().Sub(began) / time.Second)
	h.stop() // what is under way is over
	require.LessOrEqual(t, writes.Load(), 2+seconds, "%d answers in %d seconds", answers, seconds)
}

func TestStatusGoesWithItsPlacement(t *testing.T) {
	h := start(t, reporter.Options{}, "berlin")
	h.place(t, "berlin")
	h.last(t, "WorkNotSynchronizedYet")
	h.put(t, subjects.PlacementSpecs.Key("web"), nil)
	bustest.Eventually(t, func() error {
		if st, _, found := h.statuses.Get("web"); found {
			return fmt.Errorf("still there: %+v", st)
		}
		return nil
	})
}

func TestResultsOfWhoIsNoMemberAreSweptAtTheSecondLook(t *testing.T) {
	h := start(t, reporter.Options{Sweep: 50 * time.Millisecond}, "berlin", "rome")
	h.place(t, "berlin")
	h.answer(t, "berlin", subjects.CommandPlacement, "web", available)
	h.answer(t, "berlin", subjects.CommandUpgrade, "gone", available)
	h.answer(t, "rome", subjects.CommandPlacement, "web", available)
	h.answer(t, "rome", subjects.CommandDisruption, "d1", available)
	h.keys(t, "berlin.placement.web", "berlin.upgrade.gone", "rome.disruption.d1", "rome.placement.web")
	h.put(t, subjects.MemberSpecs.Key("rome"), nil)
	h.keys(t, "berlin.placement.web", "berlin.upgrade.gone")
}

// What an agent reports and nobody can read is told of by name, once in a while.
func TestResultsThatCannotBeReadAreToldOf(t *testing.T) {
	h := start(t, reporter.Options{}, "berlin")
	for range 3 {
		_, err := h.store.Conn.JS.Publish(bustest.Context(t), h.store.Conn.Fleet.BucketSubject(subjects.Result, "berlin.7"), []byte("zpoison"))
		require.NoError(t, err)
	}
	inspector := h.server.Inspector(t)
	bustest.Eventually(t, func() error {
		events, err := streams.ReadAudit(bustest.Context(t), inspector, streams.AuditQuery{Object: "member/berlin"})
		if err != nil || len(events) != 1 || events[0].Reason != "ResultUnreadable" || !strings.Contains(events[0].Message, "key berlin.7 of bucket result") {
			return fmt.Errorf("told %+v, %w", events, err)
		}
		return nil
	})
}

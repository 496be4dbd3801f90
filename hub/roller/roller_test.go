package roller_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/hub/roller"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// house is a leader's store with a roller on it; the test plays door, scheduler and agents.
type house struct {
	server   *bustest.Server
	store    *store.Store
	releases *store.Table[api.Release]
	agents   map[string]*member.Conn
	stop     func()
}

func start(t *testing.T, members ...string) *house {
	server := bustest.Start(t)
	h := &house{server: server, store: server.Lead(t), agents: map[string]*member.Conn{}}
	h.releases = store.TableOf[api.Release](h.store.State, subjects.Releases)
	for _, m := range members {
		h.agents[m] = server.Agent(t, m)
		h.put(t, subjects.MemberSpecs.Key(m), memberSpec(m, nil))
		h.put(t, subjects.Members.Key(m), api.MemberRecord{Name: m, UID: "m", State: api.MemberReady})
	}
	h.run(t)
	return h
}

func (h *house) run(t *testing.T) {
	room := roller.New(h.store, roller.Options{Log: h.store.Conn.Log})
	h.stop = bustest.Room(t, room)
}

// put writes a record whatever its revision; nil deletes it.
func (h *house) put(t *testing.T, key string, value any) {
	t.Helper()
	bustest.Overwrite(t, h.store, key, value)
}

func memberSpec(name string, change func(*api.Spec)) api.Spec {
	s := api.Spec{Object: api.ObjectRef{Kind: api.KindMemberCluster, Name: name}, UID: "m", Body: json.RawMessage(`{}`)}
	if change != nil {
		change(&s)
	}
	return s
}

func (h *house) placement(t *testing.T, uid, body string, deleted bool) {
	s := api.Spec{Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "web"}, UID: uid, Generation: 1, Body: json.RawMessage(body)}
	if deleted {
		now := metav1.NewTime(elsewhen.Now())
		s.Deleted = &now
	}
	h.put(t, subjects.PlacementSpecs.Key("web"), s)
}

func (h *house) snapshot(t *testing.T, uid string, index int64) {
	h.put(t, subjects.Snapshots.Key(subjects.SnapshotName("web", index)), api.Snapshot{Placement: "web", UID: uid, Index: index, Work: fmt.Sprintf("work-%d", index)})
}

func (h *house) schedule(t *testing.T, uid string, members ...string) {
	s := api.Schedule{Placement: "web", UID: uid, Generation: 1}
	for _, m := range members {
		s.Bindings = append(s.Bindings, api.Binding{Member: m})
	}
	h.put(t, subjects.Schedules.Key("web"), s)
}

// eventually waits until the release reads as wanted: "berlin:2 oslo:-" is berlin at snapshot 2 and
// oslo withdrawn; "none" is no record.
func (h *house) eventually(t *testing.T, want string) api.Release {
	t.Helper()
	var found api.Release
	bustest.Eventually(t, func() error {
		release, _, ok := h.releases.Get("web")
		if got := text(release, ok); got != want {
			return fmt.Errorf("release is %q, held %v, wanted %q", got, release.Held, want)
		}
		found = release
		return nil
	})
	return found
}

func text(release api.Release, ok bool) string {
	if !ok {
		return "none"
	}
	var entries []string
	for _, e := range release.Entries {
		at := fmt.Sprint(e.Snapshot)
		if e.Withdrawn {
			at = "-"
		}
		entries = append(entries, e.Member+":"+at)
	}
	return strings.Join(entries, " ")
}

// answer lets members report on their entries as they stand, and waits until the hub heard of it.
func (h *house) answer(t *testing.T, members ...string) {
	t.Helper()
	release, _, _ := h.releases.Get("web")
	h.answerTo(t, release.Entries, members...)
}

// answerTo lets members report on entries as they once stood.
func (h *house) answerTo(t *testing.T, entries []api.ReleaseEntry, members ...string) {
	t.Helper()
	for _, e := range entries {
		if !slices.Contains(members, e.Member) {
			continue
		}
		r := api.PlacementResult{
			Header: api.NewHeader(api.KindPlacementResult), Member: e.Member, Placement: "web", UID: e.UID, Generation: e.Generation,
			Snapshot: e.Snapshot, Applied: "True", Available: "True", Withdrawn: e.Withdrawn, Changed: metav1.NewTime(elsewhen.Now()),
		}
		require.NoError(t, h.agents[e.Member].PutResult(bustest.Context(t), subjects.CommandPlacement, "web", r))
		bustest.Eventually(t, func() error {
			entry, _ := h.store.Results.Get(subjects.ResultKey(e.Member, subjects.CommandPlacement, "web"))
			found, err := watch.Decode[api.PlacementResult](entry)
			if err != nil || found.Generation != e.Generation || found.UID != e.UID {
				return fmt.Errorf("heard of %d of %s (%w), wanted %d", found.Generation, e.Member, err, e.Generation)
			}
			return nil
		})
	}
}

const oneAtATime = `{"spec":{"strategy":{"rollingUpdate":{"maxUnavailable":1}}}}`

func TestRollout(t *testing.T) {
	h := start(t, "berlin", "oslo", "paris")
	h.placement(t, "u1", oneAtATime, false)
	h.snapshot(t, "u1", 1)
	h.schedule(t, "u1", "berlin", "oslo", "paris")
	h.eventually(t, "berlin:1 oslo:1 paris:1")
	h.answer(t, "berlin", "oslo", "paris")

	h.snapshot(t, "u1", 2)
	release := h.eventually(t, "berlin:2 oslo:1 paris:1")
	require.Equal(t, "work-2", release.Entries[0].Work)
	require.Len(t, release.Held, 2)
	h.answer(t, "berlin")
	h.eventually(t, "berlin:2 oslo:2 paris:1")
	h.answer(t, "oslo")
	before := h.eventually(t, "berlin:2 oslo:2 paris:2").Entries

	h.schedule(t, "u1", "berlin", "oslo")
	h.answerTo(t, before, "paris")
	h.eventually(t, "berlin:2 oslo:2 paris:-")
	h.answer(t, "paris")
	h.eventually(t, "berlin:2 oslo:2")

	client := h.server.Inspector(t)
	bustest.Eventually(t, func() error {
		events, err := streams.ReadAudit(bustest.Context(t), client, streams.AuditQuery{Object: "placement/web"})
		var told []string
		for _, e := range events {
			told = append(told, e.Message)
		}
		want := []string{
			"snapshot 1 released to berlin, oslo and paris (3 of 3)", "snapshot 2 released to berlin (1 of 3)",
			"snapshot 2 released to oslo (2 of 3)", "snapshot 2 released to paris (3 of 3)", "withdrawn from paris", "paris gave it up",
		}
		if err != nil || !slices.Equal(told, want) {
			return fmt.Errorf("told %q (%w), wanted %q", told, errors.Join(err), want)
		}
		return nil
	})
}

func TestRestartChangesNothing(t *testing.T) {
	h := start(t, "berlin", "oslo")
	h.placement(t, "u1", oneAtATime, false)
	h.snapshot(t, "u1", 1)
	h.schedule(t, "u1", "berlin", "oslo")
	h.eventually(t, "berlin:1 oslo:1")
	h.answer(t, "berlin", "oslo")
	h.snapshot(t, "u1", 2)
	h.eventually(t, "berlin:2 oslo:1")
	h.stop()
	_, before, _ := h.releases.Get("web")

	h.run(t)
	h.put(t, subjects.PlacementSpecs.Key("other"), api.Spec{Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "other"}, UID: "u9", Body: json.RawMessage(`{}`)})
	h.put(t, subjects.Schedules.Key("other"), api.Schedule{UID: "u9", Bindings: []api.Binding{{Member: "oslo"}}})
	bustest.Eventually(t, func() error {
		if _, _, found := h.releases.Get("other"); !found {
			return errors.New("the new roller is not at work")
		}
		return nil
	})
	_, after, _ := h.releases.Get("web")
	require.Equal(t, before, after)
	h.answer(t, "berlin")
	h.eventually(t, "berlin:2 oslo:2")
}

func TestDeletion(t *testing.T) {
	h := start(t, "berlin", "oslo")
	h.placement(t, "u1", oneAtATime, false)
	h.snapshot(t, "u1", 1)
	h.schedule(t, "u1", "berlin", "oslo")
	h.eventually(t, "berlin:1 oslo:1")

	h.placement(t, "u1", oneAtATime, true)
	h.eventually(t, "berlin:- oslo:-")
	h.answer(t, "berlin")
	h.eventually(t, "oslo:-")

	// The door gives up waiting for oslo; the release goes on doing so.
	h.put(t, subjects.Schedules.Key("web"), nil)
	h.put(t, subjects.PlacementSpecs.Key("web"), nil)
	h.placement(t, "u2", oneAtATime, false)
	h.snapshot(t, "u2", 1)
	h.schedule(t, "u2", "berlin", "oslo")
	release := h.eventually(t, "berlin:1 oslo:-")
	require.Equal(t, "u2", release.Entries[0].UID)
	require.Equal(t, "u1", release.Entries[1].UID)
	h.answer(t, "oslo")
	release = h.eventually(t, "berlin:1 oslo:1")
	require.Equal(t, "u2", release.Entries[1].UID)

	h.placement(t, "u2", oneAtATime, true)
	h.eventually(t, "berlin:- oslo:-")
	h.put(t, subjects.PlacementSpecs.Key("web"), nil)
	h.eventually(t, "berlin:- oslo:-")
	h.answer(t, "berlin", "oslo")
	h.eventually(t, "none")
}

func TestMembersThatLeave(t *testing.T) {
	h := start(t, "berlin", "oslo", "paris")
	h.placement(t, "u1", oneAtATime, false)
	h.snapshot(t, "u1", 1)
	h.schedule(t, "u1", "berlin", "oslo", "paris")
	h.eventually(t, "berlin:1 oslo:1 paris:1")

	leaving := func(s *api.Spec) {
		now := metav1.NewTime(elsewhen.Now())
		s.Deleted, s.Body = &now, json.RawMessage(`{"spec":{"deleteOptions":{"whenLeaving":"Delete"}}}`)
	}
	h.put(t, subjects.MemberSpecs.Key("oslo"), memberSpec("oslo", leaving))
	release := h.eventually(t, "berlin:1 oslo:- paris:1")
	require.False(t, release.Entries[1].Abandon)
	h.answer(t, "oslo")
	h.eventually(t, "berlin:1 paris:1")

	h.put(t, subjects.MemberSpecs.Key("paris"), nil)
	h.eventually(t, "berlin:1")
}

func TestSilentMemberIsNotReady(t *testing.T) {
	h := start(t, "berlin", "oslo")
	h.placement(t, "u1", oneAtATime, false)
	h.snapshot(t, "u1", 1)
	h.schedule(t, "u1", "berlin", "oslo")
	h.eventually(t, "berlin:1 oslo:1")
	h.answer(t, "berlin", "oslo")
	h.put(t, subjects.Members.Key("oslo"), api.MemberRecord{Name: "oslo", UID: "m", State: api.MemberUnknown})
	h.snapshot(t, "u1", 2)
	release := h.eventually(t, "berlin:1 oslo:2")
	require.Equal(t, []api.Held{{Member: "berlin", Reason: "waits: 1 of 2 members is unavailable, maxUnavailable 1 allows 1; oslo (no heartbeat) is not ready"}}, release.Held)

	h.put(t, subjects.Members.Key("oslo"), api.MemberRecord{Name: "oslo", UID: "m", State: api.MemberReady})
	h.answer(t, "oslo")
	h.eventually(t, "berlin:2 oslo:2")
}

// What cannot be tracked is ready after unavailablePeriodSeconds: the room looks again by itself.
func TestTimeAloneGoesOn(t *testing.T) {
	h := start(t, "berlin", "oslo")
	h.placement(t, "u1", `{"spec":{"strategy":{"rollingUpdate":{"maxUnavailable":1,"unavailablePeriodSeconds":1}}}}`, false)
	h.snapshot(t, "u1", 1)
	h.schedule(t, "u1", "berlin", "oslo")
	release := h.eventually(t, "berlin:1 oslo:1")
	for _, e := range release.Entries {
		require.NoError(t, h.agents[e.Member].PutResult(bustest.Context(t), subjects.CommandPlacement, "web", api.PlacementResult{
			Member: e.Member, Placement: "web", UID: e.UID, Generation: e.Generation, Applied: "True",
			Available: "True", AvailableReason: "NotAllWorkAreAvailabilityTrackable", Changed: metav1.NewTime(elsewhen.Now()),
		}))
	}
	h.snapshot(t, "u1", 2)
	h.eventually(t, "berlin:2 oslo:1")
}

// The broker goes away and comes back in the middle of a rollout: it goes on.
func TestBrokerRestart(t *testing.T) {
	h := start(t, "berlin", "oslo")
	h.placement(t, "u1", oneAtATime, false)
	h.snapshot(t, "u1", 1)
	h.schedule(t, "u1", "berlin", "oslo")
	h.eventually(t, "berlin:1 oslo:1")
	h.answer(t, "berlin", "oslo")
	h.snapshot(t, "u1", 2)
	h.eventually(t, "berlin:2 oslo:1")
	h.server.Restart(t)
	bustest.Eventually(t, func() error {
		if !h.store.Synced() || !h.agents["berlin"].Connected() {
			return errors.New("not connected again")
		}
		return nil
	})
	h.answer(t, "berlin")
	h.eventually(t, "berlin:2 oslo:2")
}

// A rollout that is paused moves nobody, whoever leads; resumed, it goes on.
func TestAPauseMovesNobody(t *testing.T) {
	h := start(t, "berlin", "oslo")
	h.placement(t, "u1", `{}`, false)
	h.snapshot(t, "u1", 1)
	h.schedule(t, "u1", "berlin")
	h.eventually(t, "berlin:1")
	h.placement(t, "u1", `{"metadata":{"annotations":{"flotilla.io/paused":"{\"by\":\"anna\"}"}}}`, false)
	h.snapshot(t, "u1", 2)
	h.schedule(t, "u1", "berlin", "oslo")
	paused := func() {
		bustest.Eventually(t, func() error {
			release, _, _ := h.releases.Get("web")
			if len(release.Held) != 2 || release.Held[0].Reason != "waits: paused by anna" {
				return fmt.Errorf("held %v", release.Held)
			}
			return nil
		})
		require.Equal(t, "berlin:1", text(h.release()))
	}
	paused()
	h.stop()
	h.run(t)
	h.bystander(t)
	paused()
	h.placement(t, "u1", `{}`, false)
	h.eventually(t, "berlin:2 oslo:2")
}

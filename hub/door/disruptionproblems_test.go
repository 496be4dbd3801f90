package door_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// disruptions plays the disruptor: its record of a member.
func (h *house) disruptions(member string, change func(r *api.DisruptionRecord)) {
	h.t.Helper()
	record := api.DisruptionRecord{Header: api.NewHeader(api.KindDisruptionRecord), Member: member}
	change(&record)
	write(h, subjects.Disruptions, member, record)
}

func ago(d time.Duration) metav1.Time {
	return metav1.NewTime(elsewhen.Now().Add(-d).Truncate(time.Second))
}

// The status counts nodes, pools and disruptions, and says which disruptions failed, which drains hang, and
// where nothing is decided.
func TestStatusTellsOfNodes(t *testing.T) {
	h := open(t, door.Options{})
	require.Empty(t, must[api.FleetStatus](h, api.VerbStatus, nil).Disruptions)
	uid := h.apply(general, berlin)[0].UID
	h.poolRecord("general", uid, false, api.PoolMember{Member: "berlin", Nodes: 5}, api.PoolMember{Member: "oslo", Nodes: 2}, api.PoolMember{Member: "rome", Nodes: 1})
	until := ago(-time.Minute)
	at := until.UTC().Format(time.RFC3339)
	draining := func(id, node string, since time.Duration) api.Disruption {
		return api.Disruption{ID: id, Phase: api.PhaseDraining, Nodes: []string{node}, Decided: ago(since), Message: "PodDisruptionBudget web/web lets no pod go"}
	}
	h.disruptions("berlin", func(r *api.DisruptionRecord) {
		r.Disruptions = []api.Disruption{
			{ID: "single-1-a", Phase: api.PhaseAborted, Nodes: []string{"b-1"}, Message: "no capacity"},
			{ID: "old", Phase: api.PhaseAborted, Nodes: []string{"b-9"}, Ended: ago(time.Hour)},
			{ID: "single-3-c", Phase: api.PhaseLaunching, Nodes: []string{"b-4"}, Decided: ago(time.Hour)},
			draining("single-2-b", "b-2", 6*time.Minute), draining("single-4-d", "b-5", 4*time.Minute), draining("single-5-e", "b-6", time.Hour),
		}
		r.Disruptions[3].Nodes = []string{"b-2", "b-3"}
		r.Backoffs = []api.NodeBackoff{{Node: "b-1", Failures: 2, Until: until, Why: "no capacity"}, {Node: "b-8", Failures: 1, Until: ago(time.Second), Why: "over"}}
		r.Stale, r.StaleSince = "replacement single-3-c-0 is on its way", ago(time.Hour)
	})
	require.Contains(t, h.problems(), "node/berlin/b-6 DrainStuck")
	require.NoError(t, h.server.Agent(t, "berlin").PutResult(bustest.Context(t), subjects.CommandDisruption, "single-5-e", api.DisruptionResult{
		Member: "berlin", ID: "single-5-e", Phase: api.PhaseDraining, Changed: ago(time.Minute),
	}))
	bustest.Eventually(t, func() error {
		if _, stuck := h.problems()["node/berlin/b-6 DrainStuck"]; stuck {
			return errors.New("the hub has not heard that the drain goes on")
		}
		return nil
	})

	status := must[api.FleetStatus](h, api.VerbStatus, nil)
	require.Equal(t, []int{1, 8}, []int{status.NodePools, status.Nodes})
	require.Equal(t, map[string]int{api.PhaseLaunching: 1, api.PhaseDraining: 3, api.PhaseAborted: 1}, status.Disruptions)
	problems := h.problems()
	failed := problems["node/berlin/b-1 DisruptionFailed"]
	require.Equal(t, "its disruption failed 2 times in a row, and it is left alone until "+at+": no capacity", failed.Message)
	require.Equal(t, "flotilla events node/berlin/b-1", failed.Next)
	require.Equal(t, until.Add(-2*time.Minute).UTC(), failed.Since.UTC())
	stuck := problems["node/berlin/b-2 DrainStuck"]
	require.Equal(t, "disruption single-2-b of it and 1 more node drains without progress: PodDisruptionBudget web/web lets no pod go", stuck.Message)
	require.Equal(t, "flotilla describe disruption/single-2-b -m berlin", stuck.Next)
	for _, none := range []string{"node/berlin/b-1 Undoing", "node/berlin/b-4 DrainStuck", "node/berlin/b-5 DrainStuck", "node/berlin/b-6 DrainStuck", "member/berlin NothingDecided"} {
		require.NotContains(t, problems, none)
	}
}

// Back-offs of several nodes are one problem; an abort that outlasts its back-off is one of its own.
func TestStatusGathersFailedDisruptions(t *testing.T) {
	h := open(t, door.Options{})
	h.disruptions("berlin", func(r *api.DisruptionRecord) {
		r.Disruptions = []api.Disruption{{ID: "multi-1-a", Phase: api.PhaseAborted, Nodes: []string{"b-7"}, Message: "no capacity", Decided: ago(time.Hour)}}
		r.Backoffs = []api.NodeBackoff{{Node: "b-1", Failures: 1, Until: ago(-30 * time.Second), Why: "first"}, {Node: "b-2", Failures: 1, Until: ago(-40 * time.Second), Why: "second"}}
	})
	problems := h.problems()
	failed := problems["member/berlin DisruptionFailed"]
	require.Regexp(t, "^2 nodes are left alone because their disruptions failed, b-1, b-2: the last of them, b-2, until .*Z: second$", failed.Message)
	require.Equal(t, "flotilla get disruptions -m berlin", failed.Next)
	undoing := problems["node/berlin/b-7 Undoing"]
	require.Equal(t, "disruption multi-1-a was given up, and the agent has not taken off its taint yet: no capacity", undoing.Message)
}

// Members that nothing is decided about for one reason are one problem, unless the reason is no problem, or is
// one of its own already.
func TestStatusSaysWhereNothingIsDecided(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(general)[0].UID
	var pooled []api.PoolMember
	hold := func(member, why string, since time.Duration) {
		pooled = append(pooled, api.PoolMember{Member: member, Nodes: 1})
		h.disruptions(member, func(r *api.DisruptionRecord) { r.Stale, r.StaleSince = why, ago(since) })
	}
	hold("berlin", "no inventory", time.Hour)
	h.poolRecord("general", uid, false, pooled...)
	alone := h.problems()["member/berlin NothingDecided"]
	require.Equal(t, []string{"nothing is decided about its nodes: no inventory", "flotilla plan nodes -m berlin"}, []string{alone.Message, alone.Next})

	hold("oslo", "no inventory", 2*time.Hour)
	hold("paris", "just now", time.Second)
	hold("rome", "the member is Unknown", time.Hour)
	record := beat(elsewhen.Now(), "rome", nil)
	record.UID, record.State = "u", api.MemberUnknown
	write(h, subjects.Members, "rome", record)
	hold("tampa", "update run web-1 holds the member", time.Hour)
	write(h, subjects.Locks, "tampa", api.MemberLock{Header: api.NewHeader(api.KindLock), Member: "tampa", Holder: "run/u1", Owner: "run web-1"})
	h.poolRecord("general", uid, false, pooled...)
	h.disruptions("vienna", func(r *api.DisruptionRecord) { r.Stale, r.StaleSince = "it has no node of a pool", ago(time.Hour) })

	var found []string
	for _, p := range must[api.FleetStatus](h, api.VerbStatus, nil).Problems {
		if p.Reason == "NothingDecided" {
			found = append(found, p.Object+": "+p.Message)
			require.InDelta(t, 2*time.Hour, elsewhen.Since(p.Since.Time), float64(time.Minute))
		}
	}
	require.Equal(t, []string{"fleet: nothing is decided about the nodes of berlin, oslo: no inventory"}, found)
}

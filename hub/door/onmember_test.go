package door_test

import (
	"fmt"
	"reflect"
	"strings"
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

// What a member holds is what the status of each placement says of it; runs, evictions and the lock that name it stand beside.
func TestWhatIsOnAMember(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(shopNamespace, web)[1].UID
	for _, name := range []string{"berlin", "oslo", "paris"} {
		h.member(name, "g", "1.30.0")
	}
	write(h, subjects.Releases, "web", api.Release{Header: api.NewHeader(api.KindRelease), Placement: "web", Entries: []api.ReleaseEntry{
		{Member: "berlin", UID: uid, Snapshot: 1, Generation: 1}, {Member: "oslo", UID: uid, Snapshot: 1, Generation: 2, Withdrawn: true},
	}})
	write(h, subjects.Schedules, "web", api.Schedule{
		Header: api.NewHeader(api.KindSchedule), Placement: "web", UID: uid, Bindings: []api.Binding{{Member: "berlin"}, {Member: "paris"}},
	})
	began := metav1.NewTime(elsewhen.Now().Truncate(time.Second))
	for i, run := range []string{"spring", "autumn"} {
		write(h, subjects.Runs, run, api.UpdateRunStatus{
			Header: api.NewHeader(api.KindRunStatus), Run: run, UID: run, Status: api.UpdateStatus{StartTime: metav1.NewTime(began.Add(time.Duration(i) * time.Hour))},
			Stages: []api.StageStatus{{Name: "one", Groups: []api.GroupStatus{{Members: []api.MemberUpdateStatus{
				{Name: "berlin", Status: api.UpdateStatus{State: api.StateRunning, StartTime: began}, Message: "drains"}, {Name: "oslo", Status: api.UpdateStatus{State: api.StateCompleted, StartTime: began, CompletedTime: began}},
			}}}}},
		})
	}
	write(h, subjects.Locks, "berlin", api.MemberLock{Header: api.NewHeader(api.KindLock), Member: "berlin", Owner: "run spring", Since: began})
	evicted := h.apply(webOff, strings.Replace(webOff, "web-off", "later", 1))
	write(h, subjects.Evictions, "web-off", api.EvictionRecord{Eviction: "web-off", UID: evicted[0].UID, PlacementEvictionStatus: api.PlacementEvictionStatus{
		Conditions: []metav1.Condition{{Type: api.EvictionValid, Status: metav1.ConditionTrue}, {Type: api.EvictionExecuted, Status: metav1.ConditionFalse, Message: "blocked"}},
	}})

	for name, want := range map[string][]string{
		"berlin": {"web Applying snapshot 1", "run autumn one Running drains", "run spring one Running drains", "eviction later Pending ", "eviction web-off Refused blocked", "held by run spring"},
		"oslo":   {"web Withdrawing snapshot ", "run autumn one Completed ", "run spring one Completed "},
		"paris":  {"web Pending snapshot "},
	} {
		require.ElementsMatch(t, want, h.onMember(name), name)
	}
	// It is the same as the placement says. Of what no status is stored Since is when the hub answers, in whole seconds.
	var placement api.Placement
	bustest.Eventually(t, func() error {
		placement = must[api.Placement](h, api.VerbGet, api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: "web"})
		for _, entry := range placement.Status.PlacementStatuses {
			on := must[api.OnMember](h, api.VerbMember, api.MemberRequest{Name: entry.ClusterName}).Placements[0]
			want, found := []any{entry.State, entry.Since, entry.Message, entry.ObservedResourceIndex}, []any{on.State, on.Since, on.Message, on.Snapshot}
			if !reflect.DeepEqual(want, found) {
				return fmt.Errorf("the placement says %v of %s, the member %v", want, entry.ClusterName, found)
			}
		}
		return nil
	})
	brief := must[api.Placement](h, api.VerbGet, api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: "web", Brief: true})
	require.Empty(t, brief.Status.PlacementStatuses)
	require.Equal(t, placement.Status.Counts, brief.Status.Counts)

	_, failure := ask[api.OnMember](h, api.VerbMember, api.MemberRequest{Name: "nobody"})
	require.Equal(t, api.CodeNotFound, failure.Code)
	require.Contains(t, failure.Message, "MemberCluster/nobody")
}

// onMember are the lines of what is on a member.
func (h *house) onMember(name string) (lines []string) {
	h.t.Helper()
	on := must[api.OnMember](h, api.VerbMember, api.MemberRequest{Name: name})
	for _, p := range on.Placements {
		lines = append(lines, fmt.Sprint(p.Placement, " ", p.State, " snapshot ", p.Snapshot))
	}
	for _, r := range on.Runs {
		lines = append(lines, fmt.Sprint("run ", r.Run, " ", r.Stage, " ", r.State, " ", r.Message))
	}
	require.Equal(h.t, len(on.Runs), on.RunsTotal)
	for _, e := range on.Evictions {
		lines = append(lines, fmt.Sprint("eviction ", e.Name, " ", e.State, " ", e.Message))
	}
	if on.Lock != nil {
		lines = append(lines, "held by "+on.Lock.Holder)
	}
	return lines
}

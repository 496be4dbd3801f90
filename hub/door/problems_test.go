package door_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

func (h *house) problems() map[string]api.Problem {
	h.t.Helper()
	found := map[string]api.Problem{}
	for _, p := range must[api.FleetStatus](h, api.VerbStatus, nil).Problems {
		found[p.Object+" "+p.Reason] = p
	}
	return found
}

func TestSelectorsThatSelectNothingAreSaidWhereverThePlacementIsShown(t *testing.T) {
	const said = "resourceSelectors[0] (Namespace shop) selects nothing on the hub"
	const hoped = "spec.policy.numberOfClusters: 2 are wanted, and the fleet has no member yet"
	h := open(t, door.Options{})
	answer := must[plan.Answer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, web)})
	require.Equal(t, []string{"ClusterResourcePlacement/web: " + said, "ClusterResourcePlacement/web: " + hoped}, answer.Notes)
	applied := h.apply(web)[0]
	require.Equal(t, []string{said, hoped}, applied.Notes)
	require.Equal(t, said, h.problems()["placement/web NothingSelected"].Message)
	write(h, subjects.Schedules, "web", api.Schedule{
		Header: api.NewHeader(api.KindSchedule), Placement: "web", UID: applied.UID, Generation: 1, Fulfilled: true, Message: "found all cluster",
	})
	shown := must[api.Placement](h, api.VerbGet, api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: "web"})
	require.Equal(t, "found all cluster; there is nothing to place: "+said, shown.Status.Conditions[0].Message)

	require.Empty(t, h.apply(shopNamespace)[0].Notes)
	require.NotContains(t, h.problems(), "placement/web NothingSelected")
}

func TestAWithdrawalIsAProblemUntilItIsConfirmed(t *testing.T) {
	h := open(t, door.Options{})
	entry := api.ReleaseEntry{Member: "berlin", UID: "u", Withdrawn: true, Since: metav1.NewTime(elsewhen.Now().Add(-time.Hour))}
	release := api.Release{Header: api.NewHeader(api.KindRelease), Placement: "gone", Entries: []api.ReleaseEntry{entry}}
	write(h, subjects.Releases, "gone", release)
	require.Equal(t, "deleted, withdrawn, and not confirmed yet by berlin", h.problems()["placement/gone Unconfirmed"].Message)
	release.Entries[0].Since = metav1.NewTime(elsewhen.Now())
	write(h, subjects.Releases, "gone", release)
	require.NotContains(t, h.problems(), "placement/gone Unconfirmed", "it is on its way")
}

// A member whose agent registered no key is given nothing, which is said until it has one.
func TestAMemberWithoutAKeyIsAProblem(t *testing.T) {
	h := open(t, door.Options{})
	record := beat(elsewhen.Now(), "berlin", nil)
	record.UID, record.State = h.apply(berlin)[0].UID, api.MemberReady
	write(h, subjects.Members, "berlin", record)
	problem := h.problems()["member/berlin NoKey"]
	require.Equal(t, "flotilla member enrol berlin > berlin.token", problem.Next)
	require.Equal(t, api.KeylessMessage, problem.Message)
	h.enrolled("berlin")
	require.NotContains(t, h.problems(), "member/berlin NoKey")
}

// What a member's API server does not permit its agent is a problem of a member that is Ready otherwise, and shown with it.
func TestAMissingPermissionIsAProblem(t *testing.T) {
	h := open(t, door.Options{})
	record := beat(elsewhen.Now(), "berlin", nil)
	record.UID, record.State = h.apply(berlin)[0].UID, api.MemberReady
	record.Forbidden = []string{"list secrets in namespace shop"}
	write(h, subjects.Members, "berlin", record)
	problem := h.problems()["member/berlin PermissionMissing"]
	require.Equal(t, "its API server does not permit its agent to list secrets in namespace shop; give its role these verbs", problem.Message)
	require.Equal(t, "flotilla describe member berlin", problem.Next)
	shown := must[api.MemberCluster](h, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: "berlin"})
	require.Equal(t, record.Forbidden, shown.Status.Forbidden)
	record.Forbidden = nil
	write(h, subjects.Members, "berlin", record)
	require.NotContains(t, h.problems(), "member/berlin PermissionMissing")
}

// A rollout that stands still comes before a PickN that lacks members, and neither hides the other.
func TestARolloutThatStandsStillComesFirst(t *testing.T) {
	h := open(t, door.Options{Grace: time.Nanosecond})
	long := metav1.NewTime(elsewhen.Now().Add(-time.Hour).Truncate(time.Second))
	two := int32(2)
	for _, name := range []string{"a-lacks", "web"} {
		applied := h.apply(strings.Replace(web, "{name: web}", "{name: "+name+"}", 1))[0]
		lacks := api.Schedule{
			Header: api.NewHeader(api.KindSchedule), Placement: name, UID: applied.UID, Generation: 1, Want: &two, Message: "found 1 cluster(s)",
			Bindings: []api.Binding{{Member: "berlin", Reason: "picked"}},
		}
		write(h, subjects.Schedules, name, lacks)
		if name == "web" {
			write(h, subjects.Releases, name, api.Release{Header: api.NewHeader(api.KindRelease), Placement: name, Step: 1, Entries: []api.ReleaseEntry{
				{Member: "berlin", UID: applied.UID, Snapshot: 1, Generation: 1, Since: long},
			}})
			write(h, subjects.Statuses, name, api.PlacementStatus{
				Header: api.NewHeader(api.KindPlacementStatus), Placement: name, UID: applied.UID,
				Mark: &api.RolloutMark{Snapshot: 1, Left: 1, Since: long},
			})
		}
	}
	var got []string
	for _, p := range must[api.FleetStatus](h, api.VerbStatus, nil).Problems {
		got = append(got, p.Object+" "+p.Reason)
	}
	require.Contains(t, got, "placement/web ProgressDeadlineExceeded")
	require.Contains(t, got, "placement/web SchedulingPolicyUnfulfilled")
	require.Less(t, slices.Index(got, "placement/web ProgressDeadlineExceeded"), slices.Index(got, "placement/a-lacks SchedulingPolicyUnfulfilled"), got)
}

// A stream that somebody made otherwise keeps its settings, so the status says what to look at, until they
// are what they should be.
func TestStreamsThatDifferAreAProblem(t *testing.T) {
	h := closed(t)
	name := h.store.Conn.Fleet.Stream(subjects.Commands)
	stream, err := h.store.Conn.JS.Stream(t.Context(), name)
	require.NoError(t, err)
	made := stream.CachedInfo().Config
	edited := made
	edited.MaxBytes = 5 << 20
	_, err = h.store.Conn.JS.UpdateStream(t.Context(), edited)
	require.NoError(t, err)
	h.store.Layout.Differences = []streams.Difference{{Stream: name, Field: "max_bytes"}}
	h.run(door.Options{})
	problem := h.problems()["stream/"+name+" StreamDiffers"]
	require.Equal(t, "stream "+name+": max_bytes is 5242880, this hub would make it 2147483648: nats stream edit "+name+" --max-bytes=2147483648", problem.Message)
	require.Equal(t, "nats stream edit "+name+" --max-bytes=2147483648", problem.Next)
	require.False(t, problem.Since.IsZero())

	_, err = h.store.Conn.JS.UpdateStream(t.Context(), made)
	require.NoError(t, err)
	require.NotContains(t, h.problems(), "stream/"+name+" StreamDiffers")
}

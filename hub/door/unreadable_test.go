package door_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// spoil makes a record one that cannot be decoded, its uid included.
func (h *house) spoil(key string) {
	h.t.Helper()
	_, err := h.store.Writer.Write(bustest.Context(h.t), store.Put(key, json.RawMessage(`{"kind":"Spec","uid":{},"entries":7,"index":"x"}`), h.store.State.Revision(key)))
	require.NoError(h.t, err)
}

// spoilBody leaves the record readable and makes its body one that is no placement.
func (h *house) spoilBody(name string) {
	spec, _, found := store.TableOf[api.Spec](h.store.State, subjects.PlacementSpecs).Get(name)
	require.True(h.t, found)
	spec.Body = json.RawMessage(`{"spec":7}`)
	write(h, subjects.PlacementSpecs, name, spec)
}

func (h *house) specOf(name string) api.Spec {
	spec, _, found := store.TableOf[api.Spec](h.store.State, subjects.PlacementSpecs).Get(name)
	require.True(h.t, found)
	return spec
}

// problem waits until the fleet's status tells that an object cannot be read.
func (h *house) problem(object string) {
	h.t.Helper()
	problems := must[api.FleetStatus](h, api.VerbStatus, struct{}{}).Problems
	require.True(h.t, slices.ContainsFunc(problems, func(p api.Problem) bool {
		return p.Object == object && p.Reason == "Unreadable" && strings.HasPrefix("flotilla events "+object, p.Next) && strings.Contains(p.Message, "apply it again or delete it")
	}), "%s: %+v", object, problems)
}

// TestAPlacementThatCannotBeReadHoldsNobodyUp breaks one of two placements, wholly or in its body: a
// door opens on it, others are applied, and applying it again puts it right as the object it was.
func TestAPlacementThatCannotBeReadHoldsNobodyUp(t *testing.T) {
	for name, spoil := range map[string]func(*house){
		"record": func(h *house) { h.spoil(subjects.PlacementSpecs.Key("web")) },
		"body":   func(h *house) { h.spoilBody("web") },
	} {
		t.Run(name, func(t *testing.T) {
			h := closed(t)
			stop := h.run(door.Options{})
			uid := h.apply(shopNamespace, settings, web, strings.Replace(web, "name: web", "name: other", 1))[2].UID
			h.release("web", uid, 1, "berlin")
			stop()
			spoil(h)
			h.run(door.Options{})
			h.problem("placement/web")
			before := len(h.indexes("other"))
			h.apply(config("settings", "other"))
			require.Len(t, h.indexes("other"), before+1)
			require.Len(t, h.indexes("web"), 1, "nothing is decided about it")
			bustest.Eventually(t, func() error {
				events := must[api.EventsResponse](h, api.VerbEvents, api.EventsRequest{Object: "placement/web"}).Events
				if !slices.ContainsFunc(events, func(e api.Audit) bool { return e.Reason == "Unreadable" }) {
					return fmt.Errorf("no event tells of it: %+v", events)
				}
				return nil
			})

			names, _ := h.list(api.ListRequest{Kind: api.KindClusterResourcePlacement})
			require.Contains(t, names, "/other")
			shown, failure := ask[map[string]any](h, api.VerbGet, api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: "web"})
			if failure != nil {
				require.Contains(t, failure.Message, "cannot be read")
				require.Equal(t, "flotilla events placement/web", failure.Next)
			} else {
				require.Contains(t, fmt.Sprint(shown["status"]), "Unreadable")
			}
			result := h.apply(web)[0]
			require.Equal(t, api.ActionConfigured, result.Action)
			require.Equal(t, uid, result.UID, "another uid would withdraw what members run")
			require.Len(t, h.indexes("web"), 2)
		})
	}
}

// TestAPlacementThatCannotBeReadCanBeDeleted leaves what it placed on members, for nobody knows what was
// to become of it.
func TestAPlacementThatCannotBeReadCanBeDeleted(t *testing.T) {
	for name, spoil := range map[string]func(*house){
		"record": func(h *house) { h.spoil(subjects.PlacementSpecs.Key("web")) },
		"body":   func(h *house) { h.spoilBody("web") },
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, door.Options{})
			uid := h.apply(shopNamespace, settings, web)[2].UID
			h.release("web", uid, 1, "berlin")
			spoil(h)
			result := h.delete(api.KindClusterResourcePlacement, "", "web")
			require.Equal(t, api.ActionDeleting, result.Action)
			require.Contains(t, result.Notes[0], "stays on the members")
			spec := h.specOf("web")
			require.Equal(t, uid, spec.UID)
			p, err := api.SpecOf[api.Placement](&spec)
			require.NoError(t, err)
			require.Equal(t, api.PropagationAbandon, p.Spec.Strategy.DeleteStrategy.PropagationPolicy)
			h.release("web", uid, 1)
			h.gone(api.KindClusterResourcePlacement, "", "web")
		})
	}
}

// TestContentThatCannotBeReadIsNotLeftOut cuts no snapshot that would lack it.
func TestContentThatCannotBeReadIsNotLeftOut(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	h.apply(shopNamespace, settings, web)
	stop()
	h.spoil(subjects.ObjectSpecs.Key("|ConfigMap|shop|settings"))
	h.run(door.Options{})
	result := h.apply(config("more", "1"))[0]
	require.Contains(t, result.Notes[0], "settings")
	require.Len(t, h.indexes("web"), 1)
	h.problem("object/|ConfigMap|shop|settings")

	require.Equal(t, api.ActionCreated, h.apply(settings)[0].Action)
	require.Len(t, h.indexes("web"), 2)
	require.Len(t, h.snapshots("web")[1].Manifests, 3, "namespace, settings and more")
}

// TestABrokenSnapshotIsReplaced by one that has its own number.
func TestABrokenSnapshotIsReplaced(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	h.apply(shopNamespace, settings, web)
	h.apply(config("settings", "2"))
	require.Equal(t, []int64{1, 2}, h.indexes("web"))
	stop()
	h.spoil(subjects.Snapshots.Key(subjects.SnapshotName("web", 2)))
	h.run(door.Options{})
	h.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: tea}}`) // who writes waits until it is
	require.Equal(t, []int64{1, 3}, h.indexes("web"))
}

// TestSnapshotsStayWhileAReleaseCannotBeRead though there are more than the history holds.
func TestSnapshotsStayWhileAReleaseCannotBeRead(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(shopNamespace, settings, strings.Replace(web, "\nspec:\n", "\nspec:\n  revisionHistoryLimit: 1\n", 1))[2].UID
	h.release("web", uid, 1, "berlin")
	h.spoil(subjects.Releases.Key("web"))
	h.apply(config("settings", "2"))
	h.apply(config("settings", "3"))
	require.Equal(t, []int64{1, 2, 3}, h.indexes("web"))

	key := subjects.Releases.Key("web")
	_, err := h.store.Writer.Write(bustest.Context(t), store.Delete(key, h.store.State.Revision(key)))
	require.NoError(t, err)
	h.apply(config("settings", "4"))
	require.Equal(t, []int64{4}, h.indexes("web"))
}

// TestASpecStaysUntilAllIsWithdrawn outlives the timeout: once the spec is gone nobody knows whether
// objects are to be deleted or left where they are. The timeout counts from the last withdrawal.
func TestASpecStaysUntilAllIsWithdrawn(t *testing.T) {
	h := open(t, door.Options{DeleteTimeout: 300 * time.Millisecond})
	h.apply(berlin)
	uid := h.apply(shopNamespace, web)[1].UID
	h.release("web", uid, 1, "berlin", "paris")
	h.delete(api.KindClusterResourcePlacement, "", "web")
	h.delete(api.KindMemberCluster, "", "berlin")
	long := elsewhen.Now().Add(900 * time.Millisecond)
	bustest.Eventually(t, func() error {
		h.get(api.KindClusterResourcePlacement, "", "web")
		h.get(api.KindMemberCluster, "", "berlin")
		if elsewhen.Now().Before(long) {
			return fmt.Errorf("it is not three timeouts later yet")
		}
		return nil
	})
	h.spoil(subjects.Releases.Key("web"))
	h.withdraw("web", uid, "berlin", "paris")
	h.gone(api.KindClusterResourcePlacement, "", "web")
	h.gone(api.KindMemberCluster, "", "berlin")
}

// withdraw plays the roller: nobody confirmed yet.
func (h *house) withdraw(placement, uid string, members ...string) {
	h.t.Helper()
	release := api.Release{Header: api.NewHeader(api.KindRelease), Placement: placement}
	for _, member := range members {
		release.Entries = append(release.Entries, api.ReleaseEntry{Member: member, UID: uid, Generation: 2, Withdrawn: true, Since: metav1.NewTime(elsewhen.Now())})
	}
	key := subjects.Releases.Key(placement)
	_, err := h.store.Writer.Write(bustest.Context(h.t), store.Put(key, release, h.store.State.Revision(key)))
	require.NoError(h.t, err)
}

// A snapshot that cannot be read is told of under the name of its placement, which is what can be asked about.
func TestABrokenSnapshotIsAProblemOfItsPlacement(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, settings, web)
	h.spoil(subjects.Snapshots.Key(subjects.SnapshotName("web", 1)))
	problem := h.problems()["placement/web Unreadable"]
	require.Contains(t, problem.Message, "its snapshot 1 cannot be decoded")
	require.Equal(t, "flotilla events placement/web", problem.Next)
}

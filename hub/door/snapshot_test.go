package door_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/hub/door"
	"flotilla/subjects"
)

func config(name, value string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: shop}, data: {a: "%s"}}`, name, value)
}

func TestAPlacementHasASnapshotFromTheStart(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, settings)
	uid := h.apply(web)[0].UID

	snapshots := h.snapshots("web")
	require.Len(t, snapshots, 1)
	first := snapshots[0]
	require.Equal(t, int64(1), first.Index)
	require.Equal(t, uid, first.UID)
	require.Equal(t, []string{"Namespace/shop", "ConfigMap/shop/settings"}, []string{first.Manifests[0].String(), first.Manifests[1].String()})

	ctx := bustest.Context(t)
	work, err := h.store.Content.Work(ctx, first.Work)
	require.NoError(t, err)
	require.Len(t, work.Manifests, 2)
	require.Equal(t, bustest.PutWork(t, h.store, first.Manifests), first.Work)
	for i, manifest := range first.Manifests {
		require.Equal(t, api.WorkManifest{Manifest: manifest, Piece: h.store.Keys.Piece(manifest.Digest), Carried: api.Carried{Frame: i}}, work.Manifests[i])
		_, err := h.store.Content.Get(ctx, manifest.Digest)
		require.NoError(t, err, "every body a snapshot names is there")
	}
}

func TestAnEmptyPlacementHasASnapshotToo(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(web)
	require.Equal(t, []int64{1}, h.indexes("web"))
	require.Empty(t, h.snapshots("web")[0].Manifests)
	require.Empty(t, h.snapshots("web")[0].Error)
}

func TestSnapshotsFollowContentAndNothingElse(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, settings, web)
	other := strings.Replace(strings.Replace(web, "name: web", "name: other", 1), "name: shop}]", "name: elsewhere}]", 1)
	h.apply(other)

	h.apply(settings, web)
	h.apply(strings.Replace(web, "numberOfClusters: 2", "numberOfClusters: 3", 1))
	require.Equal(t, []int64{1}, h.indexes("web"), "nothing selected changed")

	h.apply(config("settings", "2"))
	require.Equal(t, []int64{1, 2}, h.indexes("web"))
	require.Equal(t, []int64{1}, h.indexes("other"), "it selects something else")

	h.apply(config("settings", "1"))
	require.Equal(t, []int64{1, 2, 3}, h.indexes("web"), "content that returns is a new snapshot")
	require.Equal(t, h.snapshots("web")[0].Work, h.snapshots("web")[2].Work, "and the same work")

	h.apply(strings.Replace(web, "name: shop}]", "name: shop, selectionScope: NamespaceOnly}]", 1))
	require.Len(t, h.snapshots("web")[3].Manifests, 1, "other selectors select otherwise")
}

func TestSeveralChangesInOneApplyAreOneSnapshot(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(web, shopNamespace, config("a", "1"), config("b", "1"))
	require.Equal(t, []int64{1}, h.indexes("web"))
	require.Len(t, h.snapshots("web")[0].Manifests, 3)
	h.apply(config("a", "2"), config("b", "2"), config("c", "2"))
	require.Equal(t, []int64{1, 2}, h.indexes("web"))
	require.Len(t, h.snapshots("web")[1].Manifests, 4)
}

func TestServerSetFieldsMakeNoSnapshot(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, settings, web)
	results := h.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop, uid: u, generation: 7,
	  creationTimestamp: "2026-01-01T00:00:00Z", managedFields: []}, data: {a: "1"}, status: {x: 1}}`)
	require.Equal(t, api.ActionUnchanged, results[0].Action)
	require.Len(t, results[0].Notes, 1, "one note, however much was ignored")
	require.Contains(t, results[0].Notes[0], "metadata.uid")
	require.Equal(t, []int64{1}, h.indexes("web"))
}

func TestSnapshotsBeyondTheHistoryAreDeleted(t *testing.T) {
	h := open(t, door.Options{})
	limited := strings.Replace(web, "spec:", "spec:\n  revisionHistoryLimit: 2", 1)
	uid := h.apply(shopNamespace, config("a", "0"), limited)[2].UID
	for i := range 3 {
		h.apply(config("a", fmt.Sprint(i+1)))
	}
	require.Equal(t, []int64{3, 4}, h.indexes("web"))

	h.release("web", uid, 3, "berlin")
	h.apply(config("a", "9"))
	h.apply(config("a", "10"))
	require.Equal(t, []int64{3, 5, 6}, h.indexes("web"), "what a member still runs is kept")
}

func TestSelectorsThatCannotBeFollowedAreTold(t *testing.T) {
	h := open(t, door.Options{})
	twice := strings.Replace(web, "name: shop}]", `name: shop}, {group: "", version: v1, kind: Namespace, labelSelector: {matchLabels: {x: z}}}]`, 1)
	h.apply(strings.Replace(shopNamespace, "name: shop", "name: shop, labels: {x: z}", 1), twice)
	snapshot := h.snapshots("web")[0]
	require.Empty(t, snapshot.Manifests)
	require.Contains(t, snapshot.Error, "spec.resourceSelectors[1]: found Namespace/shop, which spec.resourceSelectors[0] selects too")

	h.apply(shopNamespace)
	require.Empty(t, h.snapshots("web")[1].Error, "mended by changing what is selected")
	require.Len(t, h.snapshots("web")[1].Manifests, 1)
}

func TestAResourcePlacementSelectsInItsNamespace(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(settings, `{apiVersion: placement.kubernetes-fleet.io/v1beta1, kind: ResourcePlacement, metadata: {name: rp, namespace: shop},
	  spec: {resourceSelectors: [{group: "", version: v1, kind: ConfigMap}]}}`)
	require.Equal(t, []int64{1}, h.indexes("shop/rp"))
	require.Len(t, h.snapshots("shop/rp")[0].Manifests, 1)
	h.get(api.KindResourcePlacement, "shop", "rp")
	h.missing(api.KindResourcePlacement, "", "rp")
}

// A leader that dies between the batches of a large apply leaves specs without snapshots.
func TestANewLeaderCutsWhatIsMissing(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	h.apply(shopNamespace, settings, web)
	stop()
	erase[api.Snapshot](h, subjects.Snapshots, subjects.SnapshotName("web", 1))
	h.run(door.Options{})
	bustest.Eventually(t, func() error {
		if found := len(h.snapshots("web")); found != 1 {
			return fmt.Errorf("%d snapshots", found)
		}
		return nil
	})
	require.Len(t, h.snapshots("web")[0].Manifests, 2)
}

func TestContentIsStoredOnce(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, settings)
	object := store.TableOf[api.Spec](h.store.State, subjects.ObjectSpecs)
	head, _, found := object.Get(content.Key(api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}))
	require.True(t, found)
	require.Empty(t, head.Body, "the record is a head: the body lies in content")
	body, err := h.store.Content.Get(bustest.Context(t), head.Digest)
	require.NoError(t, err)
	require.Len(t, body, head.Size)
}

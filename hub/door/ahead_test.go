package door_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/hub/door"
	"flotilla/subjects"
)

// moves is how many bytes of bodies something has read, and sealed, for bundles.
func (h *house) moves(do func()) (read, sealed int) {
	h.t.Helper()
	readBefore, sealedBefore := h.store.Content.Moved()
	do()
	readAfter, sealedAfter := h.store.Content.Moved()
	return int(readAfter - readBefore), int(sealedAfter - sealedBefore)
}

// crowd are placements that select a large namespace and something of their own, so that no two select alike.
func (h *house) crowd(placements, objects, bytes int) {
	h.t.Helper()
	h.apply(shopNamespace)
	for i := range objects {
		h.apply(config(fmt.Sprintf("c%02d", i), bustest.Noise(bytes*3/4)))
	}
	for i := range placements {
		h.apply(fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: own%d}}`, i), crowdOf(i))
	}
}

func crowdOf(i int) string {
	return fmt.Sprintf(`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacement, metadata: {name: p%d}, spec: {
	  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}, {group: "", version: v1, kind: Namespace, name: own%d}], policy: {placementType: PickAll}}}`, i, i)
}

// What one object costs that changes is about that object, however much the placements hold that select it: what is stored is neither
// read nor sealed again, also by a hub that has just begun to lead (H55).
func TestAChangeCostsWhatChanged(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	const placements, objects, bytes = 3, 14, 600 << 10
	h.crowd(placements, objects, bytes)
	require.NotEmpty(t, h.snapshots("p0")[0].Packs, "it does not fit into one message")

	large := bustest.Noise(bytes * 3 / 4)
	read, sealed := h.moves(func() { h.apply(config("c03", large)) })
	require.Zero(t, read)
	require.Less(t, sealed, 2*bytes, "once for all placements")
	for i := range 25 {
		read, sealed = h.moves(func() { h.apply(config("c05", fmt.Sprint("small ", i))) })
		require.Zero(t, read)
		require.Less(t, sealed, placements*1<<10)
	}
	read, sealed = h.moves(func() { h.apply(config("c06", "small")) })
	require.Less(t, read, placements*1<<10, "what changed before lies in no bundle that is built upon")
	require.Less(t, sealed, placements*1<<10)

	stop()
	h.run(door.Options{})
	read, sealed = h.moves(func() { h.apply(config("c07", "small")) })
	require.Less(t, read, placements*1<<10, "this door has to find out what is stored")
	require.Less(t, sealed, placements*1<<10)
	read, sealed = h.moves(func() { h.apply(config("c07", bustest.Noise(bytes*3/4))) })
	require.Less(t, read, placements*1<<10)
	require.Less(t, sealed, 2*bytes)

	for i := range placements {
		s := h.snapshots(fmt.Sprint("p", i))
		h.whole(&s[len(s)-1])
	}
}

// Works name few bundles, however often what they hold changes: the smallest are joined, which costs what they hold.
func TestWorksNameFewBundles(t *testing.T) {
	h := open(t, door.Options{})
	const objects, bytes = 12, 80 << 10
	h.crowd(1, objects, bytes)
	read := 0
	for i := range 30 {
		more, sealed := h.moves(func() { h.apply(config(fmt.Sprintf("c%02d", i%objects), bustest.Noise(bytes*3/4))) })
		read += more
		require.LessOrEqual(t, sealed, bytes+bytes/8)
		s := h.snapshots("p0")
		require.LessOrEqual(t, len(s[len(s)-1].Packs), 9)
		h.whole(&s[len(s)-1])
	}
	require.Less(t, read, 30*2*bytes)
}

// What hubs of before stored, whose works carried all that did not fit into other bundles, is built upon too.
func TestWhatEarlierHubsStoredIsBuiltUpon(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	const objects, bytes = 9, 600 << 10
	h.crowd(1, objects, bytes)
	s := h.snapshots("p0")[0]
	plan := content.Plan{Keys: h.store.Keys, Limit: h.store.Content.BundleLimit(), Size: func(api.Manifest) int { return bytes }}
	made, err := plan.Bundles(s.Manifests)
	require.NoError(t, err)
	s.Packs = nil
	for i := range made {
		require.NoError(t, h.store.Content.PutBundle(bustest.Context(t), made[i].Digest, &made[i].Work, nil))
		s.Packs = append(s.Packs, made[i].Digest)
	}
	s.Work, s.Packs = made[len(made)-1].Digest, s.Packs[:len(made)-1]
	require.NotEmpty(t, s.Packs)
	stop()
	write(h, subjects.Snapshots, subjects.SnapshotName("p0", 1), s)
	h.run(door.Options{})
	read, sealed := h.moves(func() { h.apply(config("c03", "small")) })
	require.Zero(t, read)
	require.Less(t, sealed, 1<<10)
	next := h.snapshots("p0")[1]
	require.Equal(t, append([]string{s.Work}, s.Packs...), next.Packs)
	h.whole(&next)
}

// A request whose placements would have too much laid out is refused, also on a dry run, and nothing of it is stored or read (H55). One
// object may change all the same.
func TestARequestThatHasTooMuchLaidOutIsRefused(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, config("a", "1"), config("b", "1"), config("c", "1"))
	heads := store.TableOf[api.Spec](h.store.State, subjects.ObjectSpecs)
	for _, name := range []string{"a", "b", "c"} {
		key := content.Key(api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name})
		head, _, found := heads.Get(key)
		require.True(t, found)
		head.Size = 100 << 20
		write(h, subjects.ObjectSpecs, key, head)
	}
	read, sealed := h.moves(func() {
		for _, dry := range []bool{true, false} {
			_, failure := ask[api.ApplyResponse](h, api.VerbApply, api.ApplyRequest{Request: h.id(), DryRun: dry, Documents: docs(t, web)})
			require.NotNil(t, failure)
			require.Equal(t, api.CodeTooLarge, failure.Code)
			require.Contains(t, failure.Message, "of objects would be laid out anew for the placements that select them, at most 256 MiB in one request")
		}
	})
	require.Zero(t, read+sealed)
	require.Empty(t, h.snapshots("web"))
	h.apply(config("a", "2"))
	h.apply(web)
	require.Len(t, h.snapshots("web"), 1)
}

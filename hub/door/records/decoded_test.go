package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
)

// holds says that something is kept of a revision of size.
func holds[V any](kept *watch.Parsed[V], revision uint64) bool {
	_, err := kept.Of("size", revision, func() (none V, err error) { return none, errors.New("nothing is kept") })
	return err == nil
}

// What is stored is decoded once a revision, ahead of whoever judges with it, and forgotten once it goes (H56).
func TestWhatIsStoredIsDecodedOnceARevision(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	r := New(leader.State)
	ref := api.ObjectRef{APIVersion: api.PlacementVersion, Kind: api.KindClusterResourceOverride, Name: "size"}
	pool := api.ObjectRef{APIVersion: "karpenter.sh/v1", Kind: api.KindNodePool, Name: "size"}
	write := func(ops ...store.Op) {
		_, err := leader.Writer.Write(bustest.Context(t), ops...)
		require.NoError(t, err)
	}
	overrides, pools := r.Specs[api.KindClusterResourceOverride], r.Specs[api.KindNodePool]
	put := func(kind string) {
		body := json.RawMessage(fmt.Sprintf(`{"spec": {"clusterResourceSelectors": [{"kind": %q}], "policy": {"overrideRules": [{"jsonPatchOverrides": [{"value": {}}]}]}}}`, kind))
		write(overrides.Put("size", &api.Spec{Object: ref, Body: body}, overrides.Revision("size")),
			pools.Put("size", &api.Spec{Object: pool, Body: json.RawMessage(`{}`)}, pools.Revision("size")))
	}
	put("Namespace")
	none, end := context.WithCancel(t.Context())
	end()
	r.Ahead(none, []api.ObjectRef{ref})
	require.False(t, holds(r.parsed.objects[api.KindNodePool], pools.Revision("size")), "nobody waits for it any more")
	r.Ahead(t.Context(), nil)
	require.True(t, holds(r.parsed.objects[api.KindNodePool], pools.Revision("size")))
	require.False(t, holds(&r.parsed.overrides, overrides.Revision("size")), "none is judged")
	r.Ahead(t.Context(), []api.ObjectRef{ref})
	require.True(t, holds(&r.parsed.overrides, overrides.Revision("size")))

	catalogs, member := r.Specs[api.KindInstanceCatalog], api.ObjectRef{APIVersion: api.PlacementVersion, Kind: api.KindMemberCluster, Name: "size"}
	write(r.Members.Put("size", &api.Spec{Object: member, Body: json.RawMessage(`{}`)}, 0),
		catalogs.Put("size", &api.Spec{Object: api.ObjectRef{Kind: api.KindInstanceCatalog, Name: "size"}, Body: json.RawMessage(`{}`)}, 0))
	r.Ahead(t.Context(), []api.ObjectRef{pool})
	require.True(t, holds(r.parsed.objects[api.KindInstanceCatalog], catalogs.Revision("size")))
	require.True(t, holds(r.parsed.objects[api.KindMemberCluster], r.Members.Revision("size")))

	read := func() (*api.NodePool, string) {
		entry := pools.All()[0]
		p, err := Decoded[api.NodePool](r, &entry)
		require.NoError(t, err)
		again, err := Decoded[api.NodePool](r, &entry)
		require.NoError(t, err)
		require.Same(t, p, again)
		other := overrides.All()[0]
		o, err := r.Override(&other)
		require.NoError(t, err)
		require.Equal(t, "size", o.Version.Name)
		return p, o.Selectors[0].Kind
	}
	before, kind := read()
	require.Equal(t, "Namespace", kind)
	put("Other")
	after, kind := read()
	require.NotSame(t, before, after)
	require.Equal(t, "Other", kind)
	entry := pools.All()[0]
	_, err := Decoded[api.InstanceCatalog](r, &entry)
	require.NoError(t, err, "whatever it is asked for as")

	pooled, overriding := pools.Revision("size"), overrides.Revision("size")
	write(overrides.Delete("size", overrides.Revision("size")), pools.Delete("size", pools.Revision("size")))
	require.False(t, holds(r.parsed.objects[api.KindNodePool], pooled))
	require.False(t, holds(&r.parsed.overrides, overriding))
}

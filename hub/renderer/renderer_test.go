package renderer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/hub/renderer"
	"flotilla/subjects"
)

// house is a leader's store with a renderer on it; the test plays door, scheduler and roller.
type house struct {
	t          *testing.T
	store      *store.Store
	renderings *store.Table[api.Rendered]
	stop       func()
	asked      sync.Map // keys that were looked at
}

func open(t *testing.T, members ...string) *house {
	h := &house{t: t, store: bustest.Start(t).Lead(t)}
	h.renderings = store.TableOf[api.Rendered](h.store.State, subjects.Renderings)
	for _, name := range members {
		h.member(name, "eu")
	}
	h.put(subjects.PlacementSpecs.Key("web"), api.Spec{Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "web"}, UID: "u1", Body: json.RawMessage(`{}`)})
	h.run()
	return h
}

func (h *house) run() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	room := renderer.New(h.store, renderer.Options{Log: h.store.Conn.Log, Runs: func(key string) { h.asked.Store(key, true) }})
	var running sync.WaitGroup
	running.Go(func() { _ = room.Run(ctx) })
	h.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	h.t.Cleanup(h.stop)
}

func (h *house) put(key string, value any) {
	h.t.Helper()
	bustest.Eventually(h.t, func() error {
		_, err := h.store.Writer.Write(bustest.Context(h.t), store.Op{Key: key, Value: value, Revision: h.store.State.Revision(key)})
		return err
	})
}

func (h *house) member(name, region string) {
	body := fmt.Sprintf(`{"metadata": {"name": %q, "labels": {"region": %q}}}`, name, region)
	h.put(subjects.MemberSpecs.Key(name), api.Spec{Object: api.ObjectRef{Kind: api.KindMemberCluster, Name: name}, UID: "m", Body: json.RawMessage(body)})
}

func (h *house) schedule(members ...string) {
	s := api.Schedule{Placement: "web", UID: "u1", Generation: 1}
	for _, m := range members {
		s.Bindings = append(s.Bindings, api.Binding{Member: m})
	}
	h.put(subjects.Schedules.Key("web"), s)
}

// snapshot stores one of a ConfigMap with a value and of one that nothing changes.
func (h *house) snapshot(index int64, value string) *api.Snapshot {
	h.t.Helper()
	next := &api.Snapshot{Placement: "web", UID: "u1", Index: index}
	given := map[string][]byte{}
	for _, name := range []string{"other", "settings"} {
		made, err := content.New(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "shop"}, "data": map[string]any{"value": value},
		}, h.store.Keys)
		require.NoError(h.t, err)
		require.NoError(h.t, h.store.Content.Put(bustest.Context(h.t), made.Head.Digest, made.Body))
		given[made.Head.Digest] = made.Body
		next.Manifests = append(next.Manifests, api.Manifest{ObjectRef: made.Head.Object, Digest: made.Head.Digest})
	}
	plan := content.Plan{Keys: h.store.Keys, Limit: 1 << 20, Size: func(api.Manifest) int { return 100 }}
	bundles, err := plan.Bundles(next.Manifests)
	require.NoError(h.t, err)
	require.NoError(h.t, h.store.Content.PutBundle(bustest.Context(h.t), bundles[0].Digest, &bundles[0].Work, given))
	next.Work = bundles[0].Digest
	h.put(subjects.Snapshots.Key(subjects.SnapshotName("web", index)), next)
	return next
}

// override stores an override that puts a value into the ConfigMap settings at a path.
func (h *house) override(generation int64, path, value string) {
	body := fmt.Sprintf(`{"spec": {"resourceSelectors": [{"group": "", "version": "v1", "kind": "ConfigMap", "name": "settings"}],
	  "policy": {"overrideRules": [{"clusterSelector": {}, "overrideType": "JSONPatch", "jsonPatchOverrides": [{"op": "replace", "path": %q, "value": %q}]}]}}}`, path, value)
	h.put(subjects.OverrideSpecs.Key("shop/eu"), api.Spec{
		Object: api.ObjectRef{Kind: api.KindResourceOverride, Namespace: "shop", Name: "eu"}, UID: "o", Generation: generation, Body: json.RawMessage(body),
	})
}

// rendered waits for a record that a test is content with.
func (h *house) rendered(what string, is func(r *api.Rendered, found bool) bool) api.Rendered {
	h.t.Helper()
	var out api.Rendered
	bustest.Eventually(h.t, func() error {
		r, _, found := h.renderings.Get("web")
		if out = r; !is(&r, found) {
			return fmt.Errorf("%s: found %v %+v", what, found, r)
		}
		return nil
	})
	return out
}

func works(r *api.Rendered) (out []string) {
	for _, m := range r.Members {
		out = append(out, m.Work)
	}
	return out
}

// body is what a work makes of the ConfigMap settings, read as an agent reads it.
func (h *house) body(work string) string {
	h.t.Helper()
	doc, err := h.store.Content.Work(bustest.Context(h.t), work)
	require.NoError(h.t, err)
	require.NoError(h.t, h.store.Content.Rebundle(bustest.Context(h.t), work, func(w api.Work) api.Work { return w }), "its bundle is whole")
	for _, m := range doc.Manifests {
		if m.Name == "settings" && m.Pack == 0 {
			return m.Digest
		}
	}
	return ""
}

// Members on which overrides come to the same have one work, which carries the changed object and names the snapshot's bundle
// for the other one. A member more, a label, another snapshot and another override are followed; what changes nothing writes
// nothing, and without an override there is no record.
func TestWorksAreMadeOncePerDistinctResult(t *testing.T) {
	h := open(t, "berlin", "oslo", "paris")
	base := h.snapshot(1, "one")
	h.schedule("berlin", "oslo")
	bustest.Eventually(t, func() error {
		if _, looked := h.asked.Load("placement:web"); !looked {
			return fmt.Errorf("it has not been looked at")
		}
		return nil
	})
	_, _, found := h.renderings.Get("web")
	require.False(t, found, "a placement that no override touches has no record")

	h.override(1, "/data/value", "of ${MEMBER-CLUSTER-LABEL-KEY-region}")
	first := h.rendered("two members", func(r *api.Rendered, _ bool) bool { return len(r.Members) == 2 })
	require.Equal(t, first.Members[0].Work, first.Members[1].Work)
	require.Len(t, first.Works, 1)
	require.Equal(t, []api.OverrideVersion{{Name: "shop/eu", UID: "o", Generation: 1}}, first.Overrides)
	work, err := h.store.Content.Work(bustest.Context(t), first.Members[0].Work)
	require.NoError(t, err)
	require.Equal(t, base.Work, work.Packs[0].Digest)
	require.Equal(t, []int{1, 0}, []int{work.Manifests[0].Pack, work.Manifests[1].Pack})

	h.schedule("berlin", "oslo", "paris")
	h.member("paris", "us")
	second := h.rendered("three members", func(r *api.Rendered, _ bool) bool {
		return len(r.Members) == 3 && r.Members[2].Work != r.Members[0].Work
	})
	require.Equal(t, works(&first), works(&second)[:2])
	require.Len(t, second.Works, 2)

	h.snapshot(2, "two")
	h.rendered("the second snapshot", func(r *api.Rendered, _ bool) bool { return r.Snapshot == 2 && len(r.Members) == 3 })
	h.override(2, "/data/none", "x")
	failed := h.rendered("a failure", func(r *api.Rendered, _ bool) bool { return len(r.Members) == 3 && r.Members[0].Failure != "" })
	require.Equal(t, `ResourceOverride/shop/eu: ConfigMap/shop/settings: spec.policy.overrideRules[0].jsonPatchOverrides[0]: replace /data/none: there is no "none" in /data`, failed.Members[0].Failure)
	require.Empty(t, failed.Works)

	revision := h.renderings.Revision("web")
	h.stop()
	h.run() // another term derives the same
	h.put(subjects.PlacementSpecs.Key("other"), api.Spec{Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "other"}, UID: "u2", Body: json.RawMessage(`{}`)})
	bustest.Eventually(t, func() error {
		if _, looked := h.asked.Load("placement:other"); !looked {
			return fmt.Errorf("other has not been looked at")
		}
		return nil
	})
	require.Equal(t, revision, h.renderings.Revision("web"))
	h.put(subjects.OverrideSpecs.Key("shop/eu"), nil)
	h.rendered("no record", func(_ *api.Rendered, found bool) bool { return !found })
}

// The work of a member that left may be swept, and is stored again when the member comes back.
func TestTheWorkOfAMemberThatComesBackIsThere(t *testing.T) {
	h := open(t, "berlin")
	h.member("paris", "us")
	base := h.snapshot(1, "plain")
	h.override(1, "/data/value", "of ${MEMBER-CLUSTER-LABEL-KEY-region}")
	both := func(r *api.Rendered, found bool) bool { return found && len(r.Members) == 2 && len(r.Works) == 2 }
	h.schedule("berlin", "paris")
	before := h.rendered("both", both)
	h.schedule("berlin")
	one := h.rendered("one", func(r *api.Rendered, found bool) bool { return found && len(r.Members) == 1 && len(r.Works) == 1 })

	roots := func() (map[string]bool, bool, error) {
		return map[string]bool{base.Work: true, base.Manifests[0].Digest: true, base.Manifests[1].Digest: true, one.Works[0].Work: true}, false, nil
	}
	now := h.store.Now()
	for _, at := range []time.Time{now, now.Add(time.Minute)} {
		_, err := h.store.Content.SweepSoon(bustest.Context(t), at, roots, func() bool { return true })
		require.NoError(t, err)
	}
	_, err := h.store.Content.Work(bustest.Context(t), before.Members[1].Work)
	require.ErrorIs(t, err, bus.ErrNotFound)

	h.schedule("berlin", "paris")
	again := h.rendered("both again", both)
	require.Equal(t, works(&before), works(&again))
	for _, work := range works(&again) {
		require.NotEmpty(t, h.body(work))
	}
}

// A work that a release names, for a member to run or to go back to, stays in the record, also once the record was lost, until the
// release names it no more.
func TestWorksThatAreReleasedAreKept(t *testing.T) {
	h := open(t, "berlin")
	h.snapshot(1, "one")
	h.schedule("berlin")
	h.override(1, "/data/value", "x")
	first := h.rendered("it", func(r *api.Rendered, _ bool) bool { return len(r.Members) == 1 && r.Members[0].Work != "" })
	work := first.Members[0].Work
	release := func(work string, overrides []api.OverrideVersion) {
		h.put(subjects.Releases.Key("web"), api.Release{Placement: "web", Entries: []api.ReleaseEntry{{Member: "berlin", UID: "u1", Snapshot: 1, Work: work, Overrides: overrides}}})
	}
	release(work, first.Overrides)
	holds := func(r *api.Rendered, _ bool) bool {
		return len(r.Works) > 0 && strings.Contains(fmt.Sprint(r.Works), work)
	}
	h.override(2, "/data/value", "y")
	h.rendered("both", func(r *api.Rendered, found bool) bool { return len(r.Works) == 2 && holds(r, found) })
	require.NotEmpty(t, h.body(work))
	h.put(subjects.OverrideSpecs.Key("shop/eu"), nil)
	h.rendered("what is released alone", func(r *api.Rendered, found bool) bool {
		return len(r.Works) == 1 && len(r.Members) == 0 && holds(r, found)
	})
	h.put(subjects.Renderings.Key("web"), nil)
	h.rendered("it again", holds)
	h.put(subjects.Releases.Key("web"), api.Release{Placement: "web", Entries: []api.ReleaseEntry{{
		Member: "berlin", UID: "u1", Snapshot: 2, Work: "another", Earlier: &api.Earlier{Snapshot: 1, Work: work, Overrides: first.Overrides},
	}}})
	h.override(3, "/data/value", "z")
	h.rendered("what a member may go back to", func(r *api.Rendered, found bool) bool { return len(r.Members) == 1 && holds(r, found) })
	h.put(subjects.OverrideSpecs.Key("shop/eu"), nil)
	h.rendered("that alone", func(r *api.Rendered, found bool) bool { return len(r.Members) == 0 && holds(r, found) })
	release("another", nil)
	h.rendered("no record", func(_ *api.Rendered, found bool) bool { return !found })
}

// An override that cannot be read leaves the placements that it was rendered with as they are.
func TestAnOverrideThatCannotBeReadIsNotGone(t *testing.T) {
	h := open(t, "berlin")
	h.snapshot(1, "one")
	h.schedule("berlin")
	h.override(1, "/data/value", "x")
	first := h.rendered("it", func(r *api.Rendered, _ bool) bool { return len(r.Members) == 1 })
	h.put(subjects.OverrideSpecs.Key("shop/eu"), json.RawMessage(`{"kind": "Spec", "level": 1, "uid": {}}`))
	h.put(subjects.PlacementSpecs.Key("other"), api.Spec{Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "other"}, UID: "u2", Body: json.RawMessage(`{}`)})
	bustest.Eventually(t, func() error {
		if _, looked := h.asked.Load("placement:other"); !looked {
			return fmt.Errorf("other has not been looked at")
		}
		return nil
	})
	now, _, _ := h.renderings.Get("web")
	require.Equal(t, first, now)
	h.override(2, "/data/value", "y")
	h.rendered("the new one", func(r *api.Rendered, _ bool) bool { return len(r.Members) == 1 && r.Overrides[0].Generation == 2 })
}

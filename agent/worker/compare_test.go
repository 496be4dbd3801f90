package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flotilla/core/api"
	"flotilla/core/apply"
)

// A placement that is to report what differs writes nothing and says where, and who was there.
func TestReportDiffWritesNothing(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	start(t, h, m, t.TempDir())
	h.placed()
	e := h.entry("web", 2, shop, config, "{apiVersion: v1, kind: Secret, metadata: {name: new, namespace: shop}}")
	e.Apply = &api.ApplyStrategy{Type: api.ApplyReportDiff}
	h.command(e)
	h.expect("web", func(r api.PlacementResult) bool { return r.DiffReported == yes && r.DifferingTotal == 1 })
	written := len(history(m))
	require.True(t, m.Edit(ref(config), func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"a": "tampered"} }))
	r := h.expect("web", func(r api.PlacementResult) bool { return r.DifferingTotal == 2 })
	require.Equal(t, []api.DifferingObject{
		{ObjectRef: ref(config), Differences: []api.Difference{{Path: "/data/a", Manager: "kubectl-edit"}}, Total: 1},
		{ObjectRef: ref("{apiVersion: v1, kind: Secret, metadata: {name: new, namespace: shop}}"), Differences: []api.Difference{{Path: "/"}}, Total: 1},
	}, r.Differing)
	require.Equal(t, "2 of 3 objects differ, first ConfigMap/shop/config at /data/a (kubectl-edit)", r.DiffReportedMessage)
	require.Equal(t, reasonReported, r.DiffReportedReason)
	require.Empty(t, r.Available)
	require.Equal(t, unknown, r.Applied)
	require.Len(t, history(m), written)

	e = h.entry("web", 3, shop, config)
	e.Apply = &api.ApplyStrategy{Type: api.ApplyServerSide}
	h.command(e)
	r = h.expect("web", func(r api.PlacementResult) bool { return r.Applied == no })
	require.Contains(t, r.AppliedMessage, "others own .data.a (kubectl-edit); leave them out of the manifest")
	require.Equal(t, "map[a:tampered]", fmt.Sprint(live(m, config).Object["data"]))
}

// What appears between the look and the write is looked at again, and not taken over.
func TestWhatAppearedMeanwhileIsLookedAtAgain(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	w := newWorker(t, h, m, t.TempDir())
	w.o.Target = late{Objects: m, hidden: apply.IdentityOf(ref(config)), seen: map[string]int{}}
	m.Plant(object(t, shop))
	m.Plant(object(t, config))
	run(t, w)
	e := h.entry("web", 1, config)
	e.Apply = &api.ApplyStrategy{WhenToTakeOver: api.TakeOverNever}
	h.command(e)
	r := h.expect("web", func(r api.PlacementResult) bool { return r.Applied == no })
	require.Equal(t, apply.ReasonNotTakenOver, r.Failures[0].Reason)
	require.Empty(t, history(m))
	require.Empty(t, live(m, config).GetAnnotations())
}

// late hides an object from the first look at it.
type late struct {
	Objects
	hidden apply.Identity
	seen   map[string]int
}

func (l late) Find(ctx context.Context, refs []api.ObjectRef) ([]*unstructured.Unstructured, error) {
	return l.Objects.Find(ctx, slices.DeleteFunc(refs, func(ref api.ObjectRef) bool {
		l.seen[ref.Name]++
		return apply.IdentityOf(ref) == l.hidden && l.seen[ref.Name] == 1
	}))
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	require.NoError(t, out.UnmarshalJSON(strip(t, text)))
	return out
}

// An error of a Secret says where, never what.
func TestComplaintsOfSecretsQuoteNoValues(t *testing.T) {
	secret, config := api.ObjectRef{APIVersion: "v1", Kind: "Secret", Name: "s"}, api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Name: "c"}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "s", nil)
	invalid.ErrStatus.Message = `data[password]: Invalid value: "hunter2"`
	invalid.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "data[password]", Message: `"hunter2"`}}
	require.Equal(t, "the member's API server calls the Secret invalid at data[password]; its own words are left out, as they may quote values",
		complaint(secret, fmt.Errorf("writing: %w", invalid)))
	require.Contains(t, complaint(config, invalid), "hunter2")
	require.Equal(t, "refused", complaint(secret, errors.New("refused")))
}

// The member is asked once for each state of an object, and its status is none.
func TestAPreviewIsKeptForOneStateOfAnObject(t *testing.T) {
	live := object(t, `{apiVersion: v1, kind: Service, metadata: {name: s, resourceVersion: "1", managedFields: [{manager: x}]}, spec: {ports: []}, status: {a: b}}`)
	was := fingerprint("d1", live)
	for name, change := range map[string]func(*unstructured.Unstructured){
		"status":   func(o *unstructured.Unstructured) { delete(o.Object, "status") },
		"version":  func(o *unstructured.Unstructured) { o.SetResourceVersion("2") },
		"managers": func(o *unstructured.Unstructured) { o.SetManagedFields(nil) },
	} {
		same := live.DeepCopy()
		change(same)
		require.Equal(t, was, fingerprint("d1", same), name)
	}
	other := live.DeepCopy()
	other.SetLabels(map[string]string{"a": "b"})
	require.NotEqual(t, was, fingerprint("d1", other))
	require.NotEqual(t, was, fingerprint("d2", live))
	require.Equal(t, "1", live.GetResourceVersion(), "the input was changed")
}

// What is fought over is written over once a minute, and told of with what it is about.
func TestFightsAreHeldBack(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	c := newCorrections(nil, at)
	e := api.IndexEntry{Placement: "web", UID: "u1"}
	one := correcting("c", "/data/a (kubectl-edit)", nil)
	one.op.Live = &unstructured.Unstructured{}
	calm := func(now time.Time) apply.Verb {
		plan := apply.Plan{Waves: [][]apply.Op{{one.op}}}
		c.calm(e, plan, now)
		return plan.Waves[0][0].Verb
	}
	fought := func(now time.Time) (bool, time.Time) {
		r := api.PlacementResult{Placement: "web", UID: "u1"}
		over := c.tell(&r, now)
		return len(r.Corrected) == 1 && r.Corrected[0].Fought, over
	}
	for range foughtAfter - 1 {
		c.note(e, []performed{one}, at)
		at = at.Add(2 * time.Minute)
		require.Equal(t, apply.Replace, calm(at))
	}
	is, _ := fought(at)
	require.False(t, is)
	c.note(e, []performed{one}, at)
	is, over := fought(at)
	require.True(t, is)
	require.Equal(t, at.Add(correctedFor), over)
	require.Equal(t, apply.Keep, calm(at.Add(time.Second)))
	_, over = fought(at.Add(time.Second))
	require.Equal(t, at.Add(foughtPause), over, "it is looked at again then")
	require.Equal(t, apply.Replace, calm(at.Add(foughtPause)))

	slow := newCorrections(nil, at)
	for i := range 3 * foughtAfter {
		slow.note(e, []performed{one}, at.Add(time.Duration(i)*3*time.Minute))
	}
	r := api.PlacementResult{Placement: "web", UID: "u1"}
	slow.tell(&r, at.Add(42*time.Minute))
	require.False(t, r.Corrected[0].Fought, "four times within ten minutes is none")
}

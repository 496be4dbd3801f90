package apply

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
)

var web = Owner{Placement: "web", UID: "u1"}

func TestDiff(t *testing.T) {
	const config = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {a: '1'}}"
	const changed = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {a: '2', b: '3'}}"
	never := &api.ApplyStrategy{WhenToTakeOver: "Never"}
	ifNoDiff := &api.ApplyStrategy{WhenToTakeOver: "IfNoDiff"}
	ifNotDrifted := &api.ApplyStrategy{WhenToApply: "IfNotDrifted"}
	for name, c := range map[string]struct {
		strategy *api.ApplyStrategy
		wanted   []Manifest
		live     []*unstructured.Unstructured
		want     string
	}{
		"an empty member gets everything, what others stand on first": {
			wanted: []Manifest{
				manifest(t, "{apiVersion: example.org/v1, kind: Widget, metadata: {name: w, namespace: shop}}"),
				manifest(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: shop}}"),
				manifest(t, config),
				manifest(t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"),
			},
			want: "0 create Namespace/shop\n1 create ConfigMap/shop/c\n2 create Deployment/shop/d\n3 create Widget/shop/w\n",
		},
		"equal content is kept": {
			wanted: []Manifest{manifest(t, config)},
			live:   []*unstructured.Unstructured{owned(t, web, config)},
			want:   "0 keep ConfigMap/shop/c\n",
		},
		"another version of the same group is the same object": {
			wanted: []Manifest{manifest(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: shop}}")},
			live:   []*unstructured.Unstructured{owned(t, web, "{apiVersion: apps/v1beta2, kind: Deployment, metadata: {name: d, namespace: shop}}")},
			want:   "0 replace Deployment/shop/d: content changed\n",
		},
		"another digest is replaced": {
			wanted: []Manifest{manifest(t, changed)},
			live:   []*unstructured.Unstructured{owned(t, web, config)},
			want:   "0 replace ConfigMap/shop/c: content changed\n",
		},
		"drift is overwritten": {
			wanted: []Manifest{manifest(t, changed)},
			live:   []*unstructured.Unstructured{edited(owned(t, web, changed), "x", "data", "a")},
			want:   "0 replace ConfigMap/shop/c: drifted at /data/a\n",
		},
		"drift is left alone when the strategy says so": {
			strategy: ifNotDrifted,
			wanted:   []Manifest{manifest(t, changed)},
			live:     []*unstructured.Unstructured{edited(owned(t, web, changed), "x", "data", "a")},
			want:     "- ConfigMap/shop/c: FoundDrifts: changed on the member at /data/a, and whenToApply is IfNotDrifted\n",
		},
		"a change of the content overwrites drift even then": {
			strategy: ifNotDrifted,
			wanted:   []Manifest{manifest(t, changed)},
			live:     []*unstructured.Unstructured{edited(owned(t, web, config), "x", "data", "a")},
			want:     "0 replace ConfigMap/shop/c: content changed\n",
		},
		"what nobody owns is taken over": {
			wanted: []Manifest{manifest(t, config)},
			live:   []*unstructured.Unstructured{object(t, config)},
			want:   "0 replace ConfigMap/shop/c: taken over, nobody owned it\n",
		},
		"never take over": {
			strategy: never,
			wanted:   []Manifest{manifest(t, config)},
			live:     []*unstructured.Unstructured{object(t, config)},
			want:     "- ConfigMap/shop/c: NotTakenOver: the member has this object already and whenToTakeOver is Never\n",
		},
		"take over what is equal": {
			strategy: ifNoDiff,
			wanted:   []Manifest{manifest(t, config)},
			live:     []*unstructured.Unstructured{object(t, config)},
			want:     "0 replace ConfigMap/shop/c: taken over, nobody owned it\n",
		},
		"do not take over what differs": {
			strategy: ifNoDiff,
			wanted:   []Manifest{manifest(t, changed)},
			live:     []*unstructured.Unstructured{object(t, config)},
			want: "- ConfigMap/shop/c: FailedToTakeOver: the member has this object already, different at /data/a, /data/b, " +
				"and whenToTakeOver is IfNoDiff\n",
		},
		"another placement's object is a conflict": {
			wanted: []Manifest{manifest(t, config)},
			live:   []*unstructured.Unstructured{owned(t, Owner{"ns/other", "u9"}, config)},
			want: "- ConfigMap/shop/c: FailedToTakeOver: placement ns/other owns the live object; " +
				"take it out of one of the two placements\n",
		},
		"an earlier placement of the same name cannot come back": {
			wanted: []Manifest{manifest(t, config)},
			live:   []*unstructured.Unstructured{owned(t, Owner{"web", "u0"}, config)},
			want:   "0 replace ConfigMap/shop/c: taken over from an earlier placement web\n",
		},
		"what is no longer wanted goes, the other way round, after the rest": {
			wanted: []Manifest{manifest(t, config)},
			live: []*unstructured.Unstructured{
				owned(t, web, "{apiVersion: v1, kind: Namespace, metadata: {name: old}}"),
				owned(t, web, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: old}}"),
				owned(t, Owner{"other", "u2"}, "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: old}}"),
				object(t, "{apiVersion: v1, kind: Secret, metadata: {name: mine, namespace: old}}"),
				owned(t, Owner{"web", "u0"}, "{apiVersion: v1, kind: Secret, metadata: {name: earlier, namespace: old}}"),
			},
			want: "0 create ConfigMap/shop/c\n1 delete Deployment/old/d: no longer part of the work\n" +
				"2 delete Namespace/old: no longer part of the work\n",
		},
		"what cannot be applied is left alone, and not deleted": {
			wanted: []Manifest{
				{Manifest: ref("v1", "ConfigMap", "shop", "c"), Fault: "content is not JSON"},
				manifest(t, "{apiVersion: batch/v1, kind: Job, metadata: {generateName: j-, namespace: shop}}"),
				manifest(t, "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}}"),
				manifest(t, "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}}"),
			},
			live: []*unstructured.Unstructured{owned(t, web, config)},
			want: "0 create Secret/shop/s\n" +
				"- ConfigMap/shop/c: DecodingErred: content is not JSON\n" +
				"- Job/shop/: FoundGenerateName: the manifest has no name; metadata.generateName cannot be placed\n" +
				"- Secret/shop/s: Duplicated: the work names this object more than once; select it once\n",
		},
		"an object on its way out is waited for": {
			wanted: []Manifest{manifest(t, config)},
			live:   []*unstructured.Unstructured{edited(owned(t, web, config), "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")},
			want:   "- ConfigMap/shop/c: ManifestApplyFailed: the live object is being deleted; it is made again once it is gone\n",
		},
		"a strategy that must not write lists what differs": {
			strategy: &api.ApplyStrategy{Type: "ReportDiff"},
			wanted: []Manifest{
				manifest(t, config),
				manifest(t, "{apiVersion: v1, kind: Secret, metadata: {name: other, namespace: shop}, data: {a: MQ==}}"),
				manifest(t, "{apiVersion: v1, kind: Secret, metadata: {name: same, namespace: shop}}"),
			},
			live: []*unstructured.Unstructured{
				owned(t, web, "{apiVersion: v1, kind: Secret, metadata: {name: old, namespace: shop}}"),
				owned(t, Owner{"x", "u7"}, "{apiVersion: v1, kind: Secret, metadata: {name: other, namespace: shop}, data: {a: Mg==}}"),
				object(t, "{apiVersion: v1, kind: Secret, metadata: {name: same, namespace: shop}, data: {more: MQ==}}"),
			},
			want: "~ ConfigMap/shop/c: /\n~ Secret/shop/old: / (flotilla)\n~ Secret/shop/other: /data/a\n",
		},
		"what has other owners is not taken over": {
			wanted: []Manifest{manifest(t, config)},
			live:   []*unstructured.Unstructured{referring(object(t, config))},
			want: "- ConfigMap/shop/c: FailedToTakeOver: the member has this object already, owned by Widget w and 1 more, " +
				"and allowCoOwnership is false\n",
		},
		"unless owners may be several": {
			strategy: &api.ApplyStrategy{AllowCoOwnership: true},
			wanted:   []Manifest{manifest(t, config)},
			live:     []*unstructured.Unstructured{referring(object(t, config))},
			want:     "0 replace ConfigMap/shop/c: taken over, nobody owned it\n",
		},
		"nor is written what somebody else came to own": {
			wanted: []Manifest{manifest(t, changed)},
			live:   []*unstructured.Unstructured{referring(owned(t, web, config))},
			want: "- ConfigMap/shop/c: ManifestApplyFailed: the live object is owned by Widget w and 1 more too, " +
				"and allowCoOwnership is false\n",
		},
		"what others own too is let go of": {
			live: []*unstructured.Unstructured{referring(owned(t, web, config))},
			want: "0 disown ConfigMap/shop/c: no longer part of the work, owned by Widget w and 1 more too\n",
		},
		"a full comparison sees what the manifest does not mention, and leaves it": {
			strategy: &api.ApplyStrategy{ComparisonOption: "FullComparison"},
			wanted:   []Manifest{manifest(t, config)},
			live:     []*unstructured.Unstructured{edited(owned(t, web, config), "x", "data", "more")},
			want:     "0 keep ConfigMap/shop/c\n~ ConfigMap/shop/c: /data/more\n",
		},
		"a full comparison does not write over what may not drift": {
			strategy: &api.ApplyStrategy{ComparisonOption: "FullComparison", WhenToApply: "IfNotDrifted"},
			wanted:   []Manifest{manifest(t, config)},
			live:     []*unstructured.Unstructured{edited(owned(t, web, config), "x", "immutable")},
			want:     "- ConfigMap/shop/c: FoundDrifts: changed on the member at /immutable, and whenToApply is IfNotDrifted\n",
		},
		"a full comparison takes over only what is equal in all": {
			strategy: &api.ApplyStrategy{ComparisonOption: "FullComparison", WhenToTakeOver: "IfNoDiff"},
			wanted:   []Manifest{manifest(t, config)},
			live:     []*unstructured.Unstructured{edited(object(t, config), "x", "data", "more")},
			want: "- ConfigMap/shop/c: FailedToTakeOver: the member has this object already, different at /data/more, " +
				"and whenToTakeOver is IfNoDiff\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Diff(Wanted{Owner: web, Strategy: c.strategy, Manifests: c.wanted}, c.live)
			require.Equal(t, c.want, got.String())
		})
	}
}

// referring is an object that says itself who owns it.
func referring(o *unstructured.Unstructured) *unstructured.Unstructured {
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: "Widget", Name: "w"}, {Kind: "Widget", Name: "v"}})
	return o
}

// What must not be taken over unseen is written only if it is as it was seen.
func TestWritesExpectWhatWasSeen(t *testing.T) {
	m := manifest(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '2'}}")
	unowned, older := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, resourceVersion: '7'}, data: {a: '2'}}"),
		owned(t, web, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, resourceVersion: '8'}}")
	for name, c := range map[string]struct {
		strategy  *api.ApplyStrategy
		live      []*unstructured.Unstructured
		exclusive bool
		version   string
	}{
		"made, whatever is there":            {nil, nil, false, ""},
		"made where nothing is":              {&api.ApplyStrategy{WhenToTakeOver: "Never"}, nil, true, ""},
		"made where nothing different is":    {&api.ApplyStrategy{WhenToTakeOver: "IfNoDiff"}, nil, true, ""},
		"taken over, whatever it became":     {nil, []*unstructured.Unstructured{unowned}, false, ""},
		"taken over as long as it is equal":  {&api.ApplyStrategy{WhenToTakeOver: "IfNoDiff"}, []*unstructured.Unstructured{unowned}, false, "7"},
		"changed, whatever it became":        {nil, []*unstructured.Unstructured{older}, false, ""},
		"changed as long as it has not done": {&api.ApplyStrategy{WhenToApply: "IfNotDrifted"}, []*unstructured.Unstructured{older}, false, "8"},
	} {
		op := Diff(Wanted{Owner: web, Strategy: c.strategy, Manifests: []Manifest{m}}, c.live).Waves[0][0]
		require.Equal(t, c.exclusive, op.Exclusive, name)
		require.Equal(t, c.version, op.Version, name)
	}
	require.Equal(t, "8", Withdraw(web, []*unstructured.Unstructured{older}, false).Waves[0][0].Version)
}

// A preview says what the API server would make of a manifest: what it would not change is no drift.
func TestPreviewsSettleWhatSeemsToDiffer(t *testing.T) {
	m := manifest(t, "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}")
	live := owned(t, web, "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}, {port: 81}]}}")
	live.SetAnnotations(map[string]string{api.AnnotationOwner: web.String(), api.AnnotationDigest: m.Digest})
	wanted := Wanted{Owner: web, Manifests: []Manifest{m}}
	plan := Diff(wanted, []*unstructured.Unstructured{live})
	require.Equal(t, "0 replace Service/s: drifted at /spec/ports\n", plan.String())
	require.Equal(t, []api.ObjectRef{m.ObjectRef}, plan.Suspects)

	wanted.Previews = map[Identity]*unstructured.Unstructured{IdentityOf(m.ObjectRef): live.DeepCopy()}
	plan = Diff(wanted, []*unstructured.Unstructured{live})
	require.Equal(t, "0 keep Service/s\n", plan.String())
	require.Empty(t, plan.Suspects)

	wanted.Previews[IdentityOf(m.ObjectRef)] = edited(live, "ClusterIP", "spec", "type")
	require.Equal(t, "0 replace Service/s: drifted at /spec/type\n", Diff(wanted, []*unstructured.Unstructured{live}).String())

	reporting := Wanted{Owner: web, Strategy: &api.ApplyStrategy{Type: "ReportDiff"}, Manifests: []Manifest{m}, Refused: map[Identity]string{IdentityOf(m.ObjectRef): "no"}}
	require.Equal(t, "- Service/s: FailedToReportDiff: no\n", Diff(reporting, []*unstructured.Unstructured{live}).String())
}

func TestWithdraw(t *testing.T) {
	live := []*unstructured.Unstructured{
		owned(t, web, "{apiVersion: v1, kind: Namespace, metadata: {name: shop, annotations: {mine: 'yes'}}}"),
		owned(t, web, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}"),
		owned(t, Owner{"web", "u2"}, "{apiVersion: v1, kind: ConfigMap, metadata: {name: d, namespace: shop}}"),
		object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: e, namespace: shop}}"),
	}
	require.Equal(t, "0 delete ConfigMap/shop/c: withdrawn\n1 delete Namespace/shop: withdrawn\n", Withdraw(web, live, false).String())

	abandoned := Withdraw(web, live, true)
	require.Equal(t, "0 disown ConfigMap/shop/c: abandoned\n1 disown Namespace/shop: abandoned\n", abandoned.String())
	namespace := abandoned.Waves[1][0]
	require.Equal(t, map[string]string{"mine": "yes"}, namespace.Object.GetAnnotations())
	require.Equal(t, string(live[0].GetUID()), namespace.UID)
	require.Nil(t, abandoned.Waves[0][0].Object.GetAnnotations())
	require.Equal(t, web.String(), live[0].GetAnnotations()[api.AnnotationOwner], "the input was changed")
}

func TestWritesCarryOwnerDigestAndUID(t *testing.T) {
	m := manifest(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {mine: 'yes'}}, data: {a: '2'}}")
	before := m.Object.DeepCopy()
	live := owned(t, web, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}")
	plan := Diff(Wanted{Owner: web, Manifests: []Manifest{m}}, []*unstructured.Unstructured{live})
	require.Equal(t, 1, plan.Writes())
	op := plan.Waves[0][0]
	require.Equal(t, Replace, op.Verb)
	require.Equal(t, string(live.GetUID()), op.UID)
	require.Equal(t, map[string]string{"mine": "yes", api.AnnotationOwner: "web/u1", api.AnnotationDigest: m.Digest}, op.Object.GetAnnotations())
	require.Equal(t, m.Digest, DigestOf(op.Object))
	require.Equal(t, before, m.Object, "the input was changed")
}

// Whatever a member holds, performing the plan leads to a member for which the next plan writes
// nothing, and the order of the inputs does not matter.
func TestPlansSettleAndIgnoreOrder(t *testing.T) {
	kinds := []string{"v1/Namespace", "v1/Secret", "v1/ConfigMap", "apps/v1/Deployment", "example.org/v1/Widget"}
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 1))
		var wanted []Manifest
		live := map[Identity]*unstructured.Unstructured{}
		for i := range 30 {
			group, kind := cutLast(kinds[r.IntN(len(kinds))])
			text := "{apiVersion: " + group + ", kind: " + kind + ", metadata: {name: n" + strconv.Itoa(i) + "}, data: {a: '" + strconv.Itoa(r.IntN(3)) + "'}}"
			if r.IntN(3) > 0 {
				wanted = append(wanted, manifest(t, text))
			}
			if r.IntN(3) > 0 {
				o := []*unstructured.Unstructured{object(t, text), owned(t, web, text), owned(t, Owner{"web", "u0"}, text), owned(t, Owner{"x", "u3"}, text)}[r.IntN(4)]
				if r.IntN(3) == 0 {
					o = edited(o, "tampered", "data", "a")
				}
				live[IdentityOf(RefOf(o))] = o
			}
		}
		plan := Diff(Wanted{Owner: web, Manifests: wanted}, values(live))
		r.Shuffle(len(wanted), func(i, j int) { wanted[i], wanted[j] = wanted[j], wanted[i] })
		require.Equal(t, plan, Diff(Wanted{Owner: web, Manifests: wanted}, values(live)), "seed %d", seed)

		before := foreign(live)
		perform(plan, live)
		again := Diff(Wanted{Owner: web, Manifests: wanted}, values(live))
		require.Zero(t, again.Writes(), "seed %d:\n%s", seed, again)
		require.Equal(t, plan.Conflicts, again.Conflicts)
		require.Equal(t, before, foreign(live), "seed %d touched another placement's objects", seed)
	}
}

func TestOwner(t *testing.T) {
	for _, o := range []Owner{{"web", "u1"}, {"ns/web", "1-2"}} {
		got, ok := ParseOwner(o.String())
		require.True(t, ok)
		require.Equal(t, o, got)
	}
	for _, text := range []string{"", "web", "/u1", "web/"} {
		_, ok := ParseOwner(text)
		require.False(t, ok, text)
	}
}

func perform(p Plan, live map[Identity]*unstructured.Unstructured) {
	for _, wave := range p.Waves {
		for _, op := range wave {
			switch op.Verb {
			case Create, Replace, Disown:
				live[IdentityOf(op.ObjectRef)] = op.Object
			case Delete:
				delete(live, IdentityOf(op.ObjectRef))
			}
		}
	}
}

func foreign(live map[Identity]*unstructured.Unstructured) map[Identity]*unstructured.Unstructured {
	out := map[Identity]*unstructured.Unstructured{}
	for id, o := range live {
		if owner, ok := OwnerOf(o); ok && owner.Placement != "web" {
			out[id] = o
		}
	}
	return out
}

func values(live map[Identity]*unstructured.Unstructured) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range live {
		out = append(out, o)
	}
	return out
}

func cutLast(s string) (before, after string) {
	i := strings.LastIndexByte(s, '/')
	return s[:i], s[i+1:]
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	out := &unstructured.Unstructured{}
	require.NoError(t, out.UnmarshalJSON(body))
	return out
}

// Only what undoes a change by another hand says where that was.
func TestWhatIsCorrectedIsNamed(t *testing.T) {
	const config = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {a: '1'}}"
	live := owned(t, web, config)
	next := manifest(t, strings.Replace(config, "'1'", "'2'", 1))
	for want, c := range map[string]struct {
		wanted Manifest
		live   *unstructured.Unstructured
	}{
		"/data/a": {manifest(t, config), edited(live, "9", "data", "a")},
		"":        {next, edited(live, "9", "data", "a")},
	} {
		plan := Diff(Wanted{Owner: web, Manifests: []Manifest{c.wanted}}, []*unstructured.Unstructured{c.live})
		require.Equal(t, want, plan.Waves[0][0].Drifted)
	}
}

func manifest(t *testing.T, text string) Manifest {
	t.Helper()
	o := object(t, text)
	return Manifest{Manifest: api.Manifest{ObjectRef: RefOf(o), Digest: digest(text)}, Object: o}
}

func digest(text string) string { return "sha256:" + text }

func owned(t *testing.T, owner Owner, text string) *unstructured.Unstructured {
	t.Helper()
	m := manifest(t, text)
	out := Stamped(&m, owner)
	out.SetUID(types.UID("uid-of-" + out.GetName()))
	return out
}

func edited(o *unstructured.Unstructured, value string, fields ...string) *unstructured.Unstructured {
	out := o.DeepCopy()
	if err := unstructured.SetNestedField(out.Object, value, fields...); err != nil {
		panic(err)
	}
	return out
}

func ref(apiVersion, kind, namespace, name string) api.Manifest {
	return api.Manifest{ObjectRef: api.ObjectRef{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}, Digest: "x"}
}

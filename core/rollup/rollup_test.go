package rollup_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/rollup"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// bodies are one object of each kind whose status says how it does.
var bodies = map[string]string{
	"Deployment":            `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 7, progressDeadlineSeconds: 300}}`,
	"StatefulSet":           `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web, namespace: shop}, spec: {replicas: 3}}`,
	"DaemonSet":             `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: web, namespace: shop}}`,
	"ReplicaSet":            `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, namespace: shop}}`,
	"ReplicationController": `{apiVersion: v1, kind: ReplicationController, metadata: {name: web, namespace: shop}}`,
	"Job":                   `{apiVersion: batch/v1, kind: Job, metadata: {name: web, namespace: shop}, spec: {completions: 4}}`,
	"PersistentVolumeClaim": `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: web, namespace: shop}}`,
	"Service":               `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80}]}}`,
	"Namespace":             `{apiVersion: v1, kind: Namespace, metadata: {name: web}}`,
	"PodDisruptionBudget":   `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: shop}}`,
	"APIService":            `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: web}}`,
	"Shop":                  `{apiVersion: example.com/v1, kind: Shop, metadata: {name: web, namespace: shop}}`,
	"CustomResourceDefinition": `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: web}, spec: {names: {kind: Shop, plural: shops},
  versions: [{name: v1, storage: true}, {name: v2}]}}`,
}

// fleet is a placement of one object, member by member: what each does is a word of speak.
type fleet struct {
	t      *testing.T
	object rollup.Object
	p      rollup.Placement
	said   map[string]*api.PlacementResult
	away   map[string]bool
}

func object(t *testing.T, body string) rollup.Object {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(body))
	require.NoError(t, err)
	o := rollup.Object{Spec: &api.Spec{Generation: 3, Created: metav1.NewTime(noon), Digest: "d2"}}
	require.NoError(t, kjson.Unmarshal(text, &o.Body))
	u := unstructured.Unstructured{Object: o.Body}
	o.Spec.Object = api.ObjectRef{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
	return o
}

// place places an object on members that do as they are told to: m01, m02 and so on.
func place(t *testing.T, body string, does ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, object: object(t, body), said: map[string]*api.PlacementResult{}, away: map[string]bool{}}
	snapshot := func(index int64, digest string) *api.Snapshot {
		return &api.Snapshot{UID: "u", Index: index, Manifests: []api.Manifest{{ObjectRef: f.object.Spec.Object, Digest: digest}}}
	}
	kept := map[int64]*api.Snapshot{1: snapshot(1, "d1"), 2: snapshot(2, "d2"), 3: snapshot(3, "d2")}
	f.p = rollup.Placement{
		Placement: &api.Placement{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", Generation: 1}},
		Schedule:  &api.Schedule{UID: "u", Generation: 1, Fulfilled: true}, Release: &api.Release{}, Latest: kept[3],
		Snapshot: func(index int64) *api.Snapshot { return kept[index] },
		Heard: func(member string) (*api.PlacementResult, api.MemberState) {
			if f.away[member] {
				return f.said[member], api.MemberUnknown
			}
			return f.said[member], api.MemberReady
		},
	}
	for i, what := range does {
		f.speak(fmt.Sprintf("m%02d", i+1), what)
	}
	return f
}

// speak has a member do something.
func (f *fleet) speak(member, what string) {
	ref := f.object.Spec.Object
	entry := api.ReleaseEntry{Member: member, UID: "u", Snapshot: 3, Generation: 5}
	r := &api.PlacementResult{UID: "u", Generation: 5, Total: 9, Applied: "True", Available: "True", Changed: metav1.NewTime(noon.Add(time.Minute))}
	hold := func(h api.Held) {
		h.Member, entry.Snapshot = member, 1
		f.p.Release.Held = append(f.p.Release.Held, h)
	}
	name := func(condition, reason, message string) {
		r.Failed++
		r.Failures = append(r.Failures, api.ManifestFailure{ObjectRef: ref, Condition: condition, Reason: reason, Message: message})
	}
	switch what {
	case "available":
	case "same": // in a snapshot before the newest
		entry.Snapshot = 2
	case "completed":
		r.Completed = []api.ObjectRef{ref}
	case "other failed":
		ref.Name = "other"
		r.Applied, r.Available = "False", ""
		name("Applied", "ManifestApplyFailed", "denied")
	case "not yet":
		r.Available = "False"
		name("Available", "ManifestNotAvailableYet", "1 of 3 available")
	case "failed":
		r.Applied, r.Available = "False", ""
		name("Applied", "ManifestApplyFailed", "denied by\n policy")
		name("Available", "ManifestNotAvailableYet", "0 of 3 available")
	case "drifted":
		r.Applied, r.Available = "False", ""
		name("Applied", "FoundDrifts", "/spec/replicas (kubectl-edit)")
	case "cut":
		r.Applied, r.Available, r.Failed = "False", "", 200
	case "applying":
		r.Applied, r.AppliedReason, r.AppliedMessage, r.Available = "Unknown", "ApplyInProgress", "reading a bundle", ""
	case "unsure":
		r.Available, r.AvailableReason, r.AvailableMessage = "Unknown", "NotAllWorkAreAvailable", "the member is busy"
	case "old answer":
		r.Generation = 4
	case "silent":
		r = nil
	case "away":
		f.away[member] = true
	case "behind":
		entry.Snapshot = 1
	case "waiting":
		hold(api.Held{Reason: "maxUnavailable is reached"})
	case "frozen":
		hold(api.Held{Reason: "waits: placements frozen by anna", Guarded: true})
	case "withheld":
		hold(api.Held{Reason: "WithdrawalHeld: too much", Guarded: true, Loss: api.Loss{Objects: 3, Of: 1, To: 3}})
	case "overridden":
		hold(api.Held{Reason: "override o: no such path", Overridden: true})
		entry.Snapshot = 3
	case "reported":
		r.Applied, r.Available, r.DiffReported = "Unknown", "", "True"
	case "differs":
		r.Applied, r.Available, r.DiffReported, r.DifferingTotal = "Unknown", "", "True", 1
		r.Differing = []api.DifferingObject{{ObjectRef: ref, Differences: []api.Difference{{Path: "/spec/replicas", Manager: "kubectl-edit"}}}}
	case "differs beyond":
		r.Applied, r.Available, r.DiffReported, r.DifferingTotal = "Unknown", "", "True", 200
	default:
		require.Fail(f.t, "no member does so", what)
	}
	f.said[member] = r
	f.p.Schedule.Bindings = append(f.p.Schedule.Bindings, api.Binding{Member: member})
	f.p.Release.Entries = append(f.p.Release.Entries, entry)
}

func (f *fleet) judge() rollup.Judgement {
	return rollup.Judge(&f.object, []*rollup.Standing{rollup.Gather(f.p)}, noon)
}

// shown is the object as people get it.
func shown(t *testing.T, o *rollup.Object, j *rollup.Judgement) *unstructured.Unstructured {
	t.Helper()
	tree := runtime.DeepCopyJSON(o.Body)
	metadata := tree["metadata"].(map[string]any)
	metadata["generation"] = o.Spec.Generation
	if st := j.Status(o); st != nil {
		tree["status"] = st
	}
	text, err := json.Marshal(tree)
	require.NoError(t, err)
	u := &unstructured.Unstructured{}
	require.NoError(t, u.UnmarshalJSON(text))
	return u
}

func computed(t *testing.T, o *rollup.Object, j *rollup.Judgement) status.Status {
	t.Helper()
	result, err := status.Compute(shown(t, o, j))
	require.NoError(t, err)
	return result.Status
}

// What kstatus makes of the status of any kind is what the members say.
func TestWhatMembersSay(t *testing.T) {
	for _, c := range []struct {
		does    string
		want    status.Status
		counts  string
		reason  string
		message string
	}{
		{"available, available, available", status.CurrentStatus, "3 of 3 available", "Available", "available on 3 of 3 members"},
		{"available, same", status.CurrentStatus, "2 of 2 available", "Available", ""},
		{"available, other failed", status.CurrentStatus, "2 of 2 available", "Available", ""},
		{"reported", status.CurrentStatus, "1 of 1 available", "Available", "available on 1 of 1 member"},
		{"available, not yet", status.InProgressStatus, "1 of 2 available", "ManifestNotAvailableYet", "available on 1 of 2 members; m02: 1 of 3 available"},
		{"available, behind", status.InProgressStatus, "1 of 2 available", "RolloutNotStartedYet", "m02: what was applied last is not released to it yet"},
		{"available, waiting", status.InProgressStatus, "1 of 2 available", "RolloutNotStartedYet", "m02: maxUnavailable is reached"},
		{"available, silent", status.InProgressStatus, "1 of 2 available", "ApplyPending", "m02: it has not answered yet"},
		{"available, old answer", status.InProgressStatus, "1 of 2 available", "ApplyPending", "m02: it has not answered yet"},
		{"available, away", status.InProgressStatus, "1 of 2 available", "NoHeartbeat", "m02: no heartbeat"},
		{"available, applying", status.InProgressStatus, "1 of 2 available", "ApplyInProgress", "m02: reading a bundle"},
		{"available, unsure", status.InProgressStatus, "1 of 2 available", "NotAllWorkAreAvailable", "m02: the member is busy"},
		{"available, cut", status.InProgressStatus, "1 of 2 available", "NotAllTold", "m02: 200 of its 9 objects are in trouble, and it names 0"},
		{"differs beyond", status.InProgressStatus, "0 of 1 available", "NotAllTold", "m01: 200 of its 9 objects differ, and it names 0"},
		{"not yet, frozen", status.InProgressStatus, "0 of 2 available", "Frozen", "m02: waits: placements frozen by anna"},
		{"not yet, withheld", status.InProgressStatus, "0 of 2 available", "WithdrawalHeld", "m02: WithdrawalHeld: too much"},
		{"available, failed", status.FailedStatus, "1 of 2 available, 1 failed", "ManifestApplyFailed", "available on 1 of 2 members; m02: ManifestApplyFailed: denied by policy"},
		{"not yet, frozen, drifted", status.FailedStatus, "0 of 3 available, 1 failed", "FoundDrifts", "m03: FoundDrifts: /spec/replicas (kubectl-edit)"},
		{"overridden", status.FailedStatus, "0 of 1 available, 1 failed", "OverriddenFailed", "m01: OverriddenFailed: override o: no such path"},
		{"differs", status.FailedStatus, "0 of 1 available, 1 failed", "FoundDifferences", "/spec/replicas (kubectl-edit)"},
		{
			"failed, failed, failed, failed, failed, available, failed, failed", status.FailedStatus, "1 of 8 available, 7 failed", "ManifestApplyFailed",
			"m01: ManifestApplyFailed: denied by policy; m02: ManifestApplyFailed: denied by policy; m03: ManifestApplyFailed: denied by policy; and 4 more",
		},
	} {
		for _, kind := range slices.Sorted(maps.Keys(bodies)) {
			f := place(t, bodies[kind], strings.Split(c.does, ", ")...)
			j := f.judge()
			require.Equal(t, c.want, computed(t, &f.object, &j), "%s: %s", kind, c.does)
			require.Equal(t, c.counts, j.Counts(), c.does)
			require.Equal(t, c.reason, j.Reason, c.does)
			require.Contains(t, j.Message, c.message, c.does)
			require.Zero(t, j.Recheck, "nothing that members say ends with time")
		}
	}
}

// In the conditions of each kind stands who fails, and why.
func TestWhoFailsIsNamed(t *testing.T) {
	for kind, body := range bodies {
		f := place(t, body, "available", "failed")
		j := f.judge()
		text, err := json.Marshal(shown(t, &f.object, &j).Object["status"])
		require.NoError(t, err)
		require.Contains(t, string(text), "m02: ManifestApplyFailed: denied by policy", kind)
		require.Contains(t, string(text), `"lastTransitionTime":"2026-11-20T12:01:00Z"`, kind)
	}
}

// Numbers are shares of the spec, rounded down: all of it only where all are available.
func TestReplicasAreSharesOfTheSpec(t *testing.T) {
	for _, c := range []struct {
		kind, does string
		want       map[string]any
	}{
		{"Deployment", "available, available, available", map[string]any{"observedGeneration": 3, "replicas": 7, "updatedReplicas": 7, "readyReplicas": 7, "availableReplicas": 7}},
		{"Deployment", "available, not yet, behind", map[string]any{
			"observedGeneration": 3, "replicas": 7, "updatedReplicas": 4, "readyReplicas": 2, "availableReplicas": 2, "unavailableReplicas": 5,
		}},
		{"Deployment", "silent, silent", map[string]any{"observedGeneration": 3, "replicas": 7, "updatedReplicas": 7, "unavailableReplicas": 7}},
		{"StatefulSet", "available, not yet", map[string]any{
			"observedGeneration": 3, "replicas": 3, "currentReplicas": 3, "updatedReplicas": 3, "readyReplicas": 1, "availableReplicas": 1, "updateRevision": "web-3",
		}},
		{"StatefulSet", "available", map[string]any{
			"observedGeneration": 3, "replicas": 3, "currentReplicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3,
			"updateRevision": "web-3", "currentRevision": "web-3",
		}},
		{"DaemonSet", "available, not yet, behind", map[string]any{
			"observedGeneration": 3, "desiredNumberScheduled": 3, "currentNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": 1,
			"numberAvailable": 1, "numberUnavailable": 2, "numberMisscheduled": 0,
		}},
		{"ReplicaSet", "available", map[string]any{"observedGeneration": 3, "replicas": 1, "fullyLabeledReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}},
		{"Job", "completed, available", map[string]any{"succeeded": 2, "active": 1, "startTime": "2026-11-20T12:00:00Z"}},
		{"Job", "completed, completed", map[string]any{"succeeded": 4, "startTime": "2026-11-20T12:00:00Z"}},
		{"Job", "behind", nil},
		{"PersistentVolumeClaim", "available", map[string]any{"phase": "Bound"}},
		{"PersistentVolumeClaim", "not yet", map[string]any{"phase": "Pending"}},
		{"Namespace", "not yet", map[string]any{"phase": "Active"}},
		{"Service", "available", nil},
		{"CustomResourceDefinition", "available", map[string]any{
			"acceptedNames": map[string]any{"kind": "Shop", "plural": "shops"}, "storedVersions": []any{"v1"},
		}},
	} {
		f := place(t, bodies[c.kind], strings.Split(c.does, ", ")...)
		j := f.judge()
		st := j.Status(&f.object)
		delete(st, "conditions")
		want, err := json.Marshal(c.want)
		require.NoError(t, err)
		if len(st) == 0 {
			st = nil
		}
		have, err := json.Marshal(st)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(have), "%s: %s", c.kind, c.does)
	}
}

// conditionOf is the status and the reason of a condition, as "True Reason".
func conditionOf(o *rollup.Object, j *rollup.Judgement, name string) string {
	conditions, _ := j.Status(o)["conditions"].([]any)
	for _, item := range conditions {
		if c := item.(map[string]any); c["type"] == name {
			return fmt.Sprint(c["status"], " ", c["reason"])
		}
	}
	return ""
}

func TestConditionsOfKinds(t *testing.T) {
	for _, c := range []struct{ kind, does, condition, want string }{
		{"Deployment", "available", "Available", "True MinimumReplicasAvailable"},
		{"Deployment", "available", "Progressing", "True NewReplicaSetAvailable"},
		{"Deployment", "available", "Reconciling", ""},
		{"Deployment", "not yet", "Available", "False MinimumReplicasUnavailable"},
		{"Deployment", "not yet", "Progressing", "True ReplicaSetUpdated"},
		{"Deployment", "not yet", "Reconciling", "True ManifestNotAvailableYet"},
		{"Deployment", "frozen", "Progressing", "Unknown Frozen"},
		{"Deployment", "withheld", "Progressing", "Unknown WithdrawalHeld"},
		{"Deployment", "failed", "Available", "False ManifestApplyFailed"},
		{"Deployment", "failed", "Progressing", "False ProgressDeadlineExceeded"},
		{"Deployment", "failed", "Stalled", "True ManifestApplyFailed"},
		{"Job", "completed", "Complete", "True CompletionsReached"},
		{"Job", "available", "Complete", ""},
		{"Job", "completed, available", "Complete", ""},
		{"Job", "failed", "Failed", "True ManifestApplyFailed"},
		{"Shop", "available", "Ready", "True Available"},
		{"Shop", "frozen", "Ready", "False Frozen"},
		{"Service", "available", "Ready", ""},
		{"CustomResourceDefinition", "available", "Established", "True InitialNamesAccepted"},
		{"CustomResourceDefinition", "not yet", "Established", "False Installing"},
		{"CustomResourceDefinition", "failed", "Established", "False ManifestApplyFailed"},
		{"CustomResourceDefinition", "failed", "NamesAccepted", "True NoConflicts"},
		{"APIService", "available", "Available", "True Available"},
		{"APIService", "not yet", "Available", "False ManifestNotAvailableYet"},
	} {
		f := place(t, bodies[c.kind], strings.Split(c.does, ", ")...)
		j := f.judge()
		require.Equal(t, c.want, conditionOf(&f.object, &j, c.condition), "%s: %s", c.kind, c.does)
	}
}

// rolledOut is what kubectl rollout status says of a Deployment, by the fields that it reads, in its order.
func rolledOut(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	var d appsv1.Deployment
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d))
	if d.Generation > d.Status.ObservedGeneration {
		return "not observed"
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded" {
			return "failed"
		}
	}
	switch s := d.Status; {
	case d.Spec.Replicas != nil && s.UpdatedReplicas < *d.Spec.Replicas, s.Replicas > s.UpdatedReplicas, s.AvailableReplicas < s.UpdatedReplicas:
		return "waiting"
	}
	return "rolled out"
}

// kubectl is never told that a Deployment is rolled out that is on its way, however many replicas it has.
func TestKubectlRolloutStatus(t *testing.T) {
	for _, spec := range []string{"{replicas: 7}", "{replicas: 1}", "{replicas: 0}", "{}"} {
		body := strings.Replace(bodies["Deployment"], "{replicas: 7, progressDeadlineSeconds: 300}", spec, 1)
		for does, want := range map[string]string{
			"available, available, available": "rolled out", "available, available, behind": "waiting", "behind, behind": "waiting",
			"available, failed": "failed", "frozen": "waiting",
		} {
			f := place(t, body, strings.Split(does, ", ")...)
			j := f.judge()
			if spec == "{replicas: 0}" && want == "waiting" {
				want = "not observed"
			}
			require.Equal(t, want, rolledOut(t, shown(t, &f.object, &j)), "%s: %s", spec, does)
		}
		o := object(t, body)
		j := rollup.Judge(&o, nil, noon)
		require.Equal(t, "not observed", rolledOut(t, shown(t, &o, &j)), spec)
		j = rollup.Judge(&o, nil, noon.Add(time.Hour))
		require.Equal(t, "failed", rolledOut(t, shown(t, &o, &j)), spec)
	}
}

// What nothing selects is in progress until its deadline, and then failed; that is all that time does.
func TestNotPlaced(t *testing.T) {
	waits := map[string]status.Status{ // of kinds that mean something without a member
		"Namespace": status.CurrentStatus,
	}
	for kind, body := range bodies {
		o := object(t, body)
		deadline := 10 * time.Minute
		if kind == "Deployment" {
			deadline = 5 * time.Minute
		}
		j := rollup.Judge(&o, nil, noon.Add(deadline-1))
		require.Equal(t, noon.Add(deadline), j.Recheck, kind)
		require.Equal(t, "not placed", j.Counts())
		require.Equal(t, rollup.ReasonNotPlaced, j.Reason)
		want := status.InProgressStatus
		if other, is := waits[kind]; is {
			want = other
		}
		require.Equal(t, want, computed(t, &o, &j), kind)
		late, later := rollup.Judge(&o, nil, j.Recheck), rollup.Judge(&o, nil, noon.Add(time.Hour))
		require.Equal(t, late, later, kind)
		require.Zero(t, late.Recheck)
		if _, is := waits[kind]; !is {
			require.Equal(t, status.FailedStatus, computed(t, &o, &late), kind)
			require.Equal(t, "True NotPlaced", conditionOf(&o, &late, "Stalled"), kind)
		}
	}
}

// A change begins the time anew, and what is made elsewhere waits for nobody.
func TestNotPlacedCountsFromTheLastChange(t *testing.T) {
	o := object(t, bodies["Deployment"])
	o.Spec.Changed = metav1.NewTime(noon.Add(time.Hour))
	j := rollup.Judge(&o, nil, noon.Add(time.Hour))
	require.Equal(t, noon.Add(time.Hour+5*time.Minute), j.Recheck)
	o = object(t, bodies["ReplicaSet"])
	o.Spec.Excluded = "its owner makes it"
	j = rollup.Judge(&o, nil, noon.Add(time.Hour))
	require.Zero(t, j.Recheck)
	require.Nil(t, j.Status(&o))
}

// Kinds that have no conditions get none.
func TestKindsWithoutAStatus(t *testing.T) {
	for _, body := range []string{
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}}`,
		`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web, namespace: shop}}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: web}}`,
	} {
		f := place(t, body, "failed")
		j := f.judge()
		require.Nil(t, j.Status(&f.object), body)
		require.Equal(t, "0 of 1 available, 1 failed", j.Counts())
	}
}

// A placement that is not decided, frozen, short of members, or held where it is to leave keeps its objects in progress.
func TestThePlacementAsAWhole(t *testing.T) {
	for what, c := range map[string]struct {
		change                  func(*fleet)
		counts, reason, message string
	}{
		"not scheduled":               {func(f *fleet) { f.p.Schedule = nil }, "0 of 0 available", "Unscheduled", "it is not decided yet on which members it is placed"},
		"of another placement":        {func(f *fleet) { f.p.Schedule.UID = "other" }, "0 of 0 available", "Unscheduled", ""},
		"scheduled before it changed": {func(f *fleet) { f.p.Placement.Generation = 2 }, "1 of 1 available", "Unscheduled", ""},
		"short": {func(f *fleet) {
			f.p.Schedule.Fulfilled, f.p.Schedule.Message, f.p.Schedule.Want = false, "found 1 of 3 members", new(int32(3))
		}, "1 of 3 available", "Unscheduled", "available on 1 of 3 members; found 1 of 3 members"},
		"on no member": {func(f *fleet) { f.p.Schedule.Bindings, f.p.Schedule.Message = nil, "found 0 members" }, "0 of 0 available", "Unscheduled", "found 0 members"},
		"frozen before it was": {func(f *fleet) {
			f.p.Schedule, f.p.Frozen = nil, &api.Freeze{Scope: api.FreezePlacements, By: "anna"}
		}, "0 of 0 available", "Frozen", "waits: placements frozen by anna; flotilla unfreeze placements"},
		"held where it leaves": {func(f *fleet) {
			f.p.Release.Held = []api.Held{{Member: "gone", Reason: "WithdrawalHeld: all", Guarded: true, Loss: api.Loss{Objects: 4, Whole: true}}}
		}, "1 of 1 available", "WithdrawalHeld", "1 member would lose it; WithdrawalHeld: all"},
		"pinned": {func(f *fleet) {
			f.p.Latest.Undo = &api.Undo{Selected: "w"}
			f.object.Spec.Digest = "d4"
		}, "0 of 1 available", "Pinned", "the placement was taken back to an earlier snapshot"},
	} {
		f := place(t, bodies["Deployment"], "available")
		c.change(f)
		j := f.judge()
		require.Equal(t, status.InProgressStatus, computed(t, &f.object, &j), what)
		require.Equal(t, c.counts, j.Counts(), what)
		require.Equal(t, c.reason, j.Reason, what)
		require.Contains(t, j.Message, c.message, what)
	}
	for _, does := range []string{"behind", "waiting"} {
		f := place(t, bodies["Deployment"], does)
		f.p.Frozen = &api.Freeze{Scope: api.FreezePlacements, By: "anna"}
		j := f.judge()
		require.Equal(t, rollup.ReasonFrozen, j.Reason, does)
	}
	f := place(t, bodies["Deployment"], "available")
	f.p.Frozen = &api.Freeze{Scope: api.FreezePlacements, By: "anna"}
	f.p.Release.Held = []api.Held{{Member: "gone", Reason: "WithdrawalHeld: few", Guarded: true, Loss: api.Loss{Objects: 4, To: 3}}}
	f.p.Schedule.Bindings = append(f.p.Schedule.Bindings, api.Binding{Member: "kept", Waiting: true})
	j := f.judge()
	require.Equal(t, status.CurrentStatus, computed(t, &f.object, &j), "nothing of it waits")
	require.Equal(t, "1 of 1 available", j.Counts(), "a member that is only kept is not waited for")
}

// An object that two placements select is on the members of both.
func TestTwoPlacements(t *testing.T) {
	one, two := place(t, bodies["Deployment"], "available", "available"), place(t, bodies["Deployment"], "not yet")
	j := rollup.Judge(&one.object, []*rollup.Standing{rollup.Gather(one.p), rollup.Gather(two.p)}, noon)
	require.Equal(t, "2 of 3 available", j.Counts())
	require.Equal(t, status.InProgressStatus, computed(t, &one.object, &j))
}

// What lies in an envelope is another object than that of its name on the hub.
func TestWhatLiesInAnEnvelopeIsNotTheObject(t *testing.T) {
	f := place(t, bodies["Deployment"], "available")
	standing := rollup.Gather(f.p)
	require.True(t, standing.Selects(&f.object.Spec.Object))
	f.p.Latest.Manifests[0].Envelope = "ResourceEnvelope/shop/a"
	standing = rollup.Gather(f.p)
	require.False(t, standing.Selects(&f.object.Spec.Object))
}

func BenchmarkJudge(b *testing.B) {
	const members, objects = 1000, 1000
	latest := &api.Snapshot{UID: "u", Index: 1}
	for i := range objects {
		latest.Manifests = append(latest.Manifests, api.Manifest{
			ObjectRef: api.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: fmt.Sprint("web-", i)}, Digest: fmt.Sprint(i),
		})
	}
	p := rollup.Placement{
		Placement: &api.Placement{ObjectMeta: metav1.ObjectMeta{UID: "u"}}, Schedule: &api.Schedule{UID: "u", Fulfilled: true}, Release: &api.Release{}, Latest: latest,
		Snapshot: func(int64) *api.Snapshot { return latest },
		Heard: func(string) (*api.PlacementResult, api.MemberState) {
			return &api.PlacementResult{UID: "u", Applied: "True", Available: "True"}, api.MemberReady
		},
	}
	for i := range members {
		name := fmt.Sprintf("m%04d", i)
		p.Schedule.Bindings = append(p.Schedule.Bindings, api.Binding{Member: name})
		p.Release.Entries = append(p.Release.Entries, api.ReleaseEntry{Member: name, UID: "u", Snapshot: 1})
	}
	for b.Loop() {
		standing := rollup.Gather(p)
		for i := range latest.Manifests {
			spec := &api.Spec{Object: latest.Manifests[i].ObjectRef, Digest: latest.Manifests[i].Digest}
			j := rollup.Judge(&rollup.Object{Spec: spec}, []*rollup.Standing{standing}, noon)
			if j.Available != members {
				b.Fatal(j.Message)
			}
		}
	}
}

// A definition tells the names that it was given, and the versions that are stored; one that lacks either tells none.
func TestWhatADefinitionHasAccepted(t *testing.T) {
	const head = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: web}, spec: {"
	for spec, want := range map[string]map[string]any{
		"names: {kind: Shop}, versions: [{name: v1, storage: true}, {name: v2}]": {"acceptedNames": map[string]any{"kind": "Shop"}, "storedVersions": []any{"v1"}},
		"versions: []": {"storedVersions": []any{}},
		"names: odd":   {"storedVersions": []any{}},
	} {
		f := place(t, head+spec+"}}", "available")
		j := f.judge()
		told := j.Status(&f.object)
		for _, field := range []string{"acceptedNames", "storedVersions"} {
			require.Equal(t, want[field], told[field], "%s of %s", field, spec)
			_, there := told[field]
			require.Equal(t, want[field] != nil, there)
		}
	}
}

package contract

import (
	"context"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/core/apply"
)

// diff is what the agent finds of a wanted object, after it asked for a preview of what seems to differ.
func (s *suite) diff(strategy *api.ApplyStrategy, object *unstructured.Unstructured) apply.Plan {
	s.Helper()
	m := apply.Manifest{Manifest: api.Manifest{ObjectRef: apply.RefOf(object), Digest: "d1"}, Object: object}
	wanted := apply.Wanted{Owner: s.owner, Strategy: strategy, Manifests: []apply.Manifest{m}, Previews: map[apply.Identity]*unstructured.Unstructured{}}
	live := []*unstructured.Unstructured{s.get(apply.RefOf(object))}
	for _, ref := range apply.Diff(wanted, live).Suspects {
		made, err := s.Target().Preview(s.Context(), over(s.write(object, "d1"), live[0]))
		require.NoError(s, err)
		wanted.Previews[apply.IdentityOf(ref)] = made
	}
	return apply.Diff(wanted, live)
}

// driftCases are about what others change.
var driftCases = map[string]func(*suite){
	"drift/what was just written has none": func(s *suite) {
		for _, text := range workloads {
			object := s.parse(text)
			s.applied(object)
			plan := s.diff(&api.ApplyStrategy{WhenToApply: api.WhenToApplyIfNotDrift}, object)
			require.Equal(s, fmt.Sprintf("0 keep %s\n", apply.RefOf(object)), withoutWave(plan.String()))
		}
	},
	"drift/a change by another hand is named with it": func(s *suite) {
		object := s.config("web", map[string]any{"a": "1", "b": "2"})
		live := s.applied(object)
		s.Edit(apply.RefOf(live), set("theirs", "data", "a"))
		plan := s.diff(nil, object)
		require.Equal(s, "0 replace "+apply.RefOf(object).String()+": drifted at /data/a ("+Editor+")\n", withoutWave(plan.String()))
	},
	"drift/what is taken away is found": func(s *suite) {
		object := s.config("web", map[string]any{"a": "1", "b": "2"})
		live := s.applied(object)
		s.Edit(apply.RefOf(live), func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "data", "b") })
		require.Equal(s, "0 replace "+apply.RefOf(object).String()+": drifted at /data/b\n", withoutWave(s.diff(nil, object).String()))
	},
	"drift/what is added is none, but for a full comparison": func(s *suite) {
		object := s.config("web", map[string]any{"a": "1"})
		live := s.applied(object)
		s.Edit(apply.RefOf(live), set("theirs", "data", "c"))
		require.Zero(s, s.diff(nil, object).Writes())
		plan := s.diff(&api.ApplyStrategy{ComparisonOption: api.CompareFull}, object)
		require.Zero(s, plan.Writes())
		require.Equal(s, []api.DifferingObject{{
			ObjectRef: apply.RefOf(object), Total: 1, Differences: []api.Difference{{Path: "/data/c", Manager: Editor}},
		}}, plan.Differing)
	},
	"drift/a workload that was scaled is found": func(s *suite) {
		object := s.parse(workloads[0])
		live := s.applied(object)
		s.Edit(apply.RefOf(live), set(int64(3), "spec", "replicas"))
		require.Contains(s, s.diff(nil, object).String(), ": drifted at /spec/replicas ("+Editor+")")
	},
	"drift/a preview writes nothing": func(s *suite) {
		live := s.applied(s.config("web", map[string]any{"a": "1"}))
		s.Edit(apply.RefOf(live), set("theirs", "data", "b"))
		before := s.get(apply.RefOf(live))
		made, err := s.Target().Preview(s.Context(), over(s.write(s.config("web", map[string]any{"a": "2"}), "d2"), live))
		require.NoError(s, err)
		require.Equal(s, map[string]any{"a": "2", "b": "theirs"}, made.Object["data"])
		require.Equal(s, before, s.get(apply.RefOf(live)))
	},
	"watch/a change by another hand is told of with its owner": func(s *suite) {
		told := s.watching(s.Target())
		live := s.applied(s.config("web", map[string]any{"a": "1"}))
		told()
		s.Edit(apply.RefOf(live), set("theirs", "data", "a"))
		told()
		s.Remove(apply.RefOf(live))
		told()
	},
	"watch/all who watch are told": func(s *suite) {
		first, second := s.watching(s.Target()), s.watching(s.Target())
		s.applied(s.config("web", map[string]any{"a": "1"}))
		first()
		second()
	},
	"watch/who watches no more has a channel that is closed": func(s *suite) {
		ctx, cancel := context.WithCancel(s.Context())
		changes := s.Target().Watch(ctx)
		cancel()
		for range changes { // until it is closed
		}
	},
}

// watching watches a target, and returns what waits until a change of the case's owner is told.
func (s *suite) watching(at target.Target) (told func()) {
	s.Helper()
	changes := at.Watch(s.Context())
	require.NotNil(s, changes)
	return func() {
		s.Helper()
		for change := range changes {
			if slices.Contains(change.Owners, s.owner.String()) {
				return
			}
		}
		require.Fail(s, "the channel was closed")
	}
}

// withoutWave begins a line with the first wave, whichever it is in.
func withoutWave(plan string) string {
	if plan == "" {
		return plan
	}
	return "0" + plan[1:]
}

// workloads are objects of many kinds as people write them, with what API servers fill in or write otherwise.
var workloads = []string{
	`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: NS}, spec: {replicas: 1, selector: {matchLabels: {app: web}},
	  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "registry.example/web:v1",
	  ports: [{containerPort: 80}], resources: {requests: {cpu: 1000m, memory: 0.5Gi}}}]}}}}`,
	`{apiVersion: v1, kind: Service, metadata: {name: web, namespace: NS}, spec: {selector: {app: web}, ports: [{port: 80}]}}`,
	`{apiVersion: v1, kind: Secret, metadata: {name: web, namespace: NS}, stringData: {password: hunter2}}`,
	`{apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: NS}}`,
	`{apiVersion: v1, kind: ResourceQuota, metadata: {name: web, namespace: NS}, spec: {hard: {cpu: 4000m, memory: 4096Mi}}}`,
	`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: NS}, spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}}`,
	`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: web, namespace: NS}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`,
}

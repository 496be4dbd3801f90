//go:build e2e

package e2e

import (
	"context"
	"fmt"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// overriddenOnOne gives one member another value than the others, and takes that back; who patches on the way is the hub, and the API
// server takes what comes of it.
func overriddenOnOne(p *placed) {
	override := `{apiVersion: placement.kubernetes-fleet.io/v1beta1, kind: ResourceOverride, metadata: {name: by-member, namespace: NS}, spec: {
  placement: {name: NS}, resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: web}], policy: {overrideRules: [{
    clusterSelector: {clusterSelectorTerms: [{labelSelector: {matchLabels: {kubernetes-fleet.io/member-name: m2}}}]},
    jsonPatchOverrides: [{op: replace, path: /data/a, value: "of ${MEMBER-CLUSTER-NAME}"}, {op: add, path: /metadata/labels, value: {patched: "yes"}}]}]}}}`
	p.apply(byServer, []string{config("one"), override})
	p.available()
	require.Equal(p, "yes", p.holds(clusterOf(p.TB, "m2"), "of m2").Labels["patched"])
	for _, other := range []string{"m1", "m3"} {
		require.NotContains(p, p.holds(clusterOf(p.TB, other), "one").Labels, "patched")
	}
	p.run("delete", "ro", "by-member", "-n", p.name)
	require.NotContains(p, p.holds(clusterOf(p.TB, "m2"), "one").Labels, "patched")
}

// undone goes back to the content before, also where objects came and went in between.
func undone(p *placed) {
	p.apply(byServer, []string{config("one"), "{apiVersion: v1, kind: ConfigMap, metadata: {name: beside, namespace: NS}, data: {a: stays}}"})
	p.available()
	p.run("delete", "configmap", "beside", "-n", p.name)
	p.apply(byServer, []string{config("two")})
	for _, member := range members {
		p.holds(clusterOf(p.TB, member), "two")
	}
	p.run("rollout", "undo", "placement/"+p.name, "--to-revision", "1")
	for _, member := range members {
		c := clusterOf(p.TB, member)
		p.holds(c, "one")
		p.until(func(ctx context.Context) error {
			_, err := c.Clients().CoreV1().ConfigMaps(p.name).Get(ctx, "beside", metav1.GetOptions{})
			return err
		})
	}
	require.Contains(p, p.run("rollout", "status", "placement/"+p.name), "pinned")
}

// stagedWithApproval brings content to one member, and to the others once somebody agrees.
func stagedWithApproval(p *placed) {
	p.applyObjects([]string{
		config("one"), `{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterStagedUpdateStrategy, metadata: {name: NS}, spec: {stages: [
  {name: first, labelSelector: {matchLabels: {kubernetes-fleet.io/member-name: m1}}},
  {name: others, labelSelector: {matchExpressions: [{key: kubernetes-fleet.io/member-name, operator: NotIn, values: [m1]}]}, maxConcurrency: 2, beforeStageTasks: [{type: Approval}]}]}}`,
		`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacement, metadata: {name: NS}, spec: {
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: NS}], policy: {placementType: PickAll}, strategy: {type: External}}}`,
		`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterStagedUpdateRun, metadata: {name: NS}, spec: {placementName: NS, stagedRolloutStrategyName: NS, state: Run}}`,
	})
	p.run("wait", "csur/"+p.name, "--for=jsonpath={.status.stages[1].status.state}=Pending", "--timeout=2m")
	p.holds(clusterOf(p.TB, "m1"), "one")
	for _, waits := range []string{"m2", "m3"} {
		require.NoError(p, gone(p.Context(), clusterOf(p.TB, waits), p.name))
	}
	p.run("run", "approve", p.name)
	p.run("wait", "csur/"+p.name, "--for=jsonpath={.status.status.state}=Completed", "--timeout=2m")
	for _, member := range members {
		p.holds(clusterOf(p.TB, member), "one")
	}
}

// rolledBack gives one member an image that crashes there: the check of the rollout fails, and the member goes back by itself before
// the others get it.
func rolledBack(p *placed) {
	placement := `{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacement, metadata: {name: NS, annotations: {flotilla.io/rollout-check: NS}}, spec: {
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: NS}], policy: {placementType: PickAll}, strategy: {rollingUpdate: {maxUnavailable: 1, unavailablePeriodSeconds: 0}}}}`
	p.applyObjects([]string{
		`{apiVersion: flotilla.io/v1alpha1, kind: RolloutCheck, metadata: {name: NS}, spec: {
  soak: 1s, interval: 1s, failureLimit: 1, onFailure: RollBack, checks: [{name: available, availability: {within: 30s}}]}}`,
		deployment("registry.example/web:v1", 1), placement,
	})
	for _, member := range members {
		p.until(func(ctx context.Context) error { return p.runs(ctx, member, "registry.example/web:v1") })
	}
	p.run("wait", "placement/"+p.name, "--for=jsonpath={.status.checks.phase}=Passed", "--timeout=2m")
	p.applyObjects([]string{deployment("registry.example/web:crash", 1)})
	p.run("wait", "placement/"+p.name, "--for=jsonpath={.status.checks.phase}=RolledBack", "--timeout=2m")
	for _, member := range members {
		require.NoError(p, p.runs(p.Context(), member, "registry.example/web:v1"))
	}
	require.Regexp(p, `(?s)RolloutChecksFailed.*CrashLoopBackOff.*RolloutRolledBack`, p.run("events", "placement/"+p.name))
}

// runs is an error until the Deployment of the case is available on a member at an image.
func (p *placed) runs(ctx context.Context, member, image string) error {
	c := clusterOf(p.TB, member)
	found, err := c.Clients().AppsV1().Deployments(p.name).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if is := found.Spec.Template.Spec.Containers[0].Image; is != image {
		return fmt.Errorf("%s runs %s, expected %s", member, is, image)
	}
	return available(ctx, c, p.name, "web")
}

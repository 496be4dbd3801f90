package house

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// region gives a member a region.
func region(name, region string) string {
	return fmt.Sprintf("apiVersion: cluster.kubernetes-fleet.io/v1\nkind: MemberCluster\nmetadata: {name: %s, labels: {region: %s}}\n---\n", name, region)
}

// overridden is an override of a ConfigMap: its members of region eu hold what eu gives, and every member of region us is
// told its own name.
func overridden(name, placement, eu string) string {
	return fmt.Sprintf(`
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourceOverride
metadata: {name: by-region, namespace: %[1]s}
spec:
  %[2]s
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: %[1]s}]
  policy:
    overrideRules:
    - clusterSelector: {clusterSelectorTerms: [{labelSelector: {matchLabels: {region: eu}}}]}
      jsonPatchOverrides: [{op: replace, path: /data/value, value: %[3]q}]
    - clusterSelector: {clusterSelectorTerms: [{labelSelector: {matchLabels: {region: us}}}]}
      jsonPatchOverrides: [{op: add, path: /data/value, value: "${MEMBER-CLUSTER-NAME} in ${MEMBER-CLUSTER-LABEL-KEY-region}"}]
`, name, placement, eu)
}

// An override by region: members hold what it makes of an object, each its own, and the others what was applied. A change of
// one that is for a placement goes out at once, one that is for all waits for the next change of content, also when the hub
// is killed on the way; and the agent knows nothing of it.
func TestOverridesByRegion(t *testing.T) {
	t.Parallel()
	h := newHouse(t, four...)
	h.apply(t, region("berlin", "eu")+region("oslo", "eu")+region("paris", "us")+region("lima", "asia")+
		content("shop", "one")+overridden("shop", "placement: {name: shop}", "one of eu")+pickAll("shop"))
	h.converged(t, "shop", 4)
	wanted := map[string]string{"berlin": "one of eu", "oslo": "one of eu", "paris": "paris in us", "lima": "one"}
	h.hold(t, "shop", wanted)
	row := h.row(t, "shop", "paris")
	require.Equal(t, []api.NamespacedOverride{{Namespace: "shop", Name: "by-region"}}, row.ApplicableResourceOverrides)
	require.Equal(t, "OverriddenSucceeded", conditionOf(row, "Overridden").Reason)
	require.Equal(t, "NoOverrideSpecified", conditionOf(h.row(t, "shop", "lima"), "Overridden").Reason)
	file := filepath.Join(t.TempDir(), "shop.yaml")
	require.NoError(t, os.WriteFile(file, []byte(pickAll("shop")), 0o600))
	planned, code := h.flotilla(t, "plan", "-f", file)
	require.Zero(t, code, planned)
	require.NotContains(t, planned, "changes", "what overrides made is what is to run")
	require.NotContains(t, planned, "waits")

	h.apply(t, overridden("shop", "placement: {name: shop}", "two of eu"))
	h.hub.Kill()
	h.hub.Start(t)
	wanted["berlin"], wanted["oslo"] = "two of eu", "two of eu"
	h.hold(t, "shop", wanted)

	h.apply(t, "apiVersion: cluster.kubernetes-fleet.io/v1\nkind: MemberCluster\nmetadata: {name: lima, labels: {region: us}}\n")
	wanted["lima"] = "lima in us"
	h.hold(t, "shop", wanted)

	out, code := h.flotilla(t, "delete", "ro", "by-region", "-n", "shop")
	require.Zero(t, code, out)
	h.hold(t, "shop", map[string]string{"berlin": "one", "oslo": "one", "paris": "one", "lima": "one"})

	h.apply(t, overridden("shop", "", "three of eu"))
	h.apply(t, content("other", "x")+pickAll("other"))
	h.converged(t, "other", 4) // whatever was to come of the override has come by now
	require.NoError(t, holds(h.members["berlin"], "shop", "one"), "an override for all placements waits for a change of content")
	h.apply(t, content("shop", "two"))
	h.hold(t, "shop", map[string]string{"berlin": "three of eu", "oslo": "three of eu", "paris": "paris in us", "lima": "lima in us"})
	h.converged(t, "shop", 4)
	for _, name := range four {
		requireCleanHistory(t, h.members[name])
	}
}

// A patch that fails on one member names the member, the override and the path; the member keeps what it runs, the others go
// on, and nothing is tried again until the override or the label that it asks for changes.
func TestAnOverrideThatCannotBeFollowed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "berlin", "paris")
	h.apply(t, region("berlin", "eu")+content("shop", "one")+pickAll("shop"))
	h.converged(t, "shop", 2)
	h.apply(t, content("shop", "two")+`
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourceOverride
metadata: {name: marked}
spec:
  clusterResourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  policy:
    overrideRules:
    - clusterSelector: {}
      jsonPatchOverrides: [{op: add, path: /metadata/labels, value: {region: "${MEMBER-CLUSTER-LABEL-KEY-region}"}}]
`)
	bustest.EventuallyIn(t, patience, func() error { return holds(h.members["berlin"], "shop", "two") })
	require.Equal(t, "eu", live(h.members["berlin"], "ConfigMap", "shop").GetLabels()["region"])
	require.Equal(t, "eu", live(h.members["berlin"], "Namespace", "shop").GetLabels()["region"])
	bustest.EventuallyIn(t, patience, func() error {
		c := conditionOf(h.row(t, "shop", "paris"), "Overridden")
		if c.Reason != "OverriddenFailed" || !strings.Contains(c.Message, `ClusterResourceOverride/marked: `) ||
			!strings.Contains(c.Message, `spec.policy.overrideRules[0].jsonPatchOverrides[0].value: paris has no label "region"`) {
			return fmt.Errorf("%+v", c)
		}
		return nil
	})
	require.NoError(t, holds(h.members["paris"], "shop", "one"))
	p, err := h.placement(t, "shop")
	require.NoError(t, err)
	require.Equal(t, 1, p.Status.Counts.Failed)
	out, _ := h.flotilla(t, "status")
	require.Contains(t, out, "OverriddenFailed")

	h.apply(t, region("paris", "us"))
	h.hold(t, "shop", map[string]string{"berlin": "two", "paris": "two"})
	h.converged(t, "shop", 2)
	require.Equal(t, "us", live(h.members["paris"], "ConfigMap", "shop").GetLabels()["region"])
}

// hold waits until members hold a ConfigMap with values.
func (h *house) hold(t *testing.T, name string, values map[string]string) {
	t.Helper()
	bustest.EventuallyIn(t, patience, func() error {
		for member, value := range values {
			if err := holds(h.members[member], name, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// row is what the status of a placement says of a member.
func (h *house) row(t *testing.T, placement, member string) api.PerMemberStatus {
	t.Helper()
	var raw json.RawMessage
	require.NoError(t, h.request(t, api.VerbGet, api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: placement}, &raw))
	var p api.Placement
	require.NoError(t, json.Unmarshal(raw, &p))
	for _, row := range p.Status.PlacementStatuses {
		if row.ClusterName == member {
			return row
		}
	}
	return api.PerMemberStatus{}
}

func conditionOf(row api.PerMemberStatus, kind string) metav1.Condition {
	for _, c := range row.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

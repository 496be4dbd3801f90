package house

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// tier gives a member a tier, and a place in it.
func tier(name, tier string, order int) string {
	return fmt.Sprintf("apiVersion: cluster.kubernetes-fleet.io/v1\nkind: MemberCluster\nmetadata: {name: %s, labels: {tier: %s, order: \"%d\"}}\n---\n", name, tier, order)
}

// external is a placement of a namespace that staged runs bring to all members.
func external(name string) string {
	return fmt.Sprintf(`
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterResourcePlacement
metadata: {name: %[1]s}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: %[1]s}]
  policy: {placementType: PickAll}
  strategy: {type: External}
`, name)
}

const canaryThenProd = `
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterStagedUpdateStrategy
metadata: {name: waves}
spec:
  stages:
  - name: canary
    labelSelector: {matchLabels: {tier: canary}}
  - name: prod
    labelSelector: {matchLabels: {tier: prod}}
    sortingLabelKey: order
    maxConcurrency: 2
    beforeStageTasks: [{type: Approval}]
`

func stagedRun(name, placement, state string) string {
	return fmt.Sprintf(`
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterStagedUpdateRun
metadata: {name: %s}
spec: {placementName: %s, stagedRolloutStrategyName: waves, state: %s}
`, name, placement, state)
}

// A placement of strategy External moves nobody by itself: a staged run brings what it selects, stage after stage, and waits
// for an approval in between, also when the hub is killed on the way; nobody else can begin another run meanwhile.
func TestAStagedRunBringsContentInStages(t *testing.T) {
	t.Parallel()
	h := newHouse(t, four...)
	for _, name := range four { // who is picked once the run has begun is not in it
		h.memberIs(t, name, func(status *api.MemberClusterStatus) bool { return status.State == api.MemberReady })
	}
	h.apply(t, tier("berlin", "canary", 1)+tier("lima", "prod", 3)+tier("oslo", "prod", 2)+tier("paris", "prod", 1)+
		content("shop", "one")+external("shop")+canaryThenProd+stagedRun("shop-1", "shop", "Run"))
	h.runIs(t, "shop-1", "Pending: berlin Completed, lima NotStarted, oslo NotStarted, paris NotStarted")
	h.hold(t, "shop", map[string]string{"berlin": "one"})
	for _, name := range []string{"lima", "oslo", "paris"} {
		require.Error(t, holds(h.members[name], "shop", "one"))
	}
	h.hub.Kill()
	h.hub.Start(t)
	h.runIs(t, "shop-1", "Pending: berlin Completed, lima NotStarted, oslo NotStarted, paris NotStarted")
	out, code := h.flotilla(t, "run", "approve", "shop-1")
	require.Zero(t, code, out)
	h.runIs(t, "shop-1", "Completed: berlin Completed, lima Completed, oslo Completed, paris Completed")
	h.hold(t, "shop", map[string]string{"berlin": "one", "lima": "one", "oslo": "one", "paris": "one"})
	h.converged(t, "shop", 4)

	h.apply(t, content("shop", "two"))
	h.apply(t, content("other", "x")+pickAll("other"))
	h.converged(t, "other", 4) // whatever was to come of the change has come by now
	require.NoError(t, holds(h.members["berlin"], "shop", "one"), "without a run nobody moves")

	h.apply(t, stagedRun("shop-2", "shop", "Run"))
	h.hold(t, "shop", map[string]string{"berlin": "two", "lima": "one", "oslo": "one", "paris": "one"})
	h.runIs(t, "shop-2", "Pending: berlin Completed, lima NotStarted, oslo NotStarted, paris NotStarted")
	require.ErrorContains(t, h.tryToApply(t, stagedRun("shop-3", "shop", "Run")), "run shop-2 brings placement shop to members and is Pending; one run of a placement at a time")

	out, code = h.flotilla(t, "get", "csur")
	require.Zero(t, code, out)
	require.Regexp(t, `(?m)^shop-2 +Pending +shop +2 +2/3 prod +1/4 +gate prod/before/Approval`, out)
	out, _ = h.flotilla(t, "run", "status", "shop-2")
	require.Regexp(t, `run shop-2 +Pending +1/4 +snapshot 2 of placement shop`, out)
	out, code = h.flotilla(t, "describe", "csur/shop-2")
	require.Zero(t, code, out)
	require.Contains(t, out, "UpdateRunWaiting")
	out, code = h.flotilla(t, "run", "stop", "shop-2")
	require.Zero(t, code, out)
	h.runIs(t, "shop-2", "Stopped: berlin Completed, lima NotStarted, oslo NotStarted, paris NotStarted")
}

// inNamespace is a ResourcePlacement of a ConfigMap with its strategy and its run, which waits for an approval before it
// begins and for one behind it.
func inNamespace(name string) string {
	return fmt.Sprintf(`
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: %[1]s-namespace}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: %[1]s, selectionScope: NamespaceOnly}]
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {name: settings, namespace: %[1]s}
spec:
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: %[1]s}]
  strategy: {type: External}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: StagedUpdateStrategy
metadata: {name: all, namespace: %[1]s}
spec:
  stages:
  - {name: all, labelSelector: {}, beforeStageTasks: [{type: Approval}], afterStageTasks: [{type: Approval}]}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: StagedUpdateRun
metadata: {name: settings-1, namespace: %[1]s}
spec: {placementName: settings, stagedRolloutStrategyName: all, state: Run}
`, name)
}

func approval(namespace, run, side string) string {
	return fmt.Sprintf(`
apiVersion: placement.kubernetes-fleet.io/v1
kind: ApprovalRequest
metadata: {name: %[2]s-%[3]s-all, namespace: %[1]s}
spec: {parentStageRollout: %[2]s, targetStage: all}
status: {conditions: [{type: Approved, status: "True", observedGeneration: 1, reason: agreed, message: by the shop}]}
`, namespace, run, side)
}

// A run in a namespace does the same for a ResourcePlacement, and who applies an approval request with the condition
// Approved approves, as an event of the run says; before the run has come to it there is none.
func TestAStagedRunOfANamespaceIsApprovedByApply(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "berlin")
	h.memberIs(t, "berlin", func(status *api.MemberClusterStatus) bool { return status.State == api.MemberReady })
	h.apply(t, content("shop", "one")+inNamespace("shop"))
	run := func(want string) {
		t.Helper()
		bustest.EventuallyIn(t, patience, func() error {
			out, _ := h.flotilla(t, "run", "status", "settings-1", "-n", "shop")
			if !regexp.MustCompile(want).MatchString(out) {
				return fmt.Errorf("%s: expected %s", out, want)
			}
			return nil
		})
	}
	run(`run shop/settings-1 +Pending +0/1 +snapshot 1 of placement shop/settings`)
	require.ErrorContains(t, h.tryToApply(t, approval("shop", "settings-1", "after")), "run shop/settings-1 has come to no approval settings-1-after-all of stage all")
	h.apply(t, approval("shop", "settings-1", "before"))
	run(`berlin +Completed`)
	h.hold(t, "shop", map[string]string{"berlin": "one"})
	out, code := h.flotilla(t, "get", "areq", "-n", "shop")
	require.Zero(t, code, out)
	require.Regexp(t, `(?s)settings-1-after-all +settings-1 +all +False.*settings-1-before-all +settings-1 +all +True`, out)
	require.Equal(t, api.ActionUnchanged, h.apply(t, approval("shop", "settings-1", "before")).Results[0].Action)
	out, code = h.flotilla(t, "run", "approve", "settings-1", "-n", "shop")
	require.Zero(t, code, out)
	run(`run shop/settings-1 +Completed`)
	out, _ = h.flotilla(t, "events", "sur/settings-1", "-n", "shop")
	require.Regexp(t, `Asked .*run-approve all/before/Approval`, out)
}

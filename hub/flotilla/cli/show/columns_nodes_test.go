package show

import (
	"testing"

	"flotilla/hub/flotilla/cli/clitest"

	"github.com/stretchr/testify/require"
)

func TestTablesOfNodeKinds(t *testing.T) {
	require.Equal(t, `ID            MEMBER   REASON          METHOD   PHASE             NODES         REPLACEMENT                 SAVINGS   AGE   MESSAGE
single-4-aa   berlin   Underutilized   single   Launching         n1,n2,n3,+2   a/d2,n9(ready),n8(failed)   0.2500    2m    waiting for 2 of 3 replacements, the first of which was asked for a good while ago already, and the second not so long …
drift-5-bb    oslo     Drifted         drift    Aborted,Undoing   n1            -                           -0.1000   60s   waits for pod shop/web-1: PodDisruptionBudget web needs 2 healthy pods and has 2 currently; pod a/b, whose turn comes l…
`, printed(t, Output{}, false, clitest.ObjectsOf(t, disrupted, undone)...))
	require.Equal(t, `MEMBER   NAME   POOL   TYPE   ZONE   CAPACITY   PODS   CPU       MEM      PRICE    AGE   STATUS                                   VERDICT   DISRUPTION   WHY
berlin   n1     a      d2     z-a    spot       3      1.3/3.9   1/16Gi   0.1000   3h    Disrupting,Draining,SchedulingDisabled   Queued    x            it goes
`, printed(t, Output{Format: "wide"}, false, clitest.ObjectsOf(t, clitest.CordonedNode)...))
	require.Equal(t, `NAME   MEMBERS   NODES   DISRUPTING   ALLOWED                                                 POLICY                     EXPIRE   AGE   WARNINGS
a      2         4       1            Empty 3, Underutilized 3, Drifted no limit, Expired 3   WhenEmpty                  24h      3h    deleting: berlin: 3 nodes; oslo: 1 node
b      1         1       0            1                                                       WhenEmptyOrUnderutilized   720h     3h    BudgetLint (1)
`, printed(t, Output{}, false, clitest.ObjectsOf(t, goingPool, lintedPool)...))
}

const disrupted = `
apiVersion: flotilla.io/v1alpha1
kind: NodeDisruption
metadata: {name: single-4-aa, creationTimestamp: "2026-03-01T11:58:00Z"}
spec: {member: berlin}
status:
  {id: single-4-aa, reason: Underutilized, method: single, phase: Launching, nodes: [n1, n2, n3, n4, n5], savings: 0.25,
   message: "waiting for 2 of 3 replacements, the first of which was asked for a good while ago already, and the second not so long ago, but long enough",
   moves: [{pod: a/b, from: n1, to: new-0}],
   replacements: [{pool: a, instanceTypes: [d2, d4]}, {pool: a, node: n9, initialized: true, instanceTypes: [d2]}, {pool: b, node: n8, failed: no capacity}]}
`

const undone = `
apiVersion: flotilla.io/v1alpha1
kind: NodeDisruption
metadata: {name: drift-5-bb, creationTimestamp: "2026-03-01T11:59:00Z"}
spec: {member: oslo}
status: {id: drift-5-bb, reason: Drifted, method: drift, phase: Aborted, drift: NodeClassDrifted, nodes: [n1], savings: -0.1,
  message: "node n1 waits for pod shop/web-1, whose eviction was refused: Cannot evict pod as it would violate the pod's disruption budget: the disruption budget web needs 2 healthy pods and has 2 currently; pod a/b, whose turn comes later"}
`

const goingPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a, creationTimestamp: "2026-03-01T09:00:00Z", deletionTimestamp: "2026-03-01T11:00:00Z"}
spec: {template: {spec: {expireAfter: 24h}}, disruption: {consolidationPolicy: WhenEmpty}}
status:
  {nodes: 4, disrupting: 1, unconfirmed: ["berlin: 3 nodes", "oslo: 1 node"],
   members: [{member: berlin, nodes: 3, disrupting: 1, allowed: {Empty: 2, Underutilized: 2, Drifted: 1, Expired: 2}},
             {member: oslo, nodes: 1, disrupting: 0, allowed: {Empty: 1, Underutilized: 1, Expired: 1}}]}
`

const lintedPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: b, creationTimestamp: "2026-03-01T09:00:00Z"}
spec: {}
status: {nodes: 1, members: [{member: oslo, nodes: 1, allowed: {Empty: 1, Underutilized: 1, Drifted: 1, Expired: 1}}], lint: ["one thing"]}
`

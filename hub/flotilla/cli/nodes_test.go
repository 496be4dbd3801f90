package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
)

// canned is a hub that answers each verb what a test wants, and keeps what it was asked.
type canned struct {
	t       *testing.T
	answers map[string]func(request json.RawMessage) (any, error)
	asked   map[string][]json.RawMessage
}

func (c *canned) Call(_ context.Context, verb string, request, response any) error {
	body, err := json.Marshal(request)
	require.NoError(c.t, err)
	c.asked[verb] = append(c.asked[verb], body)
	require.Contains(c.t, c.answers, verb)
	answer, err := c.answers[verb](body)
	if err != nil {
		return err
	}
	text, err := json.Marshal(answer)
	require.NoError(c.t, err)
	return json.Unmarshal(text, response)
}

func (c *canned) Close() {}

// typed runs one command line against a canned hub.
func (c *canned) typed(line string) (out, errs string, code int) {
	c.t.Helper()
	var stdout, stderr bytes.Buffer
	code = Main(c.t.Context(), strings.Fields(line), Environment{
		In: strings.NewReader(""), Out: &stdout, Err: &stderr, Getenv: func(string) string { return "" }, Now: func() time.Time { return tableNow },
		Dial: func(context.Context, Connection) (Hub, error) { return c, nil },
	})
	return stdout.String(), stderr.String(), code
}

// cannedHub knows members, and what plans of their nodes are.
func cannedHub(t *testing.T, plans map[string]disruption.MemberForecast) *canned {
	c := &canned{t: t, asked: map[string][]json.RawMessage{}}
	c.answers = map[string]func(json.RawMessage) (any, error){
		api.VerbList: func(json.RawMessage) (any, error) {
			return map[string]any{"items": []any{
				map[string]any{"apiVersion": clusterVersion, "kind": api.KindMemberCluster, "metadata": map[string]any{"name": "berlin"}},
				map[string]any{"apiVersion": clusterVersion, "kind": api.KindMemberCluster, "metadata": map[string]any{"name": "joins"}},
				map[string]any{"apiVersion": clusterVersion, "kind": api.KindMemberCluster, "metadata": map[string]any{"name": "oslo"}},
			}}, nil
		},
		api.VerbPlanNodes: func(body json.RawMessage) (any, error) {
			var request api.PlanNodesRequest
			require.NoError(t, json.Unmarshal(body, &request))
			p, found := plans[request.Member]
			if !found {
				return nil, &api.Failure{Code: api.CodeNotFound, Message: "there is no such member"}
			}
			return p, nil
		},
	}
	return c
}

func twoPlans() map[string]disruption.MemberForecast {
	return map[string]disruption.MemberForecast{
		"berlin": {Member: "berlin", At: tableNow, Nodes: 3, Notes: []string{"member berlin: one is on its way"}, Forecast: disruption.Forecast{
			Commands: []disruption.Command{{
				Method: disruption.MethodSingle, Reason: api.ReasonUnderutilized, Nodes: []string{"n1", "n2"}, Savings: api.Hourly{Amount: 0.25},
				Replacements: []disruption.Replacement{{Pool: "a", InstanceTypes: []string{"d2"}, Price: 0.1}},
				Moves:        []api.PodMove{{Pod: "shop/web", From: "n1", To: "new-0"}},
			}},
			Savings: api.Hourly{Amount: 0.25}, Then: "further disruptions are decided when new-0 is ready", FleetBudgets: map[string]int{"all": 1},
		}},
		"oslo": {Member: "oslo", At: tableNow, Nodes: 2, Forecast: disruption.Forecast{Stale: "the member is NotReady"}},
	}
}

// Without a member all are planned, those that are not admitted left out; totals come last, and what one
// plan leaves of fleet-wide budgets is what the next has.
func TestPlanOfAllMembers(t *testing.T) {
	c := cannedHub(t, twoPlans())
	out, errs, code := c.typed("plan nodes")
	require.Equal(t, ExitDifferent, code, errs)
	require.Equal(t, `at 2026-03-01T12:00:00Z

member berlin:
replace n1, n2: Underutilized (single), saves 0.2500 an hour
  new-0: pool a, d2, from 0.1000 an hour
  shop/web: n1 -> new-0
further disruptions are decided when new-0 is ready

MEMBER   NODES   GO   LAUNCH   SAVES/H   THE OTHER NODES STAY BECAUSE
berlin   3       2    1        0.2500    -
oslo     2       0    0        0.0000    nothing is decided: the member is NotReady
in all   5       2    1        0.2500
next: flotilla get disruptions -m berlin -w
`, out)
	require.Equal(t, "note: member berlin: one is on its way\n", errs)
	require.JSONEq(t, `{"member": "oslo", "fleetBudgets": {"all": 1}}`, string(c.asked[api.VerbPlanNodes][2]))

	out, _, code = c.typed("plan nodes -o json")
	require.Equal(t, ExitDifferent, code)
	var plan fleetNodePlan
	require.NoError(t, json.Unmarshal([]byte(out), &plan))
	require.Len(t, plan.Members, 2)
	require.InDelta(t, 0.25, plan.Savings.Amount, 1e-9)

	out, _, code = c.typed("plan nodes -m oslo")
	require.Equal(t, ExitDone, code)
	require.Equal(t, "at 2026-03-01T12:00:00Z\nnothing is decided: the member is NotReady\nnext: flotilla describe member/oslo\n", out)
	_, errs, code = c.typed("plan nodes -m osol")
	require.Equal(t, ExitDifferent, code)
	require.Contains(t, errs, `there is no member "osol", did you mean oslo?`)
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

const cordonedNode = `
apiVersion: flotilla.io/v1alpha1
kind: MemberNode
metadata: {name: n1, creationTimestamp: "2026-03-01T09:00:00Z"}
spec: {member: berlin, nodePool: a, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}
status:
  {state: Disrupting, phase: Draining, disruption: x, instanceType: d2, zone: z-a, capacityType: spot, price: 0.1, pods: 3,
   requested: {cpu: 1250, memory: 1073741824}, allocatable: {cpu: 3900, memory: 17179869184}, verdict: {code: Queued, message: it goes}}
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

func TestTablesOfNodeKinds(t *testing.T) {
	require.Equal(t, `ID            MEMBER   REASON          METHOD   PHASE             NODES         REPLACEMENT                 SAVINGS   AGE   MESSAGE
single-4-aa   berlin   Underutilized   single   Launching         n1,n2,n3,+2   a/d2,n9(ready),n8(failed)   0.2500    2m    waiting for 2 of 3 replacements, the first of which was asked for a good while ago already, and the second not so long …
drift-5-bb    oslo     Drifted         drift    Aborted,Undoing   n1            -                           -0.1000   60s   waits for pod shop/web-1: PodDisruptionBudget web needs 2 healthy pods and has 2 currently; pod a/b, whose turn comes l…
`, printed(t, output{}, false, objectsOf(t, disrupted, undone)...))
	require.Equal(t, `MEMBER   NAME   POOL   TYPE   ZONE   CAPACITY   PODS   CPU       MEM      PRICE    AGE   STATUS                                   VERDICT   DISRUPTION   WHY
berlin   n1     a      d2     z-a    spot       3      1.3/3.9   1/16Gi   0.1000   3h    Disrupting,Draining,SchedulingDisabled   Queued    x            it goes
`, printed(t, output{format: "wide"}, false, objectsOf(t, cordonedNode)...))
	require.Equal(t, `NAME   MEMBERS   NODES   DISRUPTING   ALLOWED                                                 POLICY                     EXPIRE   AGE   WARNINGS
a      2         4       1            Empty 3, Underutilized 3, Drifted no limit, Expired 3   WhenEmpty                  24h      3h    deleting: berlin: 3 nodes; oslo: 1 node
b      1         1       0            1                                                       WhenEmptyOrUnderutilized   720h     3h    BudgetLint (1)
`, printed(t, output{}, false, objectsOf(t, goingPool, lintedPool)...))
}

// A watch is woken by the verdict of a node and not by the seconds that its words count.
func TestWatchedNodesHoldStill(t *testing.T) {
	seen := map[string]string{}
	require.Len(t, changedSince(seen, objectsOf(t, cordonedNode)), 1)
	require.Empty(t, changedSince(seen, objectsOf(t, strings.Replace(cordonedNode, "it goes", "it goes in 5s", 1))))
	require.Len(t, changedSince(seen, objectsOf(t, strings.Replace(cordonedNode, "Queued", "Deleting", 1))), 1)
	require.Len(t, changedSince(seen, objectsOf(t, strings.Replace(cordonedNode, "member: berlin", "member: oslo", 1))), 1, "a node of another member is another one")
}

// NodeClaims tell what a node was made with, of which the node itself says nothing.
func TestNodeClaims(t *testing.T) {
	claim := func(text string) string {
		return "apiVersion: karpenter.sh/v1\nkind: NodeClaim\n" + text
	}
	f, s := stateOf(t, poolText, nodeText, claim(`
metadata: {name: c1, creationTimestamp: "2026-02-01T00:00:00Z", deletionTimestamp: "2026-03-01T11:00:00Z"}
spec: {expireAfter: 24h, terminationGracePeriod: 1h}
status: {nodeName: n1, conditions: [{type: InstanceTerminating, status: "True"}]}
`), claim("metadata: {name: c2}\nstatus: {nodeName: n9}"), claim("metadata: {name: c3}\nspec: {expireAfter: 24h}"))
	n, found := s.Cluster.Node("n1")
	require.True(t, found)
	require.Equal(t, []any{"24h", "1h", true, true, true}, []any{n.ExpireAfter, n.TerminationGracePeriod, n.Deleting, n.InstanceTerminating, n.Managed})
	require.Equal(t, time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), n.Created.UTC())
	require.Contains(t, f.notes, "not looked at: NodeClaim c2, whose node n9 the files do not hold")
	require.Contains(t, f.notes, "NodeClaim c3 has no node yet: this is what follows as if it were not there; Karpenter itself waits for the launch first")
}

// Calendars that are the same are printed once, with the members that have them.
func TestCalendarsArePrintedOnce(t *testing.T) {
	var out bytes.Buffer
	a := &app{Environment: Environment{Out: &out, Err: &out}}
	span := func(n capacity.Count) []capacity.Span {
		limits := map[string]capacity.Count{}
		for _, reason := range api.DisruptionReasons {
			limits[reason] = n
		}
		return []capacity.Span{{From: tableNow, To: tableNow.Add(time.Hour), Limits: limits}}
	}
	require.NoError(t, a.printBudgets(&disruption.BudgetReport{At: tableNow, Pools: []disruption.PoolBudget{
		{Name: "a", Member: "berlin", Calendar: span(1), Invalid: "budgets[0]: bad"},
		{Name: "a", Member: "oslo", Calendar: span(1), Invalid: "budgets[0]: bad"},
		{Name: "a", Member: "tampa", Calendar: span(2), Invalid: "budgets[0]: bad"},
	}}))
	require.Contains(t, out.String(), "\nlimits of a on berlin, oslo, UTC:\n  Sun 2026-03-01 12:00 - Sun 2026-03-01 13:00  1\n\nlimits of a on tampa, UTC:\n  Sun 2026-03-01 12:00 - Sun 2026-03-01 13:00  2\n")
	require.Equal(t, 1, strings.Count(out.String(), "cannot be evaluated, so that nothing is allowed: budgets[0]: bad"))
}

// Calendars of a pool beyond the first are counted, with the command that shows them.
func TestManyCalendarsAreCounted(t *testing.T) {
	var out bytes.Buffer
	a := &app{Environment: Environment{Out: &out, Err: &out}}
	r := disruption.BudgetReport{At: tableNow}
	for n := range shownCalendars + 2 {
		limits := map[string]capacity.Count{}
		for _, reason := range api.DisruptionReasons {
			limits[reason] = capacity.Count(n)
		}
		spans := []capacity.Span{{From: tableNow, To: tableNow.Add(time.Hour), Limits: limits}}
		for _, side := range []string{"east", "west"} {
			r.Pools = append(r.Pools, disruption.PoolBudget{Name: "a", Member: fmt.Sprintf("%s-%d", side, n), Calendar: spans})
		}
	}
	require.NoError(t, a.printBudgets(&r))
	require.Equal(t, shownCalendars, strings.Count(out.String(), "UTC:\n"))
	require.Contains(t, out.String(), "\nlimits of a on 4 more members, with other numbers of nodes: flotilla budgets a -m MEMBER\n")
}

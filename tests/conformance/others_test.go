package conformance

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
)

// One node of which a cheaper one would do, which nobody sells as spot; Karpenter pins it to spot, and counts all of
// the old price as saved.
const soldOnDemand = `{"id": "sold", "now": "2026-03-01T12:00:00Z",
	"instanceTypes": [
		{"name": "small", "cpu": "2", "memory": "8Gi", "offerings": [{"zone": "z-a", "capacityType": "on-demand", "price": 0.1}]},
		{"name": "large", "cpu": "8", "memory": "32Gi", "offerings": [{"zone": "z-a", "capacityType": "on-demand", "price": 0.4}]}],
	"nodePools": [{"name": "default", "disruption": {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s", "budgets": [{"nodes": "100%"}]}}],
	"nodes": [{"name": "n1", "nodePool": "default", "instanceType": "large", "zone": "z-a", "capacityType": "on-demand", "ageSeconds": 7200}],
	"pods": [{"name": "web", "node": "n1", "cpu": "1"}],
	"want": {"decision": "replace", "method": "single", "reason": "Underutilized", "candidates": ["n1"],
		"replacements": [{"nodePool": "default", "instanceTypes": ["small"], "capacityTypes": ["spot"]}], "savings": 0.4,
		"placements": {"default/web": "new-0"}, "stages": ["empty", "drift", "multi", "single"],
		"eligible": {"empty": [], "drift": [], "multi": ["n1"], "single": ["n1"]},
		"budgets": {"Empty": {"default": 1}, "Drifted": {"default": 1}, "Underutilized": {"default": 1}}}}`

// Two nodes of which one will do, with a pod that nothing makes again.
const lostPod = `{"id": "lost", "now": "2026-03-01T12:00:00Z",
	"instanceTypes": [{"name": "large", "cpu": "8", "memory": "32Gi", "offerings": [{"zone": "z-a", "capacityType": "on-demand", "price": 0.4}]}],
	"nodePools": [{"name": "default", "disruption": {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s", "budgets": [{"nodes": "50%"}]}}],
	"nodes": [
		{"name": "n1", "nodePool": "default", "instanceType": "large", "zone": "z-a", "capacityType": "on-demand", "ageSeconds": 7200},
		{"name": "n2", "nodePool": "default", "instanceType": "large", "zone": "z-a", "capacityType": "on-demand", "ageSeconds": 7200}],
	"pods": [{"name": "bare", "node": "n1", "cpu": "1", "owner": "none"}, {"name": "web", "node": "n2", "cpu": "2"}, {"name": "api", "node": "n2", "cpu": "2"}],
	"want": {"decision": "delete", "method": "single", "reason": "Underutilized", "candidates": ["n1"], "replacements": [], "savings": 0.4,
		"placements": {"default/bare": "n2"}, "stages": ["empty", "drift", "multi", "single"],
		"eligible": {"empty": [], "drift": [], "multi": ["n1", "n2"], "single": ["n1", "n2"]},
		"budgets": {"Empty": {"default": 1}, "Drifted": {"default": 1}, "Underutilized": {"default": 1}}}}`

// readCaseOf reads a case that is written as text.
func readCaseOf[T any](t *testing.T, text string) *T {
	t.Helper()
	var c T
	require.NoError(t, strictly([]byte(text), &c))
	return &c
}

// inAFolder makes a folder with the recording of some cases the one that is read.
func inAFolder(t *testing.T, name string, cases ...string) {
	t.Helper()
	lines := make([]map[string]any, len(cases))
	for i, text := range cases {
		require.NoError(t, json.Unmarshal([]byte(text), &lines[i]))
	}
	dir := t.TempDir()
	writeRecording(t, filepath.Join(dir, name), lines)
	t.Setenv("CONFORMANCE_DIR", dir)
}

// Savings that JSON cannot hold are one readable difference, and none where the recording has the same.
func TestWhatJSONCannotHoldIsADifference(t *testing.T) {
	c := readCaseOf[consolidationCase](t, soldOnDemand)
	got := c.decide(capacity.Departures{OnlySold: true})
	require.Empty(t, c.compare(got))
	for amount, text := range map[float64]string{
		math.Inf(1): "savings: here +Inf, recorded 0.4", math.Inf(-1): "savings: here -Inf, recorded 0.4", math.NaN(): "savings: here NaN, recorded 0.4",
	} {
		got.Commands[0].Savings.Amount = amount
		require.Equal(t, []string{text}, c.compare(got))
		got.Commands[0].Replacements[0].Price = amount
		require.NotEmpty(t, c.countedNever(got))
	}
	core := c.decide(capacity.Departures{OnlySold: true})
	require.Contains(t, strings.Join(decisionsDiffer(got, core), "\n"), "savings: here ")
	got.Commands[0].Savings.Amount, c.Want.Savings = math.Inf(1), math.Inf(1)
	require.Empty(t, c.compare(got))
	require.True(t, sameAmount(math.Inf(1), math.Inf(1)))
	require.False(t, sameAmount(math.Inf(1), math.Inf(-1)))
}

// A panic over a case is a failure of this case, by its id, and the others are judged.
func TestAPanicIsTheFailureOfItsCase(t *testing.T) {
	const text = `{"id": "%s", "disruption": {"budgets": [{"nodes": "3"}]}, "reason": "Empty", "now": "2026-03-01T12:00:00Z", "nodesTotal": 5,
		"want": {"limit": 3, "allowed": 3, "active": [true], "perBudget": [%s], "crdValid": true}}`
	inAFolder(t, budgetsRecording, fmt.Sprintf(text, "short", ""), fmt.Sprintf(text, "whole", "3"))
	cases := casesOf[budgetCase](t, budgetsRecording)
	outcomes := judgeEach(cases, judgeBudgets)
	require.Equal(t, []string{"short", "whole"}, []string{outcomes[0].id, outcomes[1].id})
	require.True(t, outcomes[0].failed())
	require.Contains(t, outcomes[0].differences[0], "it panics: runtime error: index out of range")
	require.False(t, outcomes[1].failed())
	tellings := tellEach(cases, func(c *budgetCase) telling { return tellBudgets(t, c) })
	require.Equal(t, "short", tellings[0].id)
	require.Contains(t, strings.Join(tellings[0].differences, ""), "it panics: ")
	require.Empty(t, tellings[1].differences)
}

// N26 explains a recorded replacement that nobody sells as it is recorded, in the core and through the command line.
func TestSoldOnDemandAlone(t *testing.T) {
	elsewhere := strings.NewReplacer(
		`"sold"`, `"elsewhere"`,
		`"price": 0.1}`, `"price": 0.1}, {"zone": "z-b", "capacityType": "spot", "price": 0.03}`,
		`"price": 0.4}`, `"price": 0.4}, {"zone": "z-b", "capacityType": "spot", "price": 0.12}`,
		`"cpu": "1"}`, `"cpu": "1", "nodeSelector": {"topology.kubernetes.io/zone": "z-a"}}`,
		`["spot"]`, `["spot"], "zones": ["z-a"]`).Replace(soldOnDemand)
	several := strings.NewReplacer(
		`"sold"`, `"several"`,
		`{"name": "large"`, `{"name": "middle", "cpu": "4", "memory": "8Gi", "offerings": [{"zone": "z-a", "capacityType": "on-demand", "price": 0.2}]}, {"name": "large"`,
		`["small"]`, `["small", "middle"]`).Replace(soldOnDemand)
	inAFolder(t, consolidationRecording, soldOnDemand, elsewhere, several)
	for _, c := range casesOf[consolidationCase](t, consolidationRecording) {
		judged := judgeConsolidation(&c)
		require.Equal(t, "N26", judged.decision, "%s: %s", c.ID, strings.Join(judged.differences, "\n"))
		got := c.decide(capacity.Departures{})
		require.Equal(t, []string{api.CapacityOnDemand}, got.Commands[0].Replacements[0].CapacityTypes)
		require.InDelta(t, 0.3, got.Commands[0].Savings.Amount, 1e-9)
	}
	t.Run("core", TestConsolidation)
	t.Run("command", TestConsolidationAsItsUserSaysIt)
}

// N26 explains nothing else, and not unless what it promises holds.
func TestWhereN26DoesNotExplain(t *testing.T) {
	c := readCaseOf[consolidationCase](t, soldOnDemand)
	c.Want.Savings = 0.3
	require.True(t, judgeConsolidation(c).failed(), "pinned to spot, with the savings of what is sold")
	c = readCaseOf[consolidationCase](t, strings.ReplaceAll(soldOnDemand, `"price": 0.1}`, `"price": 0.1}, {"zone": "z-a", "capacityType": "spot", "price": 0.03}`))
	c.InstanceTypes[1].Offerings = append(c.InstanceTypes[1].Offerings, api.InstanceOffering{Zone: "z-a", CapacityType: api.CapacitySpot, Price: 0.1})
	require.Empty(t, c.concerning(), "both types are sold as spot")
	require.True(t, judgeConsolidation(c).failed())

	c = readCaseOf[consolidationCase](t, soldOnDemand)
	for words, turn := range map[string]func(*disruption.Command){
		"nobody sells any of its types so":         func(d *disruption.Command) { d.Replacements[0].CapacityTypes = []string{api.CapacitySpot} },
		"not restricted to how it is sold":         func(d *disruption.Command) { d.Replacements[0].CapacityTypes = nil },
		"the replacement saves 0.4 of 0.4":         func(d *disruption.Command) { d.Savings.Amount = 0.4 },
		"is the difference to no price for which ": func(d *disruption.Command) { d.Replacements[0].InstanceTypes = []string{"large"} },
	} {
		got := c.decide(capacity.Departures{})
		require.Empty(t, c.boughtAsNobodySells(got))
		turn(&got.Commands[0])
		require.Contains(t, c.boughtAsNobodySells(got), words)
	}
}

// N24 explains a recorded place of a pod that nothing makes again, where a case is told to the command line.
func TestLostPodsAreExplained(t *testing.T) {
	inAFolder(t, consolidationRecording, lostPod, soldOnDemand)
	cases := casesOf[consolidationCase](t, consolidationRecording)
	require.False(t, judgeConsolidation(&cases[0]).failed(), "the core is told of an owner")
	told := tellConsolidation(t, &cases[0])
	require.Equal(t, "N24", told.decision, told.differences)
	require.Equal(t, []string{`placements: here {"default/bare":""}, recorded {"default/bare":"n2"}`}, told.differences)
	t.Run("command", TestConsolidationAsItsUserSaysIt)

	cases[0].Want.Placements["default/bare"] = "new-0"
	require.Empty(t, tellConsolidation(t, &cases[0]).decision, "with the decision off that is not the answer")
	cases[0].Want.Placements, cases[0].Pods[0].Owner = map[string]string{"default/bare": "n1"}, "ReplicaSet"
	told = tellConsolidation(t, &cases[0])
	require.Empty(t, told.decision)
	require.NotEmpty(t, told.differences, "every pod is made again")
}

func TestWhatN24Promises(t *testing.T) {
	c := readCaseOf[consolidationCase](t, lostPod)
	plan, refusal := c.planNodes(t)
	require.Empty(t, refusal)
	got := plan.decision()
	require.Empty(t, c.keptLost(got, plan.Notes))
	require.Contains(t, c.keptLost(got, nil), "no note warns that pod default/bare is lost")

	told := &telling{outcome: outcome{id: c.ID, differences: c.compare(got)}}
	c.explainLost(told, got, nil)
	require.Empty(t, told.decision)
	require.Contains(t, told.differences[1], "N24 does not hold: no note warns")
	c.Want.Stages = nil
	require.Contains(t, c.keptLost(got, plan.Notes), "stages: ", "more differs than the move")

	moves := got.Commands[0].Moves
	moves[0].To = "n2"
	require.Contains(t, c.keptLost(got, plan.Notes), `pod default/bare is told to go to "n2"`)
	moves[0].To, moves[0].Lost = "", false
	require.Contains(t, c.keptLost(got, plan.Notes), "lost: false")
	moves[0].Pod, moves[0].Lost = "default/web", true
	require.Contains(t, c.keptLost(got, plan.Notes), "pod default/web is told to go")
}

// What the peer's API refuses, and the door too, agrees whatever is recorded beside it; what the door takes does not.
func TestRefusedBudgetsAgree(t *testing.T) {
	const text = `{"id": "x%d", "disruption": %s, "reason": "Empty", "now": "2026-03-01T12:00:00Z", "nodesTotal": 5,
		"want": {"limit": 77, "allowed": 77, "active": [true], "perBudget": [77], "invalid": false, "crdValid": false}}`
	var cases []string
	for i, refused := range []string{
		`{"budgets": [{"nodes": "-1"}]}`, `{"budgets": [{"nodes": "1", "reasons": ["Nonsense"]}]}`, `{"budgets": [{"nodes": "1", "surprise": true}]}`,
		`{"budgets": [{"nodes": "1", "schedule": "@every 5m", "duration": "1h"}]}`, `{"budgets": [{"nodes": "1", "duration": "1s", "schedule": "@daily"}]}`,
		`{"budgets": [{"nodes": "1"}], "consolidateAfter": "soon"}`, `{"budgets": {"nodes": "1"}}`, `[]`, `{"budgets": [{"nodes": []}]}`,
	} {
		cases = append(cases, fmt.Sprintf(text, i, refused))
	}
	inAFolder(t, budgetsRecording, cases...)
	t.Run("core", TestBudgets)
	t.Run("command", TestBudgetsAsTheirUserSaysThem)

	taken := readCaseOf[budgetCase](t, fmt.Sprintf(text, 0, `{"budgets": [{"nodes": "1"}]}`))
	require.Contains(t, judgeBudgets(taken).differences, "accepted by the door: here true, recorded false")
	require.Contains(t, strings.Join(tellBudgets(t, taken).differences, ""), "recorded as invalid, here exit 0")
	unread := readCaseOf[budgetCase](t, fmt.Sprintf(text, 0, `{"budgets": [{"nodes": "1", "surprise": true}]}`))
	unread.Want.CRDValid = true
	require.Contains(t, strings.Join(judgeBudgets(unread).differences, ""), "the budgets cannot be read")
}

// Behind the door too the core gives the recorded limits of the repository's recording.
func TestRefusedBudgetsAreEvaluatedAsRecorded(t *testing.T) {
	cases, err := readRecording[budgetCase](ownRecordings, budgetsRecording)
	require.NoError(t, err)
	refused := 0
	for i := range cases {
		if c := &cases[i]; !c.Want.CRDValid {
			require.Empty(t, c.compareLimits(capacity.Rules{}), c.ID)
			refused++
		}
	}
	require.Positive(t, refused)
}

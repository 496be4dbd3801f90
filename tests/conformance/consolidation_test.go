package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"flotilla/core/disruption"
)

const consolidationRecording = "consolidation.jsonl.gz"

func TestConsolidation(t *testing.T) {
	cases, err := readRecording[consolidationCase](recordingDir(), consolidationRecording)
	require.NoError(t, err)
	outcomes := make([]outcome, len(cases))
	for i := range cases {
		outcomes[i] = judgeConsolidation(&cases[i])
	}
	report(t, "consolidation", outcomes)
	requireGranted(t, outcomes, map[string]int{"N5": 2, "N9": 10})
}

// judgeConsolidation says first which decision may explain a difference, then runs the core with it
// and, when there is a difference, without it: without it the answer must be the recorded one.
func judgeConsolidation(c *consolidationCase) outcome {
	decision := c.explanation()
	got := disruption.Decide(c.state(disruption.Rules{}))
	o := outcome{id: c.ID, differences: c.compare(&got)}
	if len(o.differences) == 0 || decision == "" {
		return o
	}
	peer := disruption.Decide(c.state(disruption.Rules{Off: switchedOff[decision]}))
	if off := c.compare(&peer); len(off) > 0 {
		o.differences = append([]string{decision + " switched off gives another answer than recorded:"}, off...)
		return o
	}
	if broken := c.holds(decision, &got); broken != "" {
		o.differences = append(o.differences, decision+" does not hold: "+broken)
		return o
	}
	o.decision = decision
	return o
}

func quantity(name, text string) int64 {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return disruption.AmountOf(name, q)
}

// compare lists every difference between the recording and the decision.
func (c *consolidationCase) compare(got *disruption.Decision) []string {
	var differences []string
	differ := func(what string, here, recorded any) {
		a, b := mustJSON(here), mustJSON(recorded)
		if a != b {
			differences = append(differences, fmt.Sprintf("%s: here %s, recorded %s", what, a, b))
		}
	}
	command := disruption.Command{}
	decision, wanted := "none", 0
	if len(got.Commands) > 0 {
		command = got.Commands[0]
		decision = command.Decision()
	}
	if c.Want.Decision != "none" {
		wanted = 1
	}
	differ("commands", len(got.Commands), wanted)
	differ("decision", decision, c.Want.Decision)
	differ("method", command.Method, c.Want.Method)
	differ("reason", command.Reason, c.Want.Reason)
	differ("candidates", append([]string{}, command.Nodes...), append([]string{}, c.Want.Candidates...))
	if math.Abs(command.Savings-c.Want.Savings) > 1e-9 {
		differ("savings", command.Savings, c.Want.Savings)
	}
	differ("replacements", replacementsHere(command.Replacements), append([]recordedReplacement{}, c.Want.Replacements...))
	differ("stages", got.Stages, c.Want.Stages)
	differ("eligible", got.Eligible, c.Want.Eligible)
	differ("budgets", got.Budgets, c.Want.Budgets)
	if c.Want.Placements != nil {
		here := map[string]string{}
		for _, m := range command.Moves {
			here[m.Pod] = m.To
		}
		differ("placements", here, c.Want.Placements)
	}
	if c.Want.Blocked != nil {
		here, recorded := blockedHere(got), blockedRecorded(c.Want.Blocked)
		for _, node := range slices.Sorted(maps.Keys(union(here, recorded))) {
			differ("blocked "+node, here[node], recorded[node])
		}
	}
	return differences
}

func union(a, b map[string][]string) map[string]bool {
	out := map[string]bool{}
	for k := range a {
		out[k] = true
	}
	for k := range b {
		out[k] = true
	}
	return out
}

func mustJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// replacementsHere keeps of replacements what the recording has.
func replacementsHere(in []disruption.Replacement) []recordedReplacement {
	out := []recordedReplacement{}
	for _, r := range in {
		out = append(out, recordedReplacement{r.Pool, r.InstanceTypes, r.CapacityTypes, r.Zones})
	}
	return out
}

// blockedKinds are the words by which the recorded events are told apart.
var blockedKinds = map[disruption.Code]string{
	disruption.CodeDisabled:         "has consolidation disabled",
	disruption.CodePodProtected:     "Pod has \"karpenter.sh/do-not-disrupt\" annotation",
	disruption.CodePDB:              "Pdb prevents pod evictions",
	disruption.CodeNominated:        "Node is nominated for a pending pod",
	disruption.CodeNodeProtected:    "Disruption is blocked through the \"karpenter.sh/do-not-disrupt\" annotation",
	disruption.CodeNotEmpty:         "has consolidation policy WhenEmpty, but node is not empty",
	disruption.CodeNotInitialized:   "Node isn't initialized",
	disruption.CodeDeleting:         "Node is deleting or marked for deletion",
	disruption.CodeNotCheaper:       "Can't replace with a cheaper node",
	disruption.CodeSpotDisabled:     "SpotToSpotConsolidation is disabled",
	disruption.CodeSpotFew:          "SpotToSpotConsolidation requires",
	disruption.CodePodsUnplaced:     "Not all pods would schedule",
	disruption.CodeTypeUnknown:      "Instance Type \"",
	disruption.CodeMinValues:        "Filtering by price: minValues",
	disruption.CodeManyReplacements: "Can't remove without creating",
}

func blockedRecorded(blocked map[string][]string) map[string][]string {
	out := map[string][]string{}
	for node, texts := range blocked {
		for _, text := range texts {
			event, _, _ := strings.Cut(text, ":")
			kind := "unknown: " + text
			for code, words := range blockedKinds {
				if strings.Contains(text, words) {
					kind = string(code)
				}
			}
			out[node] = append(out[node], event+" "+kind)
		}
		slices.Sort(out[node])
		out[node] = slices.Compact(out[node])
	}
	return out
}

// blockedHere are the refusals for which the peer has an event. That a used node is not empty is an
// event of consolidation alone.
func blockedHere(got *disruption.Decision) map[string][]string {
	out := map[string][]string{}
	for _, v := range got.Verdicts {
		for _, r := range v.Refusals {
			if event := r.Event(); event != "" && (r.Code != disruption.CodeNotEmpty || r.Method != disruption.MethodEmpty) {
				out[v.Node] = append(out[v.Node], event+" "+string(r.Code))
			}
		}
		slices.Sort(out[v.Node])
		if out[v.Node] = slices.Compact(out[v.Node]); len(out[v.Node]) == 0 {
			delete(out, v.Node)
		}
	}
	return out
}

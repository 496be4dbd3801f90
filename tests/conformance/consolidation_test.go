package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"flotilla/core/capacity"
	"flotilla/core/disruption"
)

const consolidationRecording = "consolidation.jsonl.gz"

func TestConsolidation(t *testing.T) {
	cases := casesOf[consolidationCase](t, consolidationRecording)
	outcomes := judgeEach(cases, judgeConsolidation)
	report(t, "consolidation", outcomes, grants{
		"N4": {most: 3}, "N5": {cases: []string{"c0009", "c0630"}}, "N6": {most: 3}, "N9": {most: 10}, "N19": {most: 3}, "N23": {most: 4},
		"N26": {most: 3},
	})
}

// judgeConsolidation finds from the input which decisions may explain a difference, runs the core with them
// and, where that differs, without: without the one that explains it the answer must be the recorded one, and
// with it what the decision promises must hold.
func judgeConsolidation(c *consolidationCase) outcome {
	got, differences := c.decided(capacity.Departures{})
	o := outcome{id: c.ID, differences: differences}
	if len(differences) == 0 {
		return o
	}
	for _, d := range explanations(c.concerning()) {
		if _, off := c.decided(d.departures()); len(off) > 0 {
			continue
		}
		if broken := d.broken(c, got); broken != "" {
			o.differences = append(o.differences, d.id()+" does not hold: "+broken)
			return o
		}
		o.decision = d.id()
		return o
	}
	return o
}

// decided is what the core answers with some decisions off, and how that differs from the recording. Where a
// node is unschedulable either reading of it may agree.
func (c *consolidationCase) decided(off capacity.Departures) (*disruption.Decision, []string) {
	got := disruption.Decide(c.state(capacity.Rules{Off: off}))
	differences := c.compare(&got)
	if len(differences) == 0 || !slices.ContainsFunc(c.Nodes, func(n recordedNode) bool { return n.Unschedulable }) {
		return &got, differences
	}
	tainted := *c
	tainted.cordonTaints = true
	other := disruption.Decide(tainted.state(capacity.Rules{Off: off}))
	if len(c.compare(&other)) == 0 {
		return &other, nil
	}
	return &got, differences
}

func quantity(name, text string) int64 {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return capacity.AmountOf(name, q)
}

// compare lists every difference between the recording and the decision.
func (c *consolidationCase) compare(got *disruption.Decision) []string {
	var differences []string
	differ := func(what string, here, recorded any) {
		a, b := asText(here), asText(recorded)
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
	if !sameAmount(command.Savings.Amount, c.Want.Savings) {
		differ("savings", command.Savings.Amount, c.Want.Savings)
	}
	differ("replacements", c.ordered(replacementsHere(command.Replacements)), c.ordered(c.Want.Replacements))
	differ("stages", got.Stages, c.Want.Stages)
	differ("eligible", got.Eligible, c.Want.Eligible)
	differ("budgets", got.Budgets, c.Want.Budgets)
	if c.Want.Placements != nil {
		differ("placements", movesOf(&command), c.Want.Placements)
	}
	if c.Want.Blocked != nil {
		here, recorded := blockedHere(got), blockedRecorded(c.Want.Blocked)
		for _, node := range slices.Sorted(maps.Keys(union(here, recorded))) {
			differ("blocked "+node, here[node], recorded[node])
		}
	}
	return differences
}

// decisionsDiffer lists where two decisions are not one.
func decisionsDiffer(got, want *disruption.Decision) []string {
	var differences []string
	differ := func(what string, here, recorded any) {
		if a, b := asText(here), asText(recorded); a != b {
			differences = append(differences, fmt.Sprintf("%s: here %s, the core %s", what, a, b))
		}
	}
	differ("stages", got.Stages, want.Stages)
	differ("eligible", got.Eligible, want.Eligible)
	differ("budgets", got.Budgets, want.Budgets)
	differ("commands", len(got.Commands), len(want.Commands))
	for i := range min(len(got.Commands), len(want.Commands)) {
		a, b := &got.Commands[i], &want.Commands[i]
		differ("method", a.Method, b.Method)
		differ("reason", a.Reason, b.Reason)
		differ("nodes", a.Nodes, b.Nodes)
		differ("savings", a.Savings, b.Savings)
		differ("replacements", replacementsHere(a.Replacements), replacementsHere(b.Replacements))
		differ("moves", movesOf(a), movesOf(b))
	}
	differ("blocked", blockedHere(got), blockedHere(want))
	return differences
}

// movesOf is where each pod of a command goes.
func movesOf(c *disruption.Command) map[string]string {
	out := map[string]string{}
	for _, m := range c.Moves {
		out[m.Pod] = m.To
	}
	return out
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

// asText is a value as JSON, or as Go prints it where JSON cannot hold it.
func asText(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(raw)
}

// sameAmount compares savings to 1e-9; infinite ones are the same when they have one sign.
func sameAmount(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-9 }

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
	disruption.CodePDBOverlap:       "does not support multiple PDBs",
	disruption.CodeNoPool:           "doesn't have required label",
	disruption.CodePoolUnknown:      "NodePool not found",
	disruption.CodeNoLabel:          "does not have label",
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

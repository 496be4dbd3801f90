package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/schedule"
)

const placementRecording = "placement.jsonl.gz"

func TestPlacement(t *testing.T) {
	cases, err := readRecording[placementCase](recordingDir(), placementRecording)
	require.NoError(t, err)
	outcomes := make([]outcome, len(cases))
	for i := range cases {
		outcomes[i] = judgePlacement(t, &cases[i])
	}
	report(t, "placement", outcomes)
}

// judgePlacement says first which decision of the specification may explain a difference, then runs
// the core. A decision explains nothing unless what it promises holds.
func judgePlacement(t *testing.T, c *placementCase) outcome {
	t.Helper()
	decision := c.explanation()
	in := c.input()
	plan := schedule.Schedule(in)
	o := outcome{id: c.ID, differences: c.compare(&plan)}
	if len(o.differences) == 0 || decision == "" {
		return o
	}
	if broken := decisionHolds(decision, c, in, &plan); broken != "" {
		o.differences = append(o.differences, decision+" does not hold: "+broken)
		return o
	}
	o.decision = decision
	return o
}

// compare lists every difference between the recording and the plan.
func (c *placementCase) compare(plan *schedule.Plan) []string {
	if c.Expected.Error {
		return []string{"KubeFleet's cycle died, the core decided: " + plan.Verdicts.String()}
	}
	var differences []string
	differ := func(format string, args ...any) {
		differences = append(differences, fmt.Sprintf(format, args...))
	}
	got := map[string]api.Binding{}
	for _, b := range plan.Bindings {
		if !b.Waiting {
			got[b.Member] = b
		}
	}
	for _, want := range c.Expected.Selected {
		b, picked := got[want.Cluster]
		if !picked {
			v, _ := plan.Verdicts.Of(want.Cluster)
			differ("%s: recorded as picked, here not picked: %s", want.Cluster, v.Reason)
			continue
		}
		if show(b.AffinityScore) != show(want.Affinity) || show(b.SpreadScore) != show(want.Spread) {
			differ("%s: picked with scores affinity %s spread %s, recorded %s and %s", want.Cluster,
				show(b.AffinityScore), show(b.SpreadScore), show(want.Affinity), show(want.Spread))
		}
		delete(got, want.Cluster)
	}
	for _, name := range sortedNames(got) {
		differ("%s: picked here, recorded as not picked", name)
	}
	if plan.Fulfilled != c.Expected.Fulfilled {
		differ("fulfilled: here %v, recorded %v", plan.Fulfilled, c.Expected.Fulfilled)
	}
	for _, want := range c.Expected.NotSelected {
		differences = append(differences, compareRefusal(want, plan)...)
	}
	return differences
}

func compareRefusal(want recordedDecision, plan *schedule.Plan) []string {
	v, known := plan.Verdicts.Of(want.Cluster)
	if !known {
		return []string{want.Cluster + ": recorded as not picked, has no verdict here"}
	}
	kind := kindOf(want.Reason)
	if kind == "" {
		return []string{fmt.Sprintf("%s: recorded reason %q is of no known kind", want.Cluster, want.Reason)}
	}
	if v.Filter != kind || show(v.AffinityScore) != show(want.Affinity) || show(v.TopologySpreadScore) != show(want.Spread) {
		return []string{fmt.Sprintf("%s: here filter %q affinity %s spread %s, recorded %q, %s and %s", want.Cluster,
			v.Filter, show(v.AffinityScore), show(v.TopologySpreadScore), kind, show(want.Affinity), show(want.Spread))}
	}
	if !strings.Contains(v.Reason, kindPhrases[kind][0]) && len(kindPhrases[kind]) == 1 {
		return []string{fmt.Sprintf("%s: reason %q lacks KubeFleet's words %q", want.Cluster, v.Reason, kindPhrases[kind][0])}
	}
	return nil
}

// kindPhrases are the words by which KubeFleet's reasons are told apart.
var kindPhrases = map[string][]string{
	api.FilterAffinity:    {"required cluster affinity terms"},
	api.FilterEligibility: {"not connected", "has left the fleet"},
	api.FilterTaint:       {"cannot be tolerated"},
	api.FilterSpread:      {"topology spread constraint"},
	api.FilterRank:        {"score high enough"},
	api.FilterNotFound:    {"is not found"},
}

func kindOf(reason string) string {
	for kind, phrases := range kindPhrases {
		for _, phrase := range phrases {
			if strings.Contains(reason, phrase) {
				return kind
			}
		}
	}
	return ""
}

func sortedNames(bindings map[string]api.Binding) []string {
	names := make([]string, 0, len(bindings))
	for name := range bindings {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

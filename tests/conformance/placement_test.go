package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"flotilla/core/schedule"
	"flotilla/core/verdict"
)

const placementRecording = "placement.jsonl.gz"

func TestPlacement(t *testing.T) {
	cases := casesOf[placementCase](t, placementRecording)
	outcomes := judgeEach(cases, func(c *placementCase) outcome { return judgePlacement(t, c) })
	report(t, "placement", outcomes, grants{
		"D1": {cases: []string{"0397", "0400"}}, "D2": {cases: []string{"0373"}}, "D3": {cases: []string{"0097"}},
	})
}

// judgePlacement says first which decision of the specification may explain a difference, then runs
// the core. A decision explains nothing unless what it promises holds.
func judgePlacement(t *testing.T, c *placementCase) outcome {
	t.Helper()
	decision := c.explanation()
	in := c.input()
	plan := schedule.Schedule(in)
	o := outcome{id: c.ID, differences: c.compare(placedBy(&plan))}
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

// placed is an answer about one placement: of the core, or of a command.
type placed struct {
	Fulfilled bool
	Picked    map[string]scores
	Verdicts  map[string]placedVerdict
}

// scores are absent for members that were not scored.
type scores struct{ Affinity, Spread *int32 }

// placedVerdict says why a member was not picked, Filter, or that it was, and by which scores.
type placedVerdict struct {
	scores
	Filter, Reason string
}

// placedBy is what the core decided.
func placedBy(plan *schedule.Plan) *placed {
	out := &placed{Fulfilled: plan.Fulfilled, Picked: map[string]scores{}, Verdicts: map[string]placedVerdict{}}
	for _, b := range plan.Bindings {
		if !b.Waiting {
			out.Picked[b.Member] = scores{b.AffinityScore, b.SpreadScore}
		}
	}
	for _, v := range plan.Verdicts.All() {
		out.Verdicts[v.Member] = placedVerdict{scores{v.AffinityScore, v.TopologySpreadScore}, v.Filter, v.Reason}
	}
	return out
}

// compare lists every difference between the recording and an answer.
func (c *placementCase) compare(answer *placed) []string {
	if c.Expected.Error {
		return []string{"KubeFleet's cycle died, the core decided: picked " + strings.Join(slices.Sorted(maps.Keys(answer.Picked)), ", ")}
	}
	var differences []string
	differ := func(format string, args ...any) {
		differences = append(differences, fmt.Sprintf(format, args...))
	}
	got := maps.Clone(answer.Picked)
	for _, want := range c.Expected.Selected {
		b, picked := got[want.Cluster]
		if !picked {
			differ("%s: recorded as picked, here not picked: %s", want.Cluster, answer.Verdicts[want.Cluster].Reason)
			continue
		}
		if show(b.Affinity) != show(want.Affinity) || show(b.Spread) != show(want.Spread) {
			differ("%s: picked with scores affinity %s spread %s, recorded %s and %s", want.Cluster,
				show(b.Affinity), show(b.Spread), show(want.Affinity), show(want.Spread))
		}
		delete(got, want.Cluster)
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		differ("%s: picked here, recorded as not picked", name)
	}
	if answer.Fulfilled != c.Expected.Fulfilled {
		differ("fulfilled: here %v, recorded %v", answer.Fulfilled, c.Expected.Fulfilled)
	}
	for _, want := range c.Expected.NotSelected {
		differences = append(differences, compareRefusal(want, answer)...)
	}
	return differences
}

func compareRefusal(want recordedDecision, answer *placed) []string {
	v, known := answer.Verdicts[want.Cluster]
	if !known {
		return []string{want.Cluster + ": recorded as not picked, has no verdict here"}
	}
	kind := kindOf(want.Reason)
	if kind == "" {
		return []string{fmt.Sprintf("%s: recorded reason %q is of no known kind", want.Cluster, want.Reason)}
	}
	if v.Filter != kind || show(v.Affinity) != show(want.Affinity) || show(v.Spread) != show(want.Spread) {
		return []string{fmt.Sprintf("%s: here filter %q affinity %s spread %s, recorded %q, %s and %s", want.Cluster,
			v.Filter, show(v.Affinity), show(v.Spread), kind, show(want.Affinity), show(want.Spread))}
	}
	if !strings.Contains(v.Reason, kindPhrases[kind][0]) && len(kindPhrases[kind]) == 1 {
		return []string{fmt.Sprintf("%s: reason %q lacks KubeFleet's words %q", want.Cluster, v.Reason, kindPhrases[kind][0])}
	}
	return nil
}

// kindPhrases are the words by which KubeFleet's reasons are told apart.
var kindPhrases = map[string][]string{
	verdict.FilterAffinity:    {"required cluster affinity terms"},
	verdict.FilterEligibility: {"not connected", "has left the fleet"},
	verdict.FilterTaint:       {"cannot be tolerated"},
	verdict.FilterSpread:      {"topology spread constraint"},
	verdict.FilterRank:        {"score high enough"},
	verdict.FilterNotFound:    {"is not found"},
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

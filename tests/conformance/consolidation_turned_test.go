package conformance

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
)

// A comparison that cannot fail proves nothing: each part of an expectation, turned, must be noticed
// in every case that has it and agrees.
func TestTurnedConsolidationIsNoticed(t *testing.T) {
	turns := map[string]struct {
		words string
		turn  func(*consolidationWant) bool
	}{
		"decision": {"decision:", func(w *consolidationWant) bool { w.Decision = "turned"; return true }},
		"nothing at all": {"commands:", func(w *consolidationWant) bool {
			turned := w.Decision != "none"
			w.Decision = "none"
			return turned
		}},
		"method":    {"method:", func(w *consolidationWant) bool { w.Method += "x"; return true }},
		"reason":    {"reason:", func(w *consolidationWant) bool { w.Reason += "x"; return true }},
		"candidate": {"candidates:", func(w *consolidationWant) bool { w.Candidates = append(w.Candidates, "turned"); return true }},
		"savings":   {"savings:", func(w *consolidationWant) bool { w.Savings += 1e-6; return true }},
		"types": {"replacements:", func(w *consolidationWant) bool {
			if len(w.Replacements) == 0 {
				return false
			}
			w.Replacements[0].InstanceTypes = w.Replacements[0].InstanceTypes[1:]
			return true
		}},
		"zones": {"replacements:", func(w *consolidationWant) bool {
			if len(w.Replacements) == 0 {
				return false
			}
			w.Replacements[0].Zones = append(w.Replacements[0].Zones, "z-x")
			return true
		}},
		"eligible": {"eligible:", func(w *consolidationWant) bool {
			w.Eligible["empty"] = append(w.Eligible["empty"], "turned")
			return true
		}},
		"budgets": {"budgets:", func(w *consolidationWant) bool { w.Budgets["Empty"]["default"]++; return true }},
		"placements": {"placements:", func(w *consolidationWant) bool {
			for pod := range w.Placements {
				w.Placements[pod] = "turned"
				return true
			}
			return false
		}},
		"blocked": {"blocked ", func(w *consolidationWant) bool {
			for node := range w.Blocked {
				w.Blocked[node] = append(w.Blocked[node], "DisruptionBlocked: Node is turned")
				return true
			}
			return false
		}},
		"blocked by nothing": {"blocked ", func(w *consolidationWant) bool {
			for node := range w.Blocked {
				delete(w.Blocked, node)
				return true
			}
			return false
		}},
	}
	for name, turn := range turns {
		t.Run(name, func(t *testing.T) {
			cases, err := readRecording[consolidationCase]("testdata", consolidationRecording)
			require.NoError(t, err)
			noticed := 0
			for i := range cases {
				c := &cases[i]
				got := disruption.Decide(c.state(capacity.Rules{}))
				if len(c.compare(&got)) > 0 || !turn.turn(&c.Want) {
					continue
				}
				require.Contains(t, strings.Join(c.compare(&got), "\n"), turn.words, "case %s", c.ID)
				noticed++
			}
			require.Greater(t, noticed, 40)
		})
	}
}

// The same for budgets.
func TestTurnedBudgetsAreNoticed(t *testing.T) {
	for name, turn := range map[string]func(*budgetCase){
		"limit":   func(c *budgetCase) { c.Want.Limit = turnedNumber(c.Want.Limit) },
		"allowed": func(c *budgetCase) { c.Want.Allowed = turnedNumber(c.Want.Allowed) },
		"invalid": func(c *budgetCase) { c.Want.Invalid = !c.Want.Invalid },
		"door":    func(c *budgetCase) { c.Want.CRDValid = !c.Want.CRDValid },
	} {
		t.Run(name, func(t *testing.T) {
			cases, err := readRecording[budgetCase]("testdata", budgetsRecording)
			require.NoError(t, err)
			noticed := 0
			for i := range cases {
				c := &cases[i]
				compare := c.compareLimits
				if name == "door" {
					compare = c.compare
				}
				if len(compare(capacity.Rules{})) > 0 || name == "door" && c.Want.Invalid {
					continue
				}
				turn(c)
				require.NotEmpty(t, compare(capacity.Rules{}), "case %s", c.ID)
				noticed++
			}
			require.Greater(t, noticed, 80)
		})
	}
}

func turnedNumber(n *int) *int {
	if n == nil {
		return new(3)
	}
	return new(*n + 1)
}

// The whole way of a turned recording: read from another directory, reported under its case's id.
func TestTurnedConsolidationFailsNamingTheCase(t *testing.T) {
	cases, err := readRecording[map[string]any]("testdata", consolidationRecording)
	require.NoError(t, err)
	cases[0]["want"].(map[string]any)["method"] = "single"
	dir := t.TempDir()
	writeRecording(t, filepath.Join(dir, consolidationRecording), cases[:2])
	t.Setenv("CONFORMANCE_DIR", dir)

	turned, err := readRecording[consolidationCase](recordingDir(), consolidationRecording)
	require.NoError(t, err)
	require.Len(t, turned, 2)
	first, second := judgeConsolidation(&turned[0]), judgeConsolidation(&turned[1])
	require.True(t, first.failed())
	require.Equal(t, cases[0]["id"], first.id)
	require.Equal(t, []string{`method: here "empty", recorded "single"`}, first.differences)
	require.False(t, second.failed())
}

// A decision is found in the input, before the core runs, and only where it belongs.
func TestExplanationsComeFromTheInput(t *testing.T) {
	cases, err := readRecording[consolidationCase]("testdata", consolidationRecording)
	require.NoError(t, err)
	found, nobodys := map[string]int{}, 0
	for i := range cases {
		concerning := cases[i].concerning()
		for _, d := range concerning {
			found[d.id]++
		}
		if len(concerning) == 0 {
			nobodys++
		}
	}
	require.Positive(t, found["N5"])
	require.Positive(t, found["N9"])
	require.Greater(t, nobodys, 200, "most cases are nobody's to explain: %v", found)
}

// N6 and N26 concern every case with a pool that may buy spot and a type of it that nobody sells so, and no other.
func TestWhereN6MayExplain(t *testing.T) {
	const text = `{"id": "x", "nodePools": [{"name": "a"%s}], "instanceTypes": [
		{"name": "d2", "offerings": [{"zone": "z", "capacityType": "on-demand", "price": 1}, {"zone": "z", "capacityType": "%s", "price": 1}]}]}`
	for _, row := range []struct {
		pool, sold string
		want       []string
	}{
		{"", "on-demand", []string{"N6", "N26"}},
		{"", "spot", nil},
		{`, "requirements": [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}]`, "on-demand", nil},
		{`, "instanceTypes": ["e4"]`, "on-demand", nil},
	} {
		var c consolidationCase
		require.NoError(t, strictly(fmt.Appendf(nil, text, row.pool, row.sold), &c))
		var found []string
		for _, d := range c.concerning() {
			found = append(found, d.id)
		}
		require.Equal(t, row.want, found, "%s, sold as %s", row.pool, row.sold)
	}
}

// What the recordings of the repository seldom say reaches the core all the same: the version of a node's hash,
// how many pods a type takes, and that a node is unschedulable, which may mean a taint beside it or not.
func TestRareFieldsReachTheCore(t *testing.T) {
	var c consolidationCase
	require.NoError(t, strictly([]byte(`{"id": "x", "now": "2026-03-01T12:00:00Z",
		"instanceTypes": [{"name": "d2", "cpu": "2", "memory": "8Gi", "pods": 7}],
		"nodes": [{"name": "n", "instanceType": "d2", "nodePoolHash": "different", "hashVersion": "v2", "unschedulable": true}]}`), &c))
	n := c.node(&c.Nodes[0])
	require.Equal(t, map[string]string{api.AnnotationPoolHash: "different", api.AnnotationPoolHashLevel: "v2"}, n.Annotations)
	require.Equal(t, []int64{7, 7}, []int64{n.Capacity["pods"], n.Allocatable["pods"]})
	require.Empty(t, n.Taints)
	c.cordonTaints = true
	n = c.node(&c.Nodes[0])
	require.Len(t, n.Taints, 1)
	require.Equal(t, corev1.TaintNodeUnschedulable, n.Taints[0].Key)
}

// Every event of the peer has a kind, and no text is of two.
func TestKindsOfBlocked(t *testing.T) {
	for text, kind := range map[string]disruption.Code{
		`DisruptionBlocked: NodePool not found (NodePool=gone)`:                                                     disruption.CodePoolUnknown,
		`DisruptionBlocked: Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[default/a default/b])`: disruption.CodePDBOverlap,
		`DisruptionBlocked: Pdb prevents pod evictions (PodDisruptionBudget=[default/pdb])`:                         disruption.CodePDB,
		`DisruptionBlocked: Node doesn't have required label (label=karpenter.sh/nodepool)`:                         disruption.CodeNoPool,
		`Unconsolidatable: Node does not have label "topology.kubernetes.io/zone"`:                                  disruption.CodeNoLabel,
		`Unconsolidatable: NodePool "default" has consolidation policy WhenEmpty, but node is not empty`:            disruption.CodeNotEmpty,
		`Unconsolidatable: Filtering by price: minValues requirement is not met for label(s) (label(s)=[family])`:   disruption.CodeMinValues,
		`Unconsolidatable: SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node`:         disruption.CodeSpotDisabled,
	} {
		event, _, _ := strings.Cut(text, ":")
		require.Equal(t, map[string][]string{"n": {event + " " + string(kind)}}, blockedRecorded(map[string][]string{"n": {text}}))
		matching := 0
		for _, words := range blockedKinds {
			if strings.Contains(text, words) {
				matching++
			}
		}
		require.Equal(t, 1, matching, text)
	}
	require.Equal(t, []string{"X unknown: X: of another kind"}, blockedRecorded(map[string][]string{"n": {"X: of another kind"}})["n"])
}

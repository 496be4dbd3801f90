package eviction_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/eviction"
)

// world is one placement in a few words a member: "a:available b:progressing c:picked d:leaving".
type world struct {
	eviction.Input
	known map[string]eviction.Known
}

func newWorld(policy *api.Policy, members ...string) *world {
	w := &world{known: map[string]eviction.Known{}}
	w.Placement = &api.Placement{Spec: api.PlacementSpec{Policy: policy}}
	w.Placement.Name, w.Placement.UID = "web", "u1"
	w.Schedule, w.Release = &api.Schedule{UID: "u1"}, &api.Release{}
	w.Known = func(member string) eviction.Known { return w.known[member] }
	for _, text := range members {
		name, is, _ := strings.Cut(text, ":")
		w.add(name, is)
	}
	return w
}

func (w *world) add(name, is string) {
	if is != "leaving" && is != "held back" {
		w.Schedule.Bindings = append(w.Schedule.Bindings, api.Binding{Member: name})
	}
	if is == "picked" {
		return
	}
	w.Release.Entries = append(w.Release.Entries, api.ReleaseEntry{Member: name, UID: "u1", Generation: 4, Withdrawn: is == "leaving" || is == "returning"})
	result := &api.PlacementResult{UID: "u1", Generation: 4, Applied: "True", Available: "True"}
	known := eviction.Known{Result: result}
	switch is {
	case "progressing":
		result.Generation = 3
	case "untold":
		known.Result = nil
	case "former":
		result.UID = "u0"
	case "applying":
		result.Applied, result.Available = "Unknown", "Unknown"
	case "unapplied":
		result.Applied = "False"
	case "unavailable":
		result.Available = "False"
	case "differing":
		result.Applied, result.Available, result.DiffReported = "Unknown", "", "True"
	case "overridden":
		result.Generation = 3
		w.Release.Held = append(w.Release.Held, api.Held{Member: name, Overridden: true})
	case "away":
		known.Silent = true
	case "upgrading":
		known.Holder = "run spring"
	}
	w.known[name] = known
}

func (w *world) budget(text string) *world {
	field, value, found := strings.Cut(text, " ")
	if !found {
		return w
	}
	share := intstr.Parse(value)
	w.Budget = &api.PlacementDisruptionBudgetSpec{MaxUnavailable: &share}
	if field == "min" {
		w.Budget = &api.PlacementDisruptionBudgetSpec{MinAvailable: &share}
	}
	return w
}

func pickN(n int32) *api.Policy {
	return &api.Policy{PlacementType: api.PickN, NumberOfClusters: &n}
}

// The cases of the specification: what makes an eviction invalid, what lets it go, what blocks it.
func TestJudge(t *testing.T) {
	const blocked, allowed = "Eviction is blocked by specified ClusterResourcePlacementDisruptionBudget, ", "Eviction is allowed by specified ClusterResourcePlacementDisruptionBudget, "
	const failed = "Eviction is allowed, placement has failed"
	three := []string{"a:available", "b:available", "c:available"}
	for name, c := range map[string]struct {
		policy  *api.Policy
		members []string
		budget  string
		change  func(*world)
		want    string
	}{
		"no placement":      {pickN(1), nil, "", func(w *world) { w.Placement = nil }, "invalid: Failed to find ClusterResourcePlacement targeted by eviction"},
		"deleting":          {pickN(1), three, "", func(w *world) { w.Placement.DeletionTimestamp = &metav1.Time{} }, "invalid: Found deleting ClusterResourcePlacement targeted by eviction"},
		"PickFixed":         {&api.Policy{PlacementType: api.PickFixed}, three, "", nil, "invalid: Found ClusterResourcePlacement with PickFixed placement type targeted by eviction"},
		"not bound":         {pickN(1), three[1:], "", nil, "invalid: Failed to find scheduler decision for placement in cluster targeted by eviction"},
		"never scheduled":   {pickN(1), three, "", func(w *world) { w.Schedule, w.Release = nil, nil }, "invalid: Failed to find scheduler decision for placement in cluster targeted by eviction"},
		"of a former one":   {pickN(1), three, "", func(w *world) { w.Placement.UID = "u2" }, "invalid: Failed to find scheduler decision for placement in cluster targeted by eviction"},
		"taken, not told":   {pickN(3), []string{"a:held back", "b:available"}, "max 0", func(w *world) { w.Schedule.Evicted = []string{"a"} }, "executed already: Eviction is allowed, resources propagated by placement is currently being removed from cluster targeted by eviction"},
		"leaving":           {pickN(3), []string{"a:leaving"}, "max 0", nil, "executed already: Eviction is allowed, resources propagated by placement is currently being removed from cluster targeted by eviction"},
		"picked alone":      {pickN(1), []string{"a:picked"}, "", nil, "blocked: Eviction is blocked, placement has not propagated resources to target cluster yet"},
		"picked again":      {pickN(1), []string{"a:returning"}, "", nil, "blocked: Eviction is blocked, placement has not propagated resources to target cluster yet"},
		"held back":         {pickN(1), []string{"a:held back", "b:available"}, "", nil, "evicts: Eviction is allowed, no ClusterResourcePlacementDisruptionBudget specified"},
		"no budget":         {nil, three, "", nil, "evicts: Eviction is allowed, no ClusterResourcePlacementDisruptionBudget specified"},
		"unapplied":         {pickN(1), []string{"a:unapplied"}, "max 0", nil, "evicts: " + failed},
		"unavailable":       {pickN(1), []string{"a:unavailable"}, "max 0", nil, "evicts: " + failed},
		"differing":         {pickN(1), []string{"a:differing"}, "max 0", nil, "evicts: " + failed},
		"overridden":        {pickN(1), []string{"a:overridden"}, "max 0", nil, "evicts: " + failed},
		"in progress":       {pickN(2), []string{"a:progressing", "b:available"}, "max 1", nil, "blocked: " + blocked + "availablePlacements: 1, totalPlacements: 2; unavailable: a (a change is on its way)"},
		"untold":            {pickN(2), []string{"a:untold", "b:available"}, "max 1", nil, "blocked: " + blocked + "availablePlacements: 1, totalPlacements: 2; unavailable: a (a change is on its way)"},
		"a former result":   {pickN(2), []string{"a:former", "b:available"}, "min 1", nil, "blocked: " + blocked + "availablePlacements: 1, totalPlacements: 2; unavailable: a (a change is on its way)"},
		"applying":          {pickN(2), []string{"a:available", "b:applying"}, "max 1", nil, "blocked: " + blocked + "availablePlacements: 1, totalPlacements: 2; unavailable: b (not available)"},
		"max allows":        {pickN(3), three, "max 1", nil, "evicts: " + allowed + "availablePlacements: 3, totalPlacements: 3"},
		"max 0":             {pickN(3), three, "max 0", nil, "blocked: " + blocked + "availablePlacements: 3, totalPlacements: 3"},
		"max taken":         {pickN(3), []string{"a:available", "b:progressing", "c:available"}, "max 1", nil, "blocked: " + blocked + "availablePlacements: 2, totalPlacements: 3; unavailable: b (a change is on its way)"},
		"max of more":       {pickN(3), []string{"a:available", "b:leaving", "c:available", "d:available"}, "max 2", nil, "evicts: " + allowed + "availablePlacements: 3, totalPlacements: 4"},
		"max, rounded up":   {pickN(4), append([]string{"d:progressing"}, three...), "max 26%", nil, "evicts: " + allowed + "availablePlacements: 3, totalPlacements: 4"},
		"max, percent":      {pickN(4), append([]string{"d:progressing"}, three...), "max 25%", nil, "blocked: " + blocked + "availablePlacements: 3, totalPlacements: 4; unavailable: d (a change is on its way)"},
		"max, never found":  {pickN(9), three, "max 1", nil, "evicts: " + allowed + "availablePlacements: 3, totalPlacements: 3"},
		"max, evicted":      {pickN(3), three[:2], "max 1", func(w *world) { w.Schedule.Evicted = []string{"z"} }, "blocked: " + blocked + "availablePlacements: 2, totalPlacements: 2; 1 member evicted and not replaced"},
		"max, drained":      {pickN(4), three[:2], "max 2", func(w *world) { w.Schedule.Evicted, w.Schedule.Drained = []string{"y"}, []string{"z"} }, "blocked: " + blocked + "availablePlacements: 2, totalPlacements: 2; 2 members evicted and not replaced"},
		"max, replaced":     {pickN(3), three, "max 1", func(w *world) { w.Schedule.Evicted = []string{"z"} }, "evicts: " + allowed + "availablePlacements: 3, totalPlacements: 3"},
		"min allows":        {pickN(3), three, "min 2", nil, "evicts: " + allowed + "availablePlacements: 3, totalPlacements: 3"},
		"min reached":       {pickN(3), three, "min 3", nil, "blocked: " + blocked + "availablePlacements: 3, totalPlacements: 3"},
		"min, rounded up":   {pickN(3), three, "min 67%", nil, "blocked: " + blocked + "availablePlacements: 3, totalPlacements: 3"},
		"min, percent":      {pickN(3), three, "min 66%", nil, "evicts: " + allowed + "availablePlacements: 3, totalPlacements: 3"},
		"PickAll, min":      {nil, three, "min 2", nil, "evicts: " + allowed + "availablePlacements: 3, totalPlacements: 3"},
		"PickAll, min 3":    {nil, three, "min 3", nil, "blocked: " + blocked + "availablePlacements: 3, totalPlacements: 3"},
		"PickAll, max":      {nil, three, "max 3", nil, "blocked: Eviction is blocked by misconfigured ClusterResourcePlacementDisruptionBudget, either MaxUnavailable is specified or MinAvailable is specified as a percentage for PickAll ClusterResourcePlacement"},
		"PickAll, percent":  {nil, three, "min 1%", nil, "blocked: Eviction is blocked by misconfigured ClusterResourcePlacementDisruptionBudget, either MaxUnavailable is specified or MinAvailable is specified as a percentage for PickAll ClusterResourcePlacement"},
		"PickAll, failed":   {nil, []string{"a:unapplied"}, "max 3", nil, "evicts: " + failed},
		"away":              {pickN(2), []string{"a:away", "b:available"}, "max 1", nil, "blocked: " + blocked + "availablePlacements: 1, totalPlacements: 2; unavailable: a (no heartbeat)"},
		"away, no budget":   {pickN(2), []string{"a:away", "b:available"}, "", nil, "evicts: Eviction is allowed, no ClusterResourcePlacementDisruptionBudget specified"},
		"overridden, works": {pickN(1), []string{"a:available"}, "max 0", func(w *world) { w.Release.Held = []api.Held{{Member: "a", Overridden: true}} }, "blocked: " + blocked + "availablePlacements: 1, totalPlacements: 1"},
		"another upgrading": {pickN(3), []string{"a:available", "b:upgrading", "c:available"}, "max 1", nil, "blocked: " + blocked + "availablePlacements: 2, totalPlacements: 3; unavailable: b (run spring)"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(c.policy, c.members...).budget(c.budget)
			if c.change != nil {
				c.change(w)
			}
			v := eviction.Open(w.Input).Judge("a")
			require.Equal(t, c.want, said(&v))
		})
	}
}

func said(v *eviction.Verdict) string {
	switch {
	case !v.Valid:
		return "invalid: " + v.Message
	case v.Evicts:
		return "evicts: " + v.Message
	case v.Executed:
		return "executed already: " + v.Message
	}
	return "blocked: " + v.Message
}

func TestConditions(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 24, 5, 0, 0, 0, time.UTC))
	show := func(v eviction.Verdict) (lines []string) {
		for _, c := range v.Conditions(2, at) {
			require.Equal(t, at, c.LastTransitionTime)
			lines = append(lines, fmt.Sprintf("%s %s %s %d: %s", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message))
		}
		return lines
	}
	require.Equal(t, []string{"Valid False ClusterResourcePlacementEvictionInvalid 2: no"}, show(eviction.Verdict{Message: "no"}))
	require.Equal(t, []string{"Valid True ClusterResourcePlacementEvictionValid 2: Eviction is valid", "Executed False ClusterResourcePlacementEvictionNotExecuted 2: no"},
		show(eviction.Verdict{Valid: true, Message: "no"}))
	require.Equal(t, []string{"Valid True ClusterResourcePlacementEvictionValid 2: Eviction is valid", "Executed True ClusterResourcePlacementEvictionExecuted 2: yes"},
		show(eviction.Verdict{Valid: true, Executed: true, Message: "yes"}))
}

// A drain takes what the budget lets go, one after another, and says of the rest what it waits for.
func TestDrain(t *testing.T) {
	w := newWorld(pickN(4), "a:available", "b:available", "c:picked", "d:unapplied", "e:leaving").budget("min 1")
	book := eviction.Open(w.Input)
	gone, waits := book.Drain([]string{"a", "b", "c", "d", "e", "nobody"})
	require.Equal(t, []string{"a", "c", "d"}, gone)
	require.True(t, waits)
	stage, reason := book.Progress("b")
	require.Equal(t, eviction.Waits, stage)
	require.Contains(t, reason, "availablePlacements: 1, totalPlacements: 5; unavailable: a (gives it up), c (gives it up), d (gives it up) and 1 other")
	for _, member := range []string{"a", "c", "d", "e"} {
		stage, reason = book.Progress(member)
		require.Equal(t, eviction.Leaving, stage, member)
		require.Empty(t, reason)
	}
	stage, _ = book.Progress("nobody")
	require.Empty(t, stage)

	fixed := newWorld(&api.Policy{PlacementType: api.PickFixed}, "a:available")
	gone, waits = eviction.Open(fixed.Input).Drain([]string{"a"})
	require.Empty(t, gone)
	require.False(t, waits, "nothing comes of waiting")
	stage, reason = eviction.Open(fixed.Input).Progress("a")
	require.Equal(t, eviction.Stays, stage)
	require.Equal(t, "spec.policy.clusterNames names the member", reason)

	ending := newWorld(pickN(1), "a:available")
	ending.Placement.DeletionTimestamp = &metav1.Time{}
	stage, _ = eviction.Open(ending.Input).Progress("a")
	require.Equal(t, eviction.Leaving, stage)
}

func TestRemarks(t *testing.T) {
	remark := func(policy *api.Policy, budget string) string {
		w := newWorld(policy).budget(budget)
		return eviction.Remark(w.Placement, w.Budget)
	}
	require.Contains(t, eviction.Remark(nil, newWorld(nil).budget("max 1").Budget), "there is no ClusterResourcePlacement")
	require.Contains(t, remark(&api.Policy{PlacementType: api.PickFixed}, "max 1"), "PickFixed")
	require.Contains(t, remark(nil, "max 1"), "blocks all evictions")
	require.Contains(t, remark(nil, "min 10%"), "blocks all evictions")
	require.Empty(t, remark(nil, "min 1"))
	require.Empty(t, remark(pickN(3), "max 10%"))
}

// Who has a hold of members is told with the cause: a change or a withdrawal of a rollout, an eviction, or a drain.
func TestHolds(t *testing.T) {
	w := newWorld(pickN(9), "a:available", "b:progressing", "c:leaving", "d:leaving", "e:leaving", "f:picked", "g:unavailable", "h:applying", "i:returning")
	w.Schedule.Evicted, w.Schedule.Drained = []string{"c"}, []string{"d"}
	var lines []string
	for _, h := range eviction.Open(w.Input).Holds() {
		lines = append(lines, h.Member+": "+h.Holder)
	}
	require.Equal(t, []string{"b: rollout of web", "c: eviction of web", "d: drain of web", "e: rollout of web", "h: rollout of web"}, lines)
}

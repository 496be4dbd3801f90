package disruptor

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
)

// Whoever asks while a decision about a member is made, however long that takes, is answered: what is about that member
// with what to do, what is about others without it, which is said (H38).
func TestNobodyWaitsForADecisionWithoutEnd(t *testing.T) {
	o := resting()
	o.Patience = time.Millisecond
	h := newHarness(t, o, "berlin", "oslo")
	h.pool("a", "0")
	for _, member := range []string{"berlin", "oslo"} {
		h.nodes(member, aNode("n1", "a", 4))
		h.decided(member, "n1", "BudgetSpent")
	}
	slow := h.room.roster.get("berlin")
	hold(t, slow.deciding) // as the pass does that decides
	defer slow.deciding.Leave()

	for verb, question := range map[string]any{
		api.VerbNodes:      api.NodesRequest{Member: "berlin"},
		api.VerbPlanNodes:  api.PlanNodesRequest{Member: "berlin"},
		api.VerbWhyNode:    api.WhyNodeRequest{Member: "berlin", Node: "n1"},
		api.VerbBudgets:    api.BudgetsRequest{Member: "berlin"},
		api.VerbDeleteNode: api.DeleteNodeRequest{Member: "berlin", Node: "n1", Request: "r1"},
	} {
		t.Run(verb, func(*testing.T) {
			refusedWith(h, verb, question, api.CodeLimit, "member berlin is being decided about, which takes long: ask again")
		})
	}
	refusedWith(h, api.VerbNodes, api.NodesRequest{Node: "n2"}, api.CodeLimit, "member berlin is being decided about")
	left := []string{"member berlin: left out: it is being decided about, which takes long"}
	rows, notes := h.listed(t, "")
	require.Equal(t, []string{"n1 0 true"}, rows)
	require.Equal(t, left, notes)
	report := answered[disruption.BudgetReport](h, api.VerbBudgets, api.BudgetsRequest{})
	require.Len(t, report.Pools, 1)
	require.Equal(t, "oslo", report.Pools[0].Member)
	require.Equal(t, left, report.Notes)
	all := answered[api.DisruptionsResponse](h, api.VerbDisruptions, api.DisruptionsRequest{})
	require.Equal(t, []string{"member berlin: nothing is decided: a decision is being made, which takes long"}, all.Notes)
	require.Contains(t, h.room.Nodes(bustest.Context(h.t)), "berlin", "counts do not wait either")
}

// What somebody asks is worked out for a while, and then given up: it says so rather than answer half.
func TestWhatIsAskedIsNotWorkedOutWithoutEnd(t *testing.T) {
	o := resting()
	o.Thought = time.Nanosecond
	h := newHarness(t, o, "berlin")
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 4))
	h.ready()
	refusedWith(h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "berlin"}, api.CodeLimit, "takes longer than 1ns to work out")
	refusedWith(h, api.VerbWhyNode, api.WhyNodeRequest{Member: "berlin", Node: "n1"}, api.CodeLimit, "takes longer than 1ns to work out")
	deleted := answered[api.DeleteNodeResponse](h, api.VerbDeleteNode, api.DeleteNodeRequest{Member: "berlin", Node: "n1", Request: "r1"})
	require.NotEmpty(t, deleted.Disruption, "it is deleted all the same")
	require.Equal(t, []string{"where its pods go takes too long to work out"}, deleted.Notes)
}

// What somebody asks, and what a pass decides, ends with whoever wants it (H38), and a member rests after a decision.
func TestDecisionsKnowWhoWantsThem(t *testing.T) {
	o := resting()
	h := newHarness(t, o, "berlin")
	h.pool("a", "0")
	h.nodes("berlin", aNode("n1", "a", 4))
	h.decided("berlin", "n1", "BudgetSpent")
	ctx, end := context.WithCancel(bustest.Context(t))
	require.ErrorIs(t, h.room.lookInto(ctx, "berlin", nil, func(in orchestration.StepInput, _ []string) error {
		require.False(t, in.State.Ended())
		end()
		require.True(t, in.State.Ended())
		return nil
	}), context.Canceled)
	h.stop()
	m := h.room.roster.get("berlin")
	require.NotZero(t, m.pace.idle)
	m.pace = pace{}
	counted := &countingContext{Context: bustest.Context(t)}
	_, _, err := h.room.step(counted, m, nil)
	require.NoError(t, err)
	require.Greater(t, counted.asked.Load(), int64(1), "Step asks, and step once it is through")
}

// countingContext counts how often somebody asks whether it ended, and calls a function then, if it has one.
type countingContext struct {
	context.Context //nolint:containedctx // it is one
	asked           atomic.Int64
	also            func()
}

func (c *countingContext) Err() error {
	c.asked.Add(1)
	if c.also != nil {
		c.also()
	}
	return c.Context.Err()
}

// A hub that stops leaves a decision where it is: nothing of it is kept, nor that nothing was found.
func TestADecisionEndsWithTheTerm(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.nodes("berlin", aNode("n1", "a", 4))
	h.ready()
	slow := h.room.roster.get("berlin")
	hold(t, slow.deciding)
	h.pool("a", "100%")
	h.stop() // while passes and counts wait
	slow.deciding.Leave()

	h.run()
	h.stop()
	m := h.room.roster.get("berlin")
	ctx, end := context.WithCancel(bustest.Context(t))
	end()
	_, _, err := h.room.step(ctx, m, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, m.decision.Load())
	require.False(t, m.pace.found.known)
	require.Empty(t, h.record("berlin").Disruptions)
	require.Empty(t, m.waits())
}

// A plan has a bound for what it names and supposes, whoever asks for it.
func TestPlansAreBounded(t *testing.T) {
	h := newHarness(t, resting(), "berlin")
	h.pool("a", "0")
	h.nodes("berlin", aNode("n1", "a", 4))
	h.decided("berlin", "n1", "BudgetSpent")
	named := make([]string, mostNamed+1)
	for i := range named {
		named[i] = "n1"
	}
	refusedWith(h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "berlin", Nodes: named}, api.CodeInvalid, "101 nodes are named, of which a plan explains at most 100")
	_, err := ask[json.RawMessage](h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "berlin", Nodes: named[1:]})
	require.NoError(t, err)
	documents := make([]json.RawMessage, mostSupposed+1)
	for i := range documents {
		documents[i] = supposedPool("a", "", open, "")
	}
	refusedWith(h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "berlin", Documents: documents}, api.CodeInvalid, "there are 501 documents, of which a plan supposes at most 500")
	_, err = ask[json.RawMessage](h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "berlin", Documents: documents[1:]})
	require.ErrorContains(t, err, "nothing was planned: 499 of 500 documents with faults", "they are read")
}

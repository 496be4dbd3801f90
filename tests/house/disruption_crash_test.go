package house

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/faults"
	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/hub/disruptor"
	"flotilla/tests/elsewhen"
)

// The hub is killed while a replacement is on its way: that comes up meanwhile, and the next hub goes on
// where the last one was. Nothing is launched twice.
func TestHubKilledWhileANodeIsLaunched(t *testing.T) {
	t.Parallel()
	h := newNodeHouse(t, machine(t, "n1", "d8"))
	h.put("web", 1, "500m", "n1")
	h.member.SetFaults(faults.Faults{HangLaunch: []faults.Launch{{What: "any"}}})
	h.pool(whole)
	h.until("single Underutilized Launching [n1]")
	h.eventually(func() error {
		if m := h.member.Machines(); len(m) != 2 {
			return fmt.Errorf("machines %v", m)
		}
		return nil
	})
	require.Equal(t, []string{"n1"}, h.tainted())
	h.hub.Kill()
	h.member.SetFaults(faults.Faults{})
	h.eventually(func() error {
		if n := h.nodes(); len(n) != 2 {
			return fmt.Errorf("nodes %v", n)
		}
		return nil
	})
	h.hub.Start(t)
	h.connect(t)
	list := h.until("single Underutilized Done [n1]")
	fresh := list[0].Replacements[0].Node
	h.has(fresh)
	h.settled("web", map[string]int{fresh: 1})
	require.Equal(t, []string{fresh}, h.member.Machines())
}

// The hub is killed between a command and its result: the agent carries the command out without it, and
// the next hub learns of that.
func TestHubKilledBetweenCommandAndResult(t *testing.T) {
	t.Parallel()
	h := newNodeHouse(t, machine(t, "n1", "d4"), machine(t, "n2", "d4"))
	h.put("web", 2, "500m", "n1")
	h.guard("web", 0)
	h.pool(anyMachine + "\n  disruption: {budgets: [{nodes: \"0\"}]}")
	h.eventually(func() error {
		request := api.DeleteNodeRequest{Request: string(uuid.NewUUID()), Member: city, Node: "n1"}
		return h.request(t, api.VerbDeleteNode, request, nil)
	})
	h.until("manual Deleted Draining [n1]")
	h.eventually(func() error {
		if tainted := h.tainted(); len(tainted) != 1 {
			return fmt.Errorf("tainted are %v", tainted)
		}
		return nil
	})
	h.hub.Kill()
	h.guard("web", 1)
	h.has("n2")
	h.settled("web", map[string]int{"n2": 2})
	h.hub.Start(t)
	h.connect(t)
	h.until("manual Deleted Done [n1]")
	require.Equal(t, []string{"n2"}, h.nodes())
	require.Empty(t, h.tainted())
}

// The agent dies in the middle of a drain and goes on where it was.
func TestAgentKilledWhileANodeDrains(t *testing.T) {
	h := newNodeHouse(t, machine(t, "n1", "d4"), machine(t, "n2", "d4"))
	h.put("web", 2, "500m", "n1")
	h.guard("web", 0)
	h.pool(anyMachine + "\n  disruption: {budgets: [{nodes: \"0\"}]}")
	h.eventually(func() error {
		request := api.DeleteNodeRequest{Request: string(uuid.NewUUID()), Member: city, Node: "n1"}
		return h.request(t, api.VerbDeleteNode, request, nil)
	})
	h.eventually(func() error {
		if tainted := h.tainted(); len(tainted) != 1 {
			return fmt.Errorf("tainted are %v", tainted)
		}
		return nil
	})
	h.stopAgent(t, city)
	h.guard("web", 1)
	require.Equal(t, []string{"n1", "n2"}, h.nodes())
	h.startAgentWith(t, city, nil)
	h.until("manual Deleted Done [n1]")
	h.settled("web", map[string]int{"n2": 2})
}

// A replacement that never becomes ready is given up at its deadline: its machine goes, no taint is left,
// and the node is left alone until the back-off is over. Then it is tried again.
func TestReplacementThatNeverBecomesReady(t *testing.T) {
	base, broker := newTermHouse(t)
	h := &nodeHouse{house: base, t: t, mostGrace: 100 * time.Millisecond}
	var ahead atomic.Int64
	now := func() time.Time { return elsewhen.Now().Add(time.Duration(ahead.Load())) }
	lead(t, broker, rooms{nodes: &disruptor.Options{Now: now, Interval: 100 * time.Millisecond, ValidationWait: 200 * time.Millisecond}})
	h.inhabit([]target.Node{machine(t, "n1", "d8")})
	t.Cleanup(h.member.Close)
	h.put("web", 1, "500m", "n1")
	h.member.SetFaults(faults.Faults{NeverReady: []faults.Launch{{What: "general", Nth: 1}}})
	h.pool(whole)
	h.until("single Underutilized Launching [n1]")
	h.eventually(func() error {
		if n := h.nodes(); len(n) != 2 {
			return fmt.Errorf("nodes %v", n)
		}
		return nil
	})
	require.Equal(t, []string{"n1"}, h.tainted())

	ahead.Store(int64(11 * time.Minute))
	h.pool(whole + "\n  weight: 1") // so that the room looks again
	list := h.until("single Underutilized Aborted [n1]")
	require.Contains(t, list[0].Message, "not ready in time")
	h.has("n1")
	h.eventually(func() error {
		if tainted := h.tainted(); len(tainted) > 0 {
			return fmt.Errorf("tainted are %v", tainted)
		}
		return nil
	})
	require.Equal(t, []string{"n1"}, h.member.Machines())
	h.settled("web", map[string]int{"n1": 1})
	require.Equal(t, 1, h.stays("n1", disruption.CodeBackoff).Backoff.Failures)

	ahead.Store(int64(13 * time.Minute))
	h.pool(whole + "\n  weight: 2")
	list = h.until("single Underutilized Aborted [n1]", "single Underutilized Done [n1]")
	h.has(list[1].Replacements[0].Node)
}

// An update run has the member: nothing is disrupted there, and what is asked says why.
func TestUpdateRunHoldsDisruptionsUp(t *testing.T) {
	h := newNodeHouse(t, machine(t, "n1", "d4"))
	h.memberIs(t, city, func(status *api.MemberClusterStatus) bool { return status.State == api.MemberReady })
	h.inventoried(t, city)
	h.hang(city)
	h.updateRun(t, "r1", 1)
	h.operate(t, api.VerbRunStart, "r1")
	h.begun(t, city, 1)
	h.pool(whole)
	require.Contains(t, h.stays("n1", disruption.CodeStale).Why(), "update run r1 holds the member")
	list, err := h.disruptions()
	require.NoError(t, err)
	require.Empty(t, list)

	h.resume(city)
	h.runIs(t, "r1", "Completed: berlin Completed")
	h.until("empty Empty Done [n1]")
}

// A disruption has the member: an update run waits until it is over, and goes before the next one.
func TestDisruptionHoldsAnUpdateRunUp(t *testing.T) {
	h := newNodeHouse(t, machine(t, "n1", "d8"))
	h.put("web", 1, "500m", "n1")
	h.memberIs(t, city, func(status *api.MemberClusterStatus) bool { return status.State == api.MemberReady })
	h.inventoried(t, city)
	h.member.SetFaults(faults.Faults{HangLaunch: []faults.Launch{{What: "any"}}})
	h.pool(whole)
	h.until("single Underutilized Launching [n1]")
	h.updateRun(t, "r1", 1)
	h.operate(t, api.VerbRunStart, "r1")
	h.eventually(func() error {
		status, err := h.runStatus(t, "r1")
		if err != nil {
			return err
		}
		if text := fmt.Sprintf("%+v", status); !strings.Contains(text, "node disruption") {
			return fmt.Errorf("the run does not say what it waits for: %s", text)
		}
		return nil
	})
	require.Empty(t, h.member.UpgradesBegun())
	h.member.SetFaults(faults.Faults{})
	h.until("single Underutilized Done [n1]")
	h.runIs(t, "r1", "Completed: berlin Completed")
}

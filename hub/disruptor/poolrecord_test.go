package disruptor

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// A pool that is deleted takes its nodes along, on all members; its record says for whom it waits.
func TestPoolDeleted(t *testing.T) {
	h := newHarness(t, quick(), "berlin", "oslo")
	h.pool("a", "0")
	h.nodes("berlin", aNode("n1", "a", 4, 500), aNode("n2", "a", 4))
	h.nodes("oslo")
	h.pools("a", "berlin 2/0, oslo 0/0")
	h.poolSpec("a", "0", nil, deleted)
	r := h.eventually("berlin", "manual n1,n2 Draining")
	h.pools("a", "deleting: berlin 2/2, oslo 0/0")
	h.finish("berlin", &r.Disruptions[0])
	h.pools("a", "deleting: berlin 0/0, oslo 0/0")
	h.put(subjects.PoolSpecs.Key("a"), nil)
	h.pools("a", "none")
}

// A pool that is deleted takes its nodes along also where it selects the member no more; elsewhere it is
// not seen.
func TestPoolDeletedThatMatchesNoMore(t *testing.T) {
	h := newHarness(t, quick(), "berlin", "oslo")
	elsewhere := func(p *api.NodePool) { p.Annotations = map[string]string{api.AnnotationMembers: "region=eu"} }
	h.pool("a", "0", elsewhere)
	h.pool("b", "0")
	h.nodes("berlin", aNode("n1", "a", 4, 500))
	h.nodes("oslo", aNode("n1", "b", 4, 500))
	h.decided("berlin", "n1", "NodePoolUnknown")
	h.poolSpec("a", "0", []func(*api.NodePool){elsewhere}, deleted)
	r := h.eventually("berlin", "manual n1 Draining")
	h.pools("a", "deleting: berlin 1/1")
	budgets := answered[disruption.BudgetReport](h, api.VerbBudgets, api.BudgetsRequest{Member: "oslo"})
	require.Len(t, budgets.Pools, 1)
	require.Equal(t, "b", budgets.Pools[0].Name)
	h.finish("berlin", &r.Disruptions[0])
	h.pools("a", "deleting: ")
}

// The end of a pool waits for replacements that are on their way though no node of it is seen.
func TestPoolDeletedWhileItsReplacementComes(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 16, 500))
	r := h.eventually("berlin", "single n1 Launching")
	h.poolSpec("a", "100%", nil, deleted)
	h.eventually("berlin", "single n1 Aborted")
	h.gone("berlin", "n1")
	h.pools("a", "deleting: berlin 0/0 unknown")
	h.result("berlin", r.Disruptions[0].ID, api.PhaseAborted)
	h.pools("a", "deleting: berlin 0/0")
}

// A pool's record tells what is left of its budgets, what they cannot mean, and of whom nothing is known.
func TestPoolRecord(t *testing.T) {
	o := quick()
	o.Disabled = true
	h := newHarness(t, o, "berlin", "oslo", "rome")
	h.member("rome", map[string]string{"env": "test"})
	h.pool("a", "2", func(p *api.NodePool) {
		p.Annotations = map[string]string{api.AnnotationMembers: "env!=test"}
		never, hour := "0 0 31 2 *", "1h"
		p.Spec.Disruption.Budgets = append(p.Spec.Disruption.Budgets, api.DisruptionBudget{Nodes: new("1"), Schedule: &never, Duration: &hour})
	})
	down := aNode("n2", "a", 4)
	down.Ready = false
	h.nodes("berlin", aNode("n1", "a", 4), down)
	h.event("oslo", aNode("n1", "a", 4))
	h.pools("a", "berlin 2/1, oslo 1/0 unknown")
	record, _, _ := store.TableOf[api.PoolRecord](h.store.State, subjects.Pools).Get("a")
	require.Equal(t, "uid-a", record.UID)
	require.Equal(t, 1, record.Members[0].Allowed[api.ReasonEmpty])
	require.Len(t, record.Lint, 1)
	h.stale("berlin", "switched off on the hub")
	pool := &api.NodePool{}
	pool.Name = "a"
	h.room.fleet.forget("berlin")
	fresh, _, err := h.room.recordOf(pool)
	require.NoError(t, err)
	require.Equal(t, api.PoolMember{Member: "berlin", Unknown: notCounted}, withoutAllowed(fresh.Members[0]), "as right after a takeover")
}

// A member whose agent was told to leave nodes alone has none that the end of a pool would wait for; what
// ran there is given up, and the member given back.
func TestMemberWhoseNodesAreLeftAlone(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "1")
	h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4))
	h.eventually("berlin", "empty n1 Draining")
	h.pools("a", "berlin 2/1")
	h.locked("berlin", owner)
	require.NoError(t, h.agent("berlin").PutNodeInventory(bustest.Context(t), api.NodeInventory{
		Boot: "b1", Sequence: 1, At: metav1.NewTime(elsewhen.Now().Add(time.Second)), Withheld: "nodes.enabled is false",
	}))
	h.stale("berlin", "nodes.enabled is false")
	h.eventually("berlin", "empty n1 Aborted")
	h.locked("berlin", "")
	h.pools("a", "berlin 0/0")
}

func withoutAllowed(m api.PoolMember) api.PoolMember {
	m.Allowed = nil
	return m
}

// pools waits until a pool's record reads as wanted: "deleting: berlin 2/1, oslo 1/0 unknown".
func (h *harness) pools(pool, want string) {
	h.t.Helper()
	bustest.Eventually(h.t, func() error {
		record, _, found := store.TableOf[api.PoolRecord](h.store.State, subjects.Pools).Get(pool)
		got := "none"
		if found {
			got = poolText(&record)
		}
		if got != want {
			return fmt.Errorf("the record of pool %s is %q, wanted %q", pool, got, want)
		}
		return nil
	})
}

func poolText(r *api.PoolRecord) string {
	text, comma := "", ""
	if r.Deleting {
		text = "deleting: "
	}
	for _, m := range r.Members {
		text += fmt.Sprintf("%s%s %d/%d", comma, m.Member, m.Nodes, m.Disrupting)
		if m.Unknown != "" {
			text += " unknown"
		}
		comma = ", "
	}
	return text
}

// Nodes that the catalog does not list are told by the record of their pool, and are known to who asks for
// them; nodes that carry no hash of their pool get one, once (N20, N21).
func TestWhatThePoolRecordSaysOfPrices(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "0")
	elsewhere := aNode("n2", "a", 4, 500)
	elsewhere.Labels["topology.kubernetes.io/zone"] = "z-x"
	h.nodes("berlin", aNode("n1", "a", 4, 500), elsewhere)
	h.decided("berlin", "n2", "NotInCatalog")
	bustest.Eventually(t, func() error {
		record, _, found := h.room.records.pools.Get("a")
		if !found || len(record.Members) != 1 || record.Members[0].NotInCatalog != 1 {
			return fmt.Errorf("the record is %+v", record)
		}
		require.Contains(t, record.Members[0].Example, "in zone z-x as on-demand")
		return nil
	})
	require.Len(t, h.room.Nodes(bustest.Context(h.t))["berlin"], 2)
	bustest.Eventually(t, func() error {
		record := h.room.record("berlin")
		if len(record.Stamps) != 1 || record.Stamps[0].Pool != "a" || record.Stamps[0].Hash == "" {
			return fmt.Errorf("the record wants %+v", record.Stamps)
		}
		return nil
	})
}

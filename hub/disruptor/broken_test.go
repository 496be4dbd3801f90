package disruptor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/orchestration"
	"flotilla/hub/disruptor/told"
	"flotilla/subjects"
)

// What cannot be read is not gone: while a record of the member is broken, what runs stays and nothing
// begins; once it is mended, things go on.
func TestWhatCannotBeReadIsNotGone(t *testing.T) {
	for name, key := range map[string]string{
		"member": subjects.MemberSpecs.Key("berlin"), "record of the member": subjects.Members.Key("berlin"),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, quick(), "berlin")
			h.pool("a", "1")
			h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4))
			r := h.eventually("berlin", "empty n1 Draining")
			mended, _, found := h.store.State.Raw(key)
			require.True(t, found)
			h.put(key, json.RawMessage(`{"uid":{},"name":7}`))
			h.finish("berlin", &r.Disruptions[0])
			bustest.Eventually(t, func() error {
				if _, err := h.room.pass(bustest.Context(t), "berlin"); err == nil {
					return fmt.Errorf("the pass found nothing wrong")
				}
				return nil
			})
			broken := h.record("berlin")
			require.Equal(t, "empty n1 Draining", text(&broken))
			_, err := h.room.deleteNode(bustest.Context(t), "berlin", "n2", "r1")
			require.Error(t, err)
			h.put(key, json.RawMessage(mended))
			h.eventually("berlin", "empty n1 Done; empty n2 Draining")
		})
	}
}

// While a pool, a catalog or a node class cannot be read, what runs goes on, on all members; nothing new is
// chosen where it may matter, and the record says why.
func TestBrokenProvisioning(t *testing.T) {
	class := subjects.ObjectSpecs.Key("karpenter.azure.com|AKSNodeClass||std")
	for name, broken := range map[string]struct{ key, value, says string }{
		"own pool": {subjects.PoolSpecs.Key("a"), `{"uid":{},"name":7}`, "NodePool a cannot be read: "},
		"new pool": {subjects.PoolSpecs.Key("z"), `{"kind":"Spec","object":{"kind":"NodePool","name":"z"},"body":7}`, "NodePool z cannot be read: "},
		"catalog":  {subjects.InstanceCatalogSpecs.Key("all"), `{"uid":{},"name":7}`, "InstanceCatalog all cannot be read: "},
		"class": {
			class, `{"kind":"Spec","object":{"apiVersion":"karpenter.azure.com/v1beta1","kind":"AKSNodeClass","name":"std"},"digest":"0000"}`,
			"reading the node class of NodePool a: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, quick(), "berlin")
			h.pool("a", "1", func(p *api.NodePool) {
				p.Spec.Template.Spec.NodeClassRef = &api.NodeClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "std"}
			})
			h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4), aNode("n3", "a", 4))
			r := h.eventually("berlin", "empty n1 Draining")
			before, _, found := h.store.State.Raw(broken.key)
			h.put(broken.key, json.RawMessage(broken.value))
			h.stale("berlin", broken.says)
			h.finish("berlin", &r.Disruptions[0])
			h.eventually("berlin", "empty n1 Done")
			h.locked("berlin", "")
			_, err := h.room.deleteNode(bustest.Context(t), "berlin", "n2", "r1")
			require.NoError(t, err, "a person's wish needs no pool")
			r = h.eventually("berlin", "empty n1 Done; manual n2 Draining")
			h.finish("berlin", &r.Disruptions[1])
			h.eventually("berlin", "empty n1 Done; manual n2 Done")
			if found {
				h.put(broken.key, json.RawMessage(before))
			} else {
				h.put(broken.key, nil)
			}
			h.eventually("berlin", "empty n1 Done; manual n2 Done; empty n3 Draining")
		})
	}
}

// A catalog that cannot be read does not matter to members that another comes first for.
func TestBrokenCatalogThatDoesNotMatter(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.put(subjects.InstanceCatalogSpecs.Key("b"), json.RawMessage(`{"uid":{}}`))
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 4))
	h.eventually("berlin", "empty n1 Draining")
}

// pods is the state of a node with so many pods, of which there is nothing to be said.
func pods(n int) string {
	return `{"boot":"b0","sequence":2,"node":{"name":"n1","pods":[` + strings.TrimSuffix(strings.Repeat("{},", n), ",") + `]}}`
}

// A state that cannot be read makes the view one that is not acted on: the one before is out of date.
func TestStateThatCannotBeRead(t *testing.T) {
	for _, body := range []string{
		`{"boot":"b0","sequence":2,"node":{"name":"n1","pods":"new form"}}`, `{"node":{"name":"n3"}}`, "z torn", pods(bus.MaxPodsOfANode + 1),
		`{"boot":"b0","sequence":2,"node":{"name":"n1","pods":[{"namespace":"shop","name":"p","requests":{"cpu":9223372036854775807}}]}}`,
		`{"boot":"b0","sequence":2,"node":{"name":"n1","pods":[{"namespace":"shop","name":"p","requests":{"cpu":1e-999999999}}]}}`,
	} {
		h := newHarness(t, quick(), "berlin")
		h.pool("a", "0")
		h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4, 3500))
		h.decided("berlin", "n1", "BudgetSpent")
		_, err := h.store.Conn.JS.Publish(bustest.Context(t), h.store.Conn.Fleet.NodeEvent("berlin", "n1"), []byte(body))
		require.NoError(t, err)
		h.stale("berlin", "node n1, of which no event has come")
		h.told("node/berlin/n1", "NodeUnreadable", "what the agent tells of it cannot be read")
		h.pool("a", "100%")
		h.stale("berlin", "node n1, of which no event has come")
		h.event("berlin", aNode("n1", "a", 4))
		h.eventually("berlin", "empty n1 Draining")
	}
}

// A member is not forgotten while something of it waits to be read.
func TestRosterKeepsWhoIsHeardOf(t *testing.T) {
	r := roster{members: map[string]*memberState{}}
	r.push("berlin", told.Arrival{})
	r.forget("berlin")
	require.Equal(t, []string{"berlin"}, r.names())
	require.True(t, r.get("berlin").Lift().Inventory)
	r.forget("berlin")
	r.forget("oslo")
	require.Empty(t, r.names())
}

// A record that somebody else wrote in between is not written over: the pass is repeated on what it is.
func TestRecordChangedInBetween(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "0")
	h.nodes("berlin", aNode("n1", "a", 4, 500), aNode("n2", "a", 4, 500))
	h.decided("berlin", "n1", "NotEmpty")
	m := h.room.roster.get("berlin")
	hold(t, m.deciding)
	s, err := h.room.gather(bustest.Context(t), m)
	require.NoError(t, err)
	h.room.share(m, s)
	other := api.DisruptionRecord{Header: api.NewHeader(api.KindDisruptionRecord), Member: "berlin", Generation: 7, Disruptions: []api.Disruption{{
		ID: "other", Method: "drift", Nodes: []string{"n2"}, Phase: api.PhaseDraining,
	}}}
	h.put(subjects.Disruptions.Key("berlin"), other)
	step := s.in
	step.Deletions = append(step.Deletions, orchestration.Deletion{Node: "n1"})
	out := orchestration.Step(step)
	require.ErrorIs(t, h.room.write(bustest.Context(t), m, s, &out), bus.ErrConflict)
	m.deciding.Leave()
	_, err = h.room.deleteNode(bustest.Context(t), "berlin", "n1", "r1")
	require.NoError(t, err)
	r := h.eventually("berlin", "drift n2 Draining; manual n1 Draining")
	require.Greater(t, r.Generation, int64(7))
}

// The room goes on after the broker restarted, with what came meanwhile.
func TestBrokerRestarts(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 4, 3500))
	h.decided("berlin", "n1", "NotCheaper")
	h.server.Restart(t)
	bustest.Eventually(t, func() error {
		if !h.agent("berlin").Connected() || !h.room.feed.Synced() || !h.store.Synced() {
			return fmt.Errorf("not connected again")
		}
		return nil
	})
	h.nodes("berlin", aNode("n2", "a", 4))
	h.eventually("berlin", "empty n2 Draining")
}

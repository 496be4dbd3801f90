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
	"flotilla/subjects"
)

// What cannot be read is not gone: while a record of the member is broken, what runs stays and nothing
// begins; once it is mended, things go on.
func TestWhatCannotBeReadIsNotGone(t *testing.T) {
	for name, key := range map[string]string{
		"member": subjects.MemberSpecs.Key("berlin"), "record of the member": subjects.Members.Key("berlin"),
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t, quick(), "berlin")
			y.pool("a", "1")
			y.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4))
			r := y.eventually("berlin", "empty n1 Draining")
			mended, _, found := y.store.State.Raw(key)
			require.True(t, found)
			y.put(key, json.RawMessage(`{"uid":{},"name":7}`))
			y.finish("berlin", &r.Disruptions[0])
			bustest.Eventually(t, func() error {
				if _, err := y.room.pass(bustest.Context(t), "berlin"); err == nil {
					return fmt.Errorf("the pass found nothing wrong")
				}
				return nil
			})
			broken := y.record("berlin")
			require.Equal(t, "empty n1 Draining", text(&broken))
			_, err := y.room.deleteNode(bustest.Context(t), "berlin", "n2", "r1")
			require.Error(t, err)
			y.put(key, json.RawMessage(mended))
			y.eventually("berlin", "empty n1 Done; empty n2 Draining")
		})
	}
}

// While a pool, a catalog or a node class cannot be read, what runs goes on, on all members; nothing new is
// chosen where it may matter, and the record says why.
func TestBrokenMarket(t *testing.T) {
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
			y := newYard(t, quick(), "berlin")
			y.pool("a", "1", func(p *api.NodePool) {
				p.Spec.Template.Spec.NodeClassRef = &api.NodeClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "std"}
			})
			y.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4), aNode("n3", "a", 4))
			r := y.eventually("berlin", "empty n1 Draining")
			before, _, found := y.store.State.Raw(broken.key)
			y.put(broken.key, json.RawMessage(broken.value))
			y.stale("berlin", broken.says)
			y.finish("berlin", &r.Disruptions[0])
			y.eventually("berlin", "empty n1 Done")
			y.locked("berlin", "")
			_, err := y.room.deleteNode(bustest.Context(t), "berlin", "n2", "r1")
			require.NoError(t, err, "a person's wish needs no pool")
			r = y.eventually("berlin", "empty n1 Done; manual n2 Draining")
			y.finish("berlin", &r.Disruptions[1])
			y.eventually("berlin", "empty n1 Done; manual n2 Done")
			if found {
				y.put(broken.key, json.RawMessage(before))
			} else {
				y.put(broken.key, nil)
			}
			y.eventually("berlin", "empty n1 Done; manual n2 Done; empty n3 Draining")
		})
	}
}

// A catalog that cannot be read does not matter to members that another comes first for.
func TestBrokenCatalogThatDoesNotMatter(t *testing.T) {
	y := newYard(t, quick(), "berlin")
	y.put(subjects.InstanceCatalogSpecs.Key("b"), json.RawMessage(`{"uid":{}}`))
	y.pool("a", "100%")
	y.nodes("berlin", aNode("n1", "a", 4))
	y.eventually("berlin", "empty n1 Draining")
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
		y := newYard(t, quick(), "berlin")
		y.pool("a", "0")
		y.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4, 3500))
		y.decided("berlin", "n1", "BudgetSpent")
		_, err := y.store.Conn.JS.Publish(bustest.Context(t), y.store.Conn.Fleet.NodeEvent("berlin", "n1"), []byte(body))
		require.NoError(t, err)
		y.stale("berlin", "node n1, of which no event has come")
		y.told("node/berlin/n1", "NodeUnreadable", "what the agent tells of it cannot be read")
		y.pool("a", "100%")
		y.stale("berlin", "node n1, of which no event has come")
		y.event("berlin", aNode("n1", "a", 4))
		y.eventually("berlin", "empty n1 Draining")
	}
}

// Of what came since the last pass the newest of each node is taken in, in the order in which it came.
func TestInboxKeepsTheOrder(t *testing.T) {
	var in inbox
	for _, a := range []arrival{{node: "n1", body: []byte("1")}, {body: []byte("2")}, {node: "n2", body: []byte("3")}, {body: []byte("4")}, {node: "n1", body: []byte("5")}} {
		in.push(a)
	}
	text := ""
	for _, a := range in.take() {
		text += string(a.body)
	}
	require.Equal(t, "345", text)
	require.Empty(t, in.take())
}

// A member is not forgotten while something of it waits to be read.
func TestRosterKeepsWhoIsHeardOf(t *testing.T) {
	r := roster{members: map[string]*memberState{}}
	r.push("berlin", arrival{node: "n1", body: []byte("1")})
	r.forget("berlin")
	require.Equal(t, []string{"berlin"}, r.names())
	require.Len(t, r.get("berlin").inbox.take(), 1)
	r.forget("berlin")
	r.forget("oslo")
	require.Empty(t, r.names())
}

// A record that somebody else wrote in between is not written over: the pass is repeated on what it is.
func TestRecordChangedInBetween(t *testing.T) {
	y := newYard(t, quick(), "berlin")
	y.pool("a", "0")
	y.nodes("berlin", aNode("n1", "a", 4, 500), aNode("n2", "a", 4, 500))
	y.decided("berlin", "n1", "NotEmpty")
	m := y.room.roster.get("berlin")
	m.deciding.Lock()
	s, err := y.room.gather(bustest.Context(t), m)
	require.NoError(t, err)
	y.room.share(m, s)
	other := api.DisruptionRecord{Header: api.NewHeader(api.KindDisruptionRecord), Member: "berlin", Generation: 7, Disruptions: []api.Disruption{{
		ID: "other", Method: "drift", Nodes: []string{"n2"}, Phase: api.PhaseDraining,
	}}}
	y.put(subjects.Disruptions.Key("berlin"), other)
	step := s.in
	step.Deletions = append(step.Deletions, orchestration.Deletion{Node: "n1"})
	out := orchestration.Step(step)
	require.ErrorIs(t, y.room.write(bustest.Context(t), m, s, &out), bus.ErrConflict)
	m.deciding.Unlock()
	_, err = y.room.deleteNode(bustest.Context(t), "berlin", "n1", "r1")
	require.NoError(t, err)
	r := y.eventually("berlin", "drift n2 Draining; manual n1 Draining")
	require.Greater(t, r.Generation, int64(7))
}

// The room goes on after the broker restarted, with what came meanwhile.
func TestBrokerRestarts(t *testing.T) {
	y := newYard(t, quick(), "berlin")
	y.pool("a", "100%")
	y.nodes("berlin", aNode("n1", "a", 4, 3500))
	y.decided("berlin", "n1", "NotCheaper")
	y.server.Restart(t)
	bustest.Eventually(t, func() error {
		if !y.agent("berlin").Connected() || !y.room.feed.Synced() || !y.store.Synced() {
			return fmt.Errorf("not connected again")
		}
		return nil
	})
	y.nodes("berlin", aNode("n2", "a", 4))
	y.eventually("berlin", "empty n2 Draining")
}

package disruptor

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/subjects"
)

// What cannot be read is not gone: while a record that decisions depend on is broken, what runs stays and
// nothing begins; once it is mended, things go on.
func TestWhatCannotBeReadIsNotGone(t *testing.T) {
	for name, key := range map[string]string{
		"member": subjects.MemberSpecs.Key("berlin"), "record of the member": subjects.Members.Key("berlin"),
		"pool": subjects.PoolSpecs.Key("a"), "catalog": subjects.InstanceCatalogSpecs.Key("all"),
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
	require.NoError(t, y.room.share(m, s))
	other := api.DisruptionRecord{Header: api.NewHeader(api.KindDisruptionRecord), Member: "berlin", Generation: 7, Disruptions: []api.Disruption{{
		ID: "other", Method: "drift", Nodes: []string{"n2"}, Phase: api.PhaseDraining,
	}}}
	y.put(subjects.Disruptions.Key("berlin"), other)
	step := s.in
	step.Deletions = append(step.Deletions, disruption.Deletion{Node: "n1"})
	out := disruption.Step(step)
	require.ErrorIs(t, y.room.write(bustest.Context(t), s, &out), bus.ErrConflict)
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

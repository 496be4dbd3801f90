package disruptor

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// A whole fleet in one hub.
const (
	fleetMembers = 100
	fleetNodes   = 1000
)

// crowd puts what the agents of a whole fleet have told into the stream: nodes with ten pods each.
func (h *harness) crowd() {
	h.t.Helper()
	c := h.store.Conn
	for i := range fleetMembers {
		member := fmt.Sprintf("m%03d", i)
		h.member(member, nil)
		inventory := api.NodeInventory{Header: api.NewHeader(api.KindNodeInventory), Member: member, Boot: "b", Sequence: 1, At: metav1.NewTime(elsewhen.Now()), Nodes: map[string]uint64{}}
		for k := range fleetNodes {
			name, body := crowded(h.t, i*fleetNodes+k)
			inventory.Nodes[name] = 1
			_, err := c.JS.PublishAsync(c.Fleet.NodeEvent(member, name), body)
			require.NoError(h.t, err)
		}
		body, err := json.Marshal(inventory)
		require.NoError(h.t, err)
		_, err = c.JS.PublishAsync(c.Fleet.NodeInventory(member), body)
		require.NoError(h.t, err)
		<-c.JS.PublishAsyncComplete()
	}
}

// BenchmarkFleet is a hub that begins to lead a fleet of 100,000 nodes with a million pods: the time until
// it has read all of them and decided about every member, and the memory that it then holds, server and
// client in the same process included.
func BenchmarkFleet(b *testing.B) {
	server := bustest.Start(b)
	h := &harness{t: b, server: server, store: server.Lead(b), clock: &clock{}, boots: map[string]*boot{}}
	h.catalog()
	h.pool("general", "10%")
	h.crowd()
	before := heap()
	for b.Loop() {
		began := elsewhen.Now()
		h.run()
		bustest.EventuallyIn(b, 5*time.Minute, func() error {
			if !h.room.feed.Synced() {
				return errors.New("the nodes are being read")
			}
			return nil
		})
		b.ReportMetric(elsewhen.Since(began).Seconds(), "s-listed")
		bustest.EventuallyIn(b, 5*time.Minute, h.allDecided)
		b.ReportMetric(elsewhen.Since(began).Seconds(), "s-decided")
		b.ReportMetric(float64(heap()-before)/(10*fleetMembers*fleetNodes), "B/pod")
		h.stop()
		runtime.KeepAlive(h.room)
	}
}

func (h *harness) allDecided() error {
	for i := range fleetMembers {
		name := fmt.Sprintf("m%03d", i)
		m := h.room.roster.get(name)
		if m.decision.Load() == nil {
			return fmt.Errorf("nothing is decided about %s", name)
		}
	}
	return nil
}

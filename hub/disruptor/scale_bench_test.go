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
func (y *yard) crowd() {
	y.t.Helper()
	c := y.store.Conn
	for i := range fleetMembers {
		member := fmt.Sprintf("m%03d", i)
		y.member(member, nil)
		inventory := api.NodeInventory{Header: api.NewHeader(api.KindNodeInventory), Member: member, Boot: "b", Sequence: 1, At: metav1.NewTime(elsewhen.Now()), Nodes: map[string]uint64{}}
		for k := range fleetNodes {
			name, body := crowded(y.t, i*fleetNodes+k)
			inventory.Nodes[name] = 1
			_, err := c.JS.PublishAsync(c.Fleet.NodeEvent(member, name), body)
			require.NoError(y.t, err)
		}
		body, err := json.Marshal(inventory)
		require.NoError(y.t, err)
		_, err = c.JS.PublishAsync(c.Fleet.NodeInventory(member), body)
		require.NoError(y.t, err)
		<-c.JS.PublishAsyncComplete()
	}
}

// BenchmarkFleet is a hub that begins to lead a fleet of 100,000 nodes with a million pods: the time until
// it has read all of them and decided about every member, and the memory that it then holds, server and
// client in the same process included.
func BenchmarkFleet(b *testing.B) {
	server := bustest.Start(b)
	y := &yard{t: b, server: server, store: server.Lead(b), clock: &clock{}, boots: map[string]*boot{}}
	y.catalog()
	y.pool("general", "10%")
	y.crowd()
	before := heap()
	for b.Loop() {
		began := elsewhen.Now()
		y.run()
		bustest.EventuallyIn(b, 5*time.Minute, func() error {
			if !y.room.feed.Synced() {
				return errors.New("the nodes are being read")
			}
			return nil
		})
		b.ReportMetric(elsewhen.Since(began).Seconds(), "s-listed")
		bustest.EventuallyIn(b, 5*time.Minute, y.allDecided)
		b.ReportMetric(elsewhen.Since(began).Seconds(), "s-decided")
		b.ReportMetric(float64(heap()-before)/(10*fleetMembers*fleetNodes), "B/pod")
		y.stop()
		runtime.KeepAlive(y.room)
	}
}

func (y *yard) allDecided() error {
	for i := range fleetMembers {
		name := fmt.Sprintf("m%03d", i)
		m := y.room.roster.get(name)
		if m.decision.Load() == nil {
			return fmt.Errorf("nothing is decided about %s", name)
		}
	}
	return nil
}

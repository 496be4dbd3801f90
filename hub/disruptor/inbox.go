package disruptor

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/subjects"
)

// arrival is something new about the nodes of a member, as it came: it is read by who decides, not by who
// delivers. Node is empty for the inventory; body is nil when nothing is stored any more.
type arrival struct {
	node string
	body []byte
	// refused is why what is stored cannot be read.
	refused error
	// heard is when an inventory was stored, by the hub's clock.
	heard time.Time
}

// inbox holds what came since the last pass, in the order in which it came; of each node the newest alone.
type inbox struct {
	mu    sync.Mutex
	list  []arrival
	place map[string]int // of the newest state of a node in list
}

func (in *inbox) push(a arrival) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.place == nil {
		in.place = map[string]int{}
	}
	if i, ok := in.place[a.node]; ok {
		in.list[i] = arrival{node: a.node}
	}
	in.place[a.node] = len(in.list)
	in.list = append(in.list, a)
}

func (in *inbox) take() []arrival {
	in.mu.Lock()
	defer in.mu.Unlock()
	var newest []arrival
	for i, a := range in.list {
		if in.place[a.node] == i {
			newest = append(newest, a)
		}
	}
	in.list, in.place = nil, nil
	return newest
}

func (in *inbox) empty() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.list) == 0
}

// fold takes what arrived into the view of a member; its deciding is held. Where something newer cannot be
// read, what was known before is not acted on.
func (d *Disruptor) fold(m *memberState) {
	began := d.options.Now()
	defer func() {
		now := d.options.Now()
		m.excess.rests.Store(now.Add(min(restShare*now.Sub(began), mostRest)).UnixNano())
	}()
	for _, a := range m.inbox.take() {
		if err := d.foldOne(m, &a); err != nil {
			d.tellUnreadable(m, a.node, err)
			m.view.Forget(a.node)
			m.version++
		}
	}
}

// A member whose news took some time to take in is left alone for so many times that: one that tells much
// waits for itself and for no other.
const (
	restShare = 4
	mostRest  = 2 * time.Second
)

func (d *Disruptor) foldOne(m *memberState, a *arrival) error {
	switch {
	case a.refused != nil:
		return a.refused
	case a.body == nil:
		m.view.Forget(a.node)
		m.version++
	case a.node == "":
		inventory := &api.NodeInventory{}
		if err := json.Unmarshal(a.body, inventory); err != nil {
			return err
		}
		if err := inventory.CheckAmounts(); err != nil {
			return err
		}
		if m.view.Inventory(inventory) {
			m.version++
			m.heard, m.listed = a.heard, true
		}
	default:
		event := &api.NodeEvent{}
		if err := json.Unmarshal(a.body, event); err != nil {
			return err
		}
		if event.Node.Name != a.node {
			return fmt.Errorf("it names node %q", event.Node.Name)
		}
		if err := event.Node.CheckAmounts(); err != nil {
			return err
		}
		d.interner.node(&event.Node)
		if m.view.Event(event) {
			m.version++
		}
	}
	return nil
}

// unreadableEvery is the least time between two warnings about what one member tells of its nodes.
const unreadableEvery = 10 * time.Minute

// tellUnreadable counts and logs what cannot be read, and warns of it once in a while; m's deciding is held.
func (d *Disruptor) tellUnreadable(m *memberState, node string, err error) {
	object, what := subjects.KindMember+"/"+m.name, "what its agent tells of its nodes"
	if node != "" {
		object, what = api.AuditObject(api.AuditNode, m.name, node), "what the agent tells of it"
	}
	d.options.Metrics.unreadable.Inc()
	d.options.Log.Error().Err(err).Str("member", m.name).Str("node", node).Msg("what the agent tells of nodes cannot be read")
	now := d.options.Now()
	if now.Before(m.warned.Add(unreadableEvery)) {
		return
	}
	m.warned = now
	d.store.Audit.Record(api.Audit{
		Header: api.NewHeader(api.KindAudit), At: metav1.NewTime(now), Object: object, Member: m.name,
		Type: "Warning", Reason: "NodeUnreadable", By: "disruptor",
		Message: fmt.Sprintf("%s cannot be read, and nothing is decided that depends on it: %v", what, err),
	})
}

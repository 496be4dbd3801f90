package disruptor

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"
)

// decodedNodes are those that the view of a member has.
func (h *harness) decodedNodes(member string) []string {
	m := h.room.roster.get(member)
	hold(h.t, m.deciding)
	defer m.deciding.Leave()
	return m.View.Cluster.Names()
}

// heldBack waits until so much is held of a member as it is stored, with its inventory.
func (h *harness) heldBack(member string, states int) {
	h.t.Helper()
	bustest.Eventually(h.t, func() error {
		m := h.room.roster.get(member)
		hold(h.t, m.deciding)
		defer m.deciding.Leave()
		if n := len(m.States); n != states || m.News() {
			return fmt.Errorf("%d states are held", n)
		}
		return nil
	})
}

// listed are the nodes of a member as somebody is answered who asks for them, with the verdict, and what is noted.
func (h *harness) listed(t *testing.T, member string) (rows []string, notes []string) {
	t.Helper()
	answer := answered[api.NodesResponse](h, api.VerbNodes, api.NodesRequest{Member: member})
	for _, n := range answer.Items {
		rows = append(rows, fmt.Sprintf("%s %d %v", n.Name, n.Status.Pods, n.Status.Verdict != nil))
	}
	return rows, answer.Notes
}

// While there are no NodePools nothing is decoded of a member until somebody asks, who is answered what a decision would
// say; after that it is kept for a while, and then laid down.
func TestWhatNobodyAsksForStaysAsItIsStored(t *testing.T) {
	h := newHarness(t, quick(), "berlin", "oslo")
	for _, member := range []string{"berlin", "oslo"} {
		h.nodes(member, aNode("n1", "", 4, 500), aNode("n2", "", 4))
		h.heldBack(member, 3)
		require.Empty(t, h.decodedNodes(member))
		require.Zero(t, h.record(member).Generation)
	}
	rows, notes := h.listed(t, "berlin")
	require.Equal(t, []string{"n1 1 true", "n2 0 true"}, rows)
	require.Empty(t, notes)
	require.Empty(t, h.decodedNodes("oslo"))

	h.nodes("berlin", aNode("n1", "", 4))
	bustest.Eventually(t, func() error {
		m := h.room.roster.get("berlin")
		hold(t, m.deciding)
		defer m.deciding.Leave()
		if n, _ := m.View.Cluster.Node("n1"); len(n.Pods) > 0 {
			return fmt.Errorf("node n1 has %d pods: what somebody asks for is kept up to date", len(n.Pods))
		}
		return nil
	})
	h.clock.forward(askedFor)
	h.nodes("berlin", aNode("n2", "", 4, 500))
	bustest.Eventually(t, func() error {
		if still := h.decodedNodes("berlin"); len(still) > 0 {
			return fmt.Errorf("still decoded are %v", still)
		}
		return nil
	})
	require.Empty(t, h.room.decision("berlin").Verdicts)
	rows, notes = h.listed(t, "berlin")
	require.Equal(t, []string{"n1 0 true", "n2 1 true"}, rows)
	require.Empty(t, notes)
}

// Events that come late, twice or not at all mean the same to a member that nobody asks for until all have come.
func TestOrderOfWhatNobodyAsksFor(t *testing.T) {
	empty, full := aNode("n1", "", 4), aNode("n1", "", 4, 500)
	event := func(boot string, sequence uint64, n api.NodeState) api.NodeEvent {
		return api.NodeEvent{Boot: boot, Sequence: sequence, At: metav1.NewTime(time.Unix(1<<30, 0)), Node: n}
	}
	long := aNode("n1", "", 4, make([]int64, 40)...)
	for name, one := range map[string]struct {
		events []api.NodeEvent
		pods   int
		stale  string
	}{
		"newer":             {[]api.NodeEvent{event("b", 4, full), event("b", 5, empty)}, 0, ""},
		"late":              {[]api.NodeEvent{event("b", 5, full), event("b", 4, empty)}, 1, ""},
		"late twice":        {[]api.NodeEvent{event("b", 5, full), event("b", 4, empty), event("b", 4, empty)}, 1, ""},
		"late, then newer":  {[]api.NodeEvent{event("b", 4, full), event("b", 3, full), event("b", 5, empty)}, 0, ""},
		"long and late":     {[]api.NodeEvent{event("b", 5, long), event("b", 4, empty)}, 40, ""},
		"twice":             {[]api.NodeEvent{event("b", 5, full), event("b", 5, full)}, 1, ""},
		"of the next start": {[]api.NodeEvent{event("a", 9, full), event("b", 5, empty)}, 0, ""},
		"lost":              {[]api.NodeEvent{event("b", 4, full)}, 1, "the newest event of node n1 has not come"},
		"of another start":  {[]api.NodeEvent{event("b", 5, full), event("a", 9, full)}, 1, "different starts of the agent"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, quick(), "berlin")
			for _, e := range one.events {
				body, err := json.Marshal(e)
				require.NoError(t, err)
				body, err = bus.NodeBounds.Pack(body)
				require.NoError(t, err)
				h.stored("n1", body)
				h.glanced(t)
			}
			body, err := json.Marshal(api.NodeInventory{Boot: "b", Sequence: 6, At: metav1.NewTime(h.clock.Now()), Nodes: map[string]uint64{"n1": 5}})
			require.NoError(t, err)
			sink{h.room}.Inventory("berlin", watch.NewStored(body, bus.InventoryBounds, 1), 0)
			h.glanced(t)
			for range 2 {
				rows, notes := h.listed(t, "berlin")
				require.Equal(t, []string{fmt.Sprintf("n1 %d true", one.pods)}, cutVerdict(rows, one.stale))
				require.Equal(t, one.stale != "", len(notes) > 0, notes)
				require.Contains(t, strings.Join(notes, ""), one.stale)
				h.clock.forward(askedFor)
				h.glanced(t)
				require.Empty(t, h.decodedNodes("berlin"))
			}
		})
	}
}

// glanced looks at berlin now.
func (h *harness) glanced(t *testing.T) {
	t.Helper()
	_, err := h.room.pass(t.Context(), "berlin")
	require.NoError(t, err)
}

// cutVerdict leaves out whether there is a verdict where nothing is decided.
func cutVerdict(rows []string, stale string) []string {
	for i := range rows {
		if stale != "" {
			rows[i] = strings.Replace(rows[i], "false", "true", 1)
		}
	}
	return rows
}

// What cannot be read is told of once, when somebody asks for the member.
func TestUnreadableStatesThatNobodyAsksFor(t *testing.T) {
	for name, one := range map[string]struct{ body, why string }{
		"no JSON":                         {"not JSON", "invalid character"},
		"another name":                    {`{"boot":"b0","sequence":2,"node":{"name":"n3"}}`, `it names node \"n3\"`},
		"torn":                            {"z torn", "unpacking"},
		"bomb":                            {packedText(t, `{"boot":"b0","sequence":2,"node":{"name":"`+strings.Repeat("n", 5<<20)+`"}}`), "more than 4194304 bytes"},
		"the same again, in another form": {`{"boot":"b0","sequence":1,"node":{"name":"n1","pods":"none"}}`, "cannot unmarshal string"},
	} {
		t.Run(name, func(t *testing.T) {
			o := quick()
			o.Metrics = NewMetrics()
			h := newHarness(t, o, "berlin")
			h.nodes("berlin", aNode("n1", "", 4), aNode("n2", "", 4))
			h.heldBack("berlin", 3)
			_, err := h.store.Conn.JS.Publish(bustest.Context(t), h.store.Conn.Fleet.NodeEvent("berlin", "n1"), []byte(one.body))
			require.NoError(t, err)
			bustest.Eventually(t, func() error {
				m := h.room.roster.get("berlin")
				hold(t, m.deciding)
				defer m.deciding.Leave()
				if s := m.States["n1"]; strings.HasPrefix(string(s.Body.Start(8)), `{"kind"`) {
					return errors.New("what cannot be read has not come")
				}
				return nil
			})
			h.inventory("berlin")
			for range 2 {
				rows, notes := h.listed(t, "berlin")
				require.Equal(t, []string{"n2 0 true"}, cutVerdict(rows, "it"))
				require.Contains(t, strings.Join(notes, ""), "node n1, of which no event has come")
				require.InDelta(t, 1, values(t, o.Metrics)["unreadable_reports_total{}"], 0)
				h.told("node/berlin/n1", "NodeUnreadable", "what the agent tells of it cannot be read", strings.ReplaceAll(one.why, `\`, ""))
				h.clock.forward(warnEvery)
				h.room.queue.Add("berlin")
				bustest.Eventually(t, func() error {
					if still := h.decodedNodes("berlin"); len(still) > 0 {
						return fmt.Errorf("still decoded are %v", still)
					}
					return nil
				})
			}
		})
	}
}

func packedText(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteByte('z')
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// Nodes that left are purged though nobody asks for their member, and the others are not decoded for that.
func TestNodesThatLeftUnaskedArePurged(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.nodes("berlin", aNode("n1", "", 4), aNode("n2", "", 4), aNode("n3", "", 4))
	h.heldBack("berlin", 4)
	h.gone("berlin", "n1")
	bustest.Eventually(t, func() error {
		if left := h.room.feed.Nodes("berlin"); fmt.Sprint(left) != "[n2 n3]" {
			return fmt.Errorf("nodes %v are stored", left)
		}
		return nil
	})
	h.heldBack("berlin", 3)
	require.Empty(t, h.decodedNodes("berlin"))
	_, err := h.store.Conn.JS.Publish(bustest.Context(t), h.store.Conn.Fleet.NodeEvent("berlin", "n9"), []byte("not JSON"))
	require.NoError(t, err)
	h.inventory("berlin")
	h.told("node/berlin/n9", "NodeUnreadable", "what the agent tells of it cannot be read")
	require.Empty(t, h.decodedNodes("berlin"))
	rows, _ := h.listed(t, "berlin")
	require.Equal(t, []string{"n2 0 true", "n3 0 true"}, rows)
}

// An edit is told what becomes of nodes that nobody asked for.
func TestNodesThatNobodyAskedForAreCounted(t *testing.T) {
	h := newHarness(t, quick(), "berlin", "oslo")
	h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "", 4))
	h.nodes("oslo", aNode("n1", "a", 4))
	h.heldBack("berlin", 3)
	h.heldBack("oslo", 2)
	nodes := h.room.Nodes(bustest.Context(h.t))
	require.Len(t, nodes["berlin"], 1)
	require.Len(t, nodes["oslo"], 1)
	h.clock.forward(askedFor)
	bustest.Eventually(t, func() error {
		h.room.queue.Add("berlin")
		if still := h.decodedNodes("berlin"); len(still) > 0 {
			return fmt.Errorf("still decoded are %v", still)
		}
		return nil
	})
}

// With the first NodePool all members are counted before anything is begun on one of them.
func TestTheFirstPoolCountsAllMembers(t *testing.T) {
	var names []string
	for i := range 8 {
		names = append(names, fmt.Sprintf("m%d", i))
	}
	h := newHarness(t, quick(), names...)
	down := aNode("n1", "a", 4, 500)
	down.Ready = false
	for i, name := range names {
		if i < 7 {
			h.nodes(name, aNode("n1", "a", 4))
		} else {
			h.nodes(name, down)
		}
		h.heldBack(name, 2)
	}
	last := h.room.roster.get("m7")
	hold(t, last.deciding)
	h.pool("a", "100%", func(p *api.NodePool) { p.Annotations = map[string]string{api.AnnotationFleetBudget: "web=1"} })
	bustest.Eventually(t, func() error {
		if isFree(h.room.counting) {
			defer h.room.counting.Leave()
			return errors.New("members are not counted")
		}
		return nil
	})
	last.deciding.Leave()
	for _, name := range names[:7] {
		h.decided(name, "n1", "BudgetSpent")
		require.Empty(t, h.record(name).Disruptions)
	}
	h.heldBack("m0", 0)
}

// A member that goes on with a disruption is decided about when the last NodePool is gone.
func TestWhatRunsGoesOnWithoutPools(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4, 3500))
	r := h.eventually("berlin", "empty n1 Draining")
	h.put(subjects.PoolSpecs.Key("a"), nil)
	h.finish("berlin", &r.Disruptions[0])
	h.eventually("berlin", "empty n1 Done")
	h.locked("berlin", "")
	bustest.Eventually(t, func() error {
		if left := h.room.feed.Nodes("berlin"); fmt.Sprint(left) != "[n2]" {
			return fmt.Errorf("nodes %v are stored", left)
		}
		return nil
	})
	h.event("berlin", aNode("n2", "a", 4, 3600))
	h.inventory("berlin")
	h.heldBack("berlin", 2)
	h.clock.forward(askedFor)
	h.room.queue.Add("berlin")
	bustest.Eventually(t, func() error {
		if still := h.decodedNodes("berlin"); len(still) > 0 {
			return fmt.Errorf("still decoded are %v", still)
		}
		return nil
	})
}

// The last that is decided about a member is that there is no NodePool any more.
func TestWhatWasDecidedOfPoolsGoesWithThem(t *testing.T) {
	o := quick()
	o.Metrics = NewMetrics()
	h := newHarness(t, o, "berlin")
	h.pool("a", "0")
	h.nodes("berlin", aNode("n1", "a", 4))
	h.decided("berlin", "n1", "BudgetSpent")
	require.Contains(t, values(t, o.Metrics), "allowed_nodes{a,Empty}")
	h.put(subjects.PoolSpecs.Key("a"), nil)
	bustest.Eventually(t, func() error {
		for name := range values(t, o.Metrics) {
			if strings.HasPrefix(name, "allowed_nodes{a,") {
				return fmt.Errorf("the pool is gone, and there is %s", name)
			}
		}
		return nil
	})
}

// A room is not ended by a NodePool that comes while it counts the nodes of its members.
func TestAPoolThatComesMeanwhileEndsNothing(t *testing.T) {
	h := newHarness(t, quick(), "berlin")
	h.pool("a", "0")
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if err := h.room.countAll(t.Context()); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	for range 200 {
		h.put(subjects.PoolSpecs.Key("a"), nil)
		h.pool("a", "0")
	}
	end()
	require.NoError(t, <-ended)
}

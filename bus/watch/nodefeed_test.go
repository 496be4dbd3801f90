package watch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/streams"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// seen is a sink that notes what it is told, one line a call, and forgets the bodies.
type seen struct {
	mu     sync.Mutex
	lines  []string
	ages   map[string]time.Duration
	stored map[string]time.Time
	bodies []weak.Pointer[byte]
}

func newSeen() *seen { return &seen{ages: map[string]time.Duration{}, stored: map[string]time.Time{}} }

func (s *seen) Node(member, node string, state watch.Stored, stored time.Time) {
	body, err := state.JSON()
	if err != nil {
		s.unreadable(member, node, err)
		return
	}
	var e api.NodeEvent
	text := fmt.Sprintf("node %s/%s", member, node)
	if err := json.Unmarshal(body, &e); err != nil {
		text += " broken"
	} else {
		text += fmt.Sprintf(" %d, %d pods", e.Sequence, len(e.Node.Pods))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, text)
	s.stored[member+"/"+node] = stored
	if len(body) > 0 {
		s.bodies = append(s.bodies, weak.Make(&body[0]))
	}
}

func (s *seen) NodeGone(member, node string) { s.add("gone " + member + "/" + node) }

func (s *seen) unreadable(member, node string, err error) {
	_, text, _ := strings.Cut(err.Error(), " bytes: ")
	s.add(fmt.Sprintf("unreadable %s/%s: %s", member, node, text))
}

func (s *seen) InventoryGone(member string) { s.add("inventory " + member + " gone") }

func (s *seen) Inventory(member string, inventory watch.Stored, age time.Duration) {
	body, err := inventory.JSON()
	if err != nil {
		s.unreadable(member, "", err)
		return
	}
	var i api.NodeInventory
	text := "inventory " + member
	if json.Unmarshal(body, &i) != nil {
		text += " broken"
	} else {
		text += " " + i.Boot
	}
	s.mu.Lock()
	s.ages[member] = age
	s.mu.Unlock()
	s.add(text)
}

func (s *seen) Listed() { s.add("listed") }

func (s *seen) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
}

func (s *seen) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.lines
	s.lines = nil
	return lines
}

// until takes the lines there are once one of them is there; a listing may be made twice.
func (s *seen) until(t *testing.T, last string) []string {
	t.Helper()
	var lines []string
	bustest.Eventually(t, func() error {
		lines = append(lines, s.take()...)
		if !slices.Contains(lines, last) {
			return fmt.Errorf("%q did not come, but %q", last, lines)
		}
		return nil
	})
	return slices.Compact(lines)
}

// feed follows the nodes on a connection of its own and waits until everything is listed.
func feed(t *testing.T, c *bus.Conn) (*watch.NodeFeed, *seen) {
	t.Helper()
	s := newSeen()
	n := watch.NewNodeFeed(c, s)
	require.False(t, n.Synced())
	bustest.InBackground(t, n.Run)
	require.NoError(t, n.WaitSynced(bustest.Context(t)))
	require.True(t, n.Synced())
	return n, s
}

func putNode(t *testing.T, agent *member.Conn, node string, sequence uint64, pods ...api.PodState) {
	t.Helper()
	require.NoError(t, agent.PutNodeEvent(bustest.Context(t), api.NodeEvent{Sequence: sequence, Node: api.NodeState{Name: node, Pods: pods}}))
}

func putInventory(t *testing.T, agent *member.Conn, boot string) {
	t.Helper()
	require.NoError(t, agent.PutNodeInventory(bustest.Context(t), api.NodeInventory{Boot: boot}))
}

func TestNodesAreListedAndThenFollowedInOrder(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	berlin, oslo := server.Agent(t, "berlin"), server.Agent(t, "oslo")
	putNode(t, berlin, "n.1", 1)
	putNode(t, oslo, "n1", 1)
	putInventory(t, berlin, "b1")
	putNode(t, berlin, "n.1", 2)
	require.NoError(t, berlin.PutInventory(bustest.Context(t), api.MemberInventory{}), "is for another room")

	n, s := feed(t, server.Hub(t))
	require.Equal(t, []string{"node oslo/n1 1, 0 pods", "inventory berlin b1", "node berlin/n.1 2, 0 pods", "listed"}, s.take())
	require.Equal(t, []string{"berlin", "oslo"}, n.Members())
	require.Equal(t, []string{"n.1"}, n.Nodes("berlin"))
	require.Empty(t, n.Nodes("paris"))

	putNode(t, berlin, "n0", 1)
	putInventory(t, berlin, "b2")
	putNode(t, berlin, "n.1", 3)
	require.Equal(t, []string{"node berlin/n0 1, 0 pods", "inventory berlin b2", "node berlin/n.1 3, 0 pods"}, s.until(t, "node berlin/n.1 3, 0 pods"))
	require.Equal(t, []string{"n.1", "n0"}, n.Nodes("berlin"))
	require.WithinDuration(t, elsewhen.Now(), s.stored["berlin/n.1"], time.Minute)
}

func TestLongStatesOfNodesArriveUnpacked(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	agent := server.Agent(t, "berlin")
	_, s := feed(t, server.Hub(t))
	pods := make([]api.PodState, 1000)
	for i := range pods {
		pods[i] = api.PodState{Namespace: "default", Name: fmt.Sprintf("web-%d", i)}
	}
	putNode(t, agent, "n1", 1, pods...)
	s.until(t, "node berlin/n1 1, 1000 pods")
}

// A feed is cut off while states of nodes change, come, and are purged. When it is back it must tell
// exactly what differs.
func TestAFeedOfNodesFindsOutWhatItMissed(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	berlin, oslo := server.Agent(t, "berlin"), server.Agent(t, "oslo")
	for _, node := range []string{"a", "b", "c"} {
		putNode(t, berlin, node, 1)
	}
	putInventory(t, berlin, "b1")
	putInventory(t, oslo, "o1")
	proxy, c := server.ProxiedHub(t)
	n, s := feed(t, c)
	s.until(t, "listed")

	proxy.HoldReplies()
	putNode(t, berlin, "a", 2)
	putNode(t, berlin, "d", 1)
	purge(t, store.Conn, store.Conn.Fleet.NodeEvent("berlin", "b"))
	purge(t, store.Conn, store.Conn.Fleet.NodeInventory("oslo"))
	proxy.Cut()
	lines := s.until(t, "listed")
	require.Equal(t, []string{"node berlin/a 2, 0 pods", "node berlin/d 1, 0 pods", "gone berlin/b", "inventory oslo gone", "listed"}, lines)
	require.NoError(t, n.WaitSynced(bustest.Context(t)))
	require.Equal(t, []string{"a", "c", "d"}, n.Nodes("berlin"))
	require.Equal(t, []string{"berlin"}, n.Members())
}

func purge(t *testing.T, c *bus.Conn, subject string) {
	t.Helper()
	stream, err := c.JS.Stream(t.Context(), c.Fleet.Stream(subjects.Events))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(subject)))
}

func TestAFeedOfNodesSurvivesAServerRestart(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	agent := server.Agent(t, "berlin")
	putNode(t, agent, "n1", 1)
	n, s := feed(t, server.Hub(t))
	server.Stop(t)
	bustest.Eventually(t, func() error {
		if n.Synced() {
			return errors.New("it believes to be synced while the server is away")
		}
		return nil
	})
	s.take()
	server.Restart(t)
	require.NoError(t, n.WaitSynced(bustest.Context(t)))
	require.Equal(t, []string{"listed"}, s.until(t, "listed"), "what is known is not told again")
	bustest.Eventually(t, func() error {
		return agent.PutNodeEvent(t.Context(), api.NodeEvent{Sequence: 2, Node: api.NodeState{Name: "n1"}})
	})
	s.until(t, "node berlin/n1 2, 0 pods")
}

// The stream loses all that it had, and its sequences begin again.
func TestAFeedOfNodesBelievesAStreamThatLostWrites(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	agent := server.Agent(t, "berlin")
	for sequence := range uint64(5) {
		putNode(t, agent, "a", sequence)
		putNode(t, agent, "b", sequence)
	}
	c := server.Hub(t)
	n, s := feed(t, c)
	s.until(t, "listed")
	require.NoError(t, c.JS.DeleteStream(t.Context(), c.Fleet.Stream(subjects.Events)))
	_, err := streams.EnsureLayout(t.Context(), c, streams.LayoutOptions{})
	require.NoError(t, err)
	putNode(t, agent, "a", 9)
	n.Relist()
	lines := s.until(t, "node berlin/a 9, 0 pods") // it may have listed in between, when there was nothing
	bustest.Eventually(t, func() error {
		if lines = append(lines, s.take()...); !slices.Contains(lines, "gone berlin/b") {
			return fmt.Errorf("%q", lines)
		}
		return nil
	})
	require.Equal(t, []string{"a"}, n.Nodes("berlin"))
}

func TestPurgedNodesAreToldOnceAndStayAway(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	berlin, oslo := server.Agent(t, "berlin"), server.Agent(t, "oslo")
	for _, node := range []string{"a", "b", "c"} {
		putNode(t, berlin, node, 1)
	}
	putInventory(t, berlin, "b1")
	putNode(t, oslo, "a", 1)
	n, s := feed(t, server.Hub(t))
	s.until(t, "listed")

	require.NoError(t, n.PurgeNode(bustest.Context(t), "berlin", "b", nil))
	require.NoError(t, n.PurgeNode(bustest.Context(t), "berlin", "b", nil), "again is fine")
	require.NoError(t, n.PurgeNode(bustest.Context(t), "berlin", "never", nil))
	require.NoError(t, n.PurgeNode(bustest.Context(t), "berlin", "a", func() bool { return len(n.Nodes("berlin")) == 0 }), "who asked may think otherwise")
	require.Equal(t, []string{"gone berlin/b"}, s.take())
	require.Equal(t, []string{"a", "c"}, n.Nodes("berlin"))

	require.NoError(t, n.PurgeMember(bustest.Context(t), "berlin"))
	require.NoError(t, n.PurgeMember(bustest.Context(t), "berlin"))
	require.NoError(t, n.PurgeMember(bustest.Context(t), "paris"))
	require.Equal(t, []string{"inventory berlin gone", "gone berlin/a", "gone berlin/c"}, s.take())
	require.Empty(t, n.Nodes("berlin"))
	require.Equal(t, []string{"oslo"}, n.Members())

	n.Relist()
	require.Equal(t, []string{"listed"}, s.until(t, "listed"))
	stream, err := store.Conn.JS.Stream(t.Context(), store.Conn.Fleet.Stream(subjects.Events))
	require.NoError(t, err)
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	require.NoError(t, err)
	require.Equal(t, map[string]uint64{store.Conn.Fleet.NodeEvent("oslo", "a"): 1}, info.State.Subjects)

	putNode(t, berlin, "b", 2)
	s.until(t, "node berlin/b 2, 0 pods")
	require.Equal(t, []string{"b"}, n.Nodes("berlin"))
}

func TestAStateOfANodeThatWasWrittenMeanwhileIsNotPurged(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	putNode(t, agent, "a", 1)
	proxy, c := server.ProxiedHub(t)
	n, s := feed(t, c)
	s.until(t, "listed")
	purging := proxy.HoldAfter("$JS.API.STREAM.", 0)
	proxy.HoldReplies()
	putNode(t, agent, "a", 2)
	ended := make(chan error, 1)
	go func() { ended <- n.PurgeMember(t.Context(), "berlin") }()
	bustest.Within(t, purging, "the purge begins")
	proxy.Release()
	require.NoError(t, bustest.Within(t, ended, "the purge"))
	s.until(t, "node berlin/a 2, 0 pods")
	kept, _ := bustest.Stored[api.NodeEvent](t, store.Conn, store.Conn.Fleet.NodeEvent("berlin", "a"))
	require.Equal(t, uint64(2), kept.Sequence)
}

func TestWhatNoAgentShouldHaveWrittenIsDropped(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	f := store.Conn.Fleet
	n, s := feed(t, server.Hub(t))
	s.until(t, "listed")
	nc, _ := bustest.Raw(t, server, "berlin")
	publish := func(subject, body string, header ...string) {
		t.Helper()
		m := nats.NewMsg(subject)
		m.Data = []byte(body)
		if len(header) > 0 {
			m.Header.Set(header[0], header[1])
		}
		require.NoError(t, nc.PublishMsg(m))
	}
	own := f.Prefix() + ".event.berlin."
	for _, subject := range []string{own + "node.*", own + "node.>", own + "node.a=2e", own + "node.A=2E.b", own + "more", own + "nodes.a", own + "node"} {
		publish(subject, "{}")
	}
	publish(own+"node.marker", "", "KV-Operation", "DEL")
	publish(own+"nodes", "", "KV-Operation", "DEL")
	publish(own+"node.torn", "z torn")
	publish(own+"node.text", "not JSON")
	publish(own+"node.empty", "")
	publish(own+"node.bomb", bomb(t, `{"node":{"pods":[`+strings.Repeat("{},", 5_000_000)+`{}]}}`))
	publish(own+"node.pods", bomb(t, `{"node":{"pods":[`+strings.Repeat("{},", bus.MaxPodsOfANode)+`{}]}}`))
	publish(own+"node.last", "{}")
	require.Equal(t, []string{
		"unreadable berlin/marker: found a marker of deletion, which no agent of ours writes",
		"unreadable berlin/: found a marker of deletion, which no agent of ours writes",
		"unreadable berlin/torn: unpacking: unexpected EOF", "node berlin/text broken", "node berlin/empty broken",
		"unreadable berlin/bomb: value too large: more than 4194304 bytes",
		"unreadable berlin/pods: value too large: a list or object of more than 1000", "node berlin/last 0, 0 pods",
	}, s.until(t, "node berlin/last 0, 0 pods"))
	require.Equal(t, []string{"bomb", "empty", "last", "marker", "pods", "text", "torn"}, n.Nodes("berlin"), "what is stored can be purged")
	n.Relist()
	require.Equal(t, []string{"listed"}, s.until(t, "listed"))
}

// bomb is the stored form of a text that repeats itself: a few KiB of it unpack to megabytes.
func bomb(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteByte('z')
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Less(t, b.Len(), 64<<10)
	return b.String()
}

// The server restarts under a feed again and again while states are written: each gap makes it list anew,
// and in the end it has told the newest of all.
func TestAFeedOfNodesLosesNothingOverManyReconnects(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	agent := server.Agent(t, "berlin")
	proxy, c := server.ProxiedHub(t)
	n, s := feed(t, c)
	s.until(t, "listed")
	for round := range uint64(5) {
		for i := range 20 {
			if i == 7 {
				proxy.HoldReplies()
			}
			putNode(t, agent, fmt.Sprintf("n%d", i), round)
		}
		proxy.Cut()
	}
	newest := map[string]string{}
	bustest.Eventually(t, func() error {
		for _, line := range s.take() {
			if name, state, ok := strings.Cut(strings.TrimPrefix(line, "node "), " "); ok {
				require.GreaterOrEqual(t, state, newest[name], "older states are not told after newer ones")
				newest[name] = state
			}
		}
		for i := range 20 {
			if state := newest[fmt.Sprintf("berlin/n%d", i)]; state != "4, 0 pods" {
				return fmt.Errorf("n%d is %q", i, state)
			}
		}
		return nil
	})
	require.NoError(t, n.WaitSynced(bustest.Context(t)))
	require.Len(t, n.Nodes("berlin"), 20)
}

func TestTheAgeOfAnInventoryIsTold(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	agent := server.Agent(t, "berlin")
	putInventory(t, agent, "b1")
	n, s := feed(t, server.Hub(t))
	s.until(t, "listed")
	require.Positive(t, s.ages["berlin"], "a replayed one is as old as the broker says")
	putInventory(t, agent, "b2")
	s.until(t, "inventory berlin b2")
	require.Zero(t, s.ages["berlin"], "a live one is new")
	require.Empty(t, n.Nodes("berlin"))
	require.Equal(t, []string{"berlin"}, n.Members())
}

func TestAFeedOfNodesKeepsNoBodies(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	agent := server.Agent(t, "berlin")
	for i := range 50 {
		putNode(t, agent, fmt.Sprintf("n%d", i), 1, api.PodState{Name: strings.Repeat("x", 200)})
	}
	n, s := feed(t, server.Hub(t))
	putNode(t, agent, "n0", 2)
	s.until(t, "node berlin/n0 2, 0 pods")
	require.Len(t, s.bodies, 51)
	bustest.Eventually(t, func() error {
		runtime.GC()
		kept := 0
		for _, body := range s.bodies {
			if body.Value() != nil {
				kept++
			}
		}
		if kept > 1 { // the client may hold the message it is at
			return fmt.Errorf("%d of %d bodies are kept", kept, len(s.bodies))
		}
		return nil
	})
	require.Len(t, n.Nodes("berlin"), 50)
}

func TestAFeedOfNodesEndsWithItsContext(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	n := watch.NewNodeFeed(server.Hub(t), &seen{ages: map[string]time.Duration{}, stored: map[string]time.Time{}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { n.Run(ctx); close(ended) }()
	require.NoError(t, n.WaitSynced(bustest.Context(t)))
	cancel()
	bustest.Within(t, ended, "the end")
	require.ErrorIs(t, watch.NewNodeFeed(server.Hub(t), nil).WaitSynced(ctx), context.Canceled)
}

// A state is written, or is still on its way, while an older one is purged.
func TestAPurgeAndAMessageMayCross(t *testing.T) {
	c := &bus.Conn{Fleet: subjects.Fleet{Name: bustest.Fleet}}
	s := &seen{ages: map[string]time.Duration{}, stored: map[string]time.Time{}}
	n := watch.NewNodeFeed(c, s)
	a := c.Fleet.NodeEvent("berlin", "a")
	n.Deliver(a, []byte(`{"sequence":1}`), 5)
	n.Forget("berlin", 4, "a", "b")
	require.Equal(t, []string{"node berlin/a 1, 0 pods"}, s.take(), "a newer one is stored")
	n.Forget("berlin", 5, "a")
	n.Deliver(a, []byte(`{"sequence":1}`), 5)
	require.Equal(t, []string{"gone berlin/a"}, s.take())
	require.Empty(t, n.Nodes("berlin"))
	require.Empty(t, n.Members())
	n.Deliver(a, []byte(`{"sequence":2}`), 6)
	require.Equal(t, []string{"node berlin/a 2, 0 pods"}, s.take())
	require.Equal(t, []string{"a"}, n.Nodes("berlin"))
}

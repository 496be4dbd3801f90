package worker

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/agent/disk"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/core/api"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

const secret = "{apiVersion: v1, kind: Secret, metadata: {name: next, namespace: default}}"

// An agent takes in changes of its index one after another, goes on with them after a restart, and finds its way where
// it was away while the index was stored whole and slots were used again.
func TestChangesOfTheIndexAreFollowed(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	dir := t.TempDir()
	w := newWorker(t, h, m, dir)
	stop := run(t, w)
	h.placed()
	generation := func(placement string, want int64) {
		t.Helper()
		h.expect(placement, func(r api.PlacementResult) bool { return r.Generation == want && r.Available == yes })
	}
	h.change(h.session(), nil, h.entry("web", 2, shop, other))
	generation("web", 2)
	h.change(h.session(), nil, h.entry("more", 3, secret))
	generation("more", 3)
	require.Equal(t, []string{"more", "web"}, w.index.placements())
	require.Equal(t, uint64(3), w.Holds().Generation)
	stop()

	h.change(h.session(), nil, h.entry("web", 4, shop))
	h.change(h.session(), []string{"more"})
	w = newWorker(t, h, m, dir)
	require.Equal(t, uint64(3), w.Holds().Generation)
	stop = run(t, w)
	generation("web", 4)
	bustest.Eventually(t, func() error { return same(w.Holds().Generation, 5) })
	require.Equal(t, []string{"web"}, w.index.placements())
	require.NotNil(t, live(m, secret), "what the index does not mention any more is left alone")
	stop()

	h.command(h.entry("web", 6, shop))
	h.change(h.session(), nil, h.entry("web", 7, shop, other))
	w = start(t, h, m, dir)
	generation("web", 7)
	require.Empty(t, w.Trouble(), "what lies in slots from before is nobody's fault")
}

// A broker lost a change that the agent had taken, and another one was stored in its place: what comes after that is not
// laid upon what the agent holds, which reads the index whole.
func TestAChangeOfAnotherIndexIsNotTaken(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	w := start(t, h, m, t.TempDir())
	h.placed()
	base := h.after
	available := func(placement string, generation int64) {
		t.Helper()
		h.expect(placement, func(r api.PlacementResult) bool { return r.Generation == generation && r.Available == yes })
	}
	h.change(h.session(), nil, h.entry("lost", 2, secret))
	available("lost", 2)
	stream, err := h.store.Conn.JS.Stream(t.Context(), h.store.Conn.Fleet.Stream(subjects.Commands))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(h.store.Conn.Fleet.CommandDelta("berlin", 0))))
	h.position.Number, h.after = 0, base
	h.change(h.session(), nil, h.entry("web", 3, shop, other))
	h.change(h.session(), nil, h.entry("more", 4, strings.Replace(secret, "next", "third", 1)))
	available("more", 4)
	available("web", 3)
	require.Equal(t, []string{"more", "web"}, w.index.placements())
	require.Empty(t, w.Trouble())
}

// An agent that begins with nothing acts on the newest index, not on what it was on the way.
func TestWhatAnIndexWasIsNotActedOn(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	h.command(h.entry("web", 1, shop, config))
	gone := h.entry("more", 3)
	gone.Withdrawn = true
	h.change(h.session(), nil, h.entry("more", 2, secret))
	h.change(h.session(), nil, gone)
	h.change(h.session(), []string{"more"})
	h.change(h.session(), nil, h.entry("web", 5, shop))
	start(t, h, m, t.TempDir())
	h.expect("web", func(r api.PlacementResult) bool { return r.Generation == 5 && r.Available == yes })
	require.Len(t, history(m), 1, "%v", history(m))
}

// A change that this hub did not seal, or for another place, is refused by name; what comes whole is followed again.
func TestAForgedChangeIsRefused(t *testing.T) {
	h := newHub(t)
	w := start(t, h, newMember(t, 0), t.TempDir())
	h.placed()
	gone := h.entry("web", 9)
	gone.Withdrawn = true
	h.change([]byte(strings.Repeat("k", 32)), nil, gone)
	bustest.Eventually(t, func() error {
		if !strings.Contains(w.Trouble(), "not sealed by the hub") {
			return fmt.Errorf("trouble: %q", w.Trouble())
		}
		return nil
	})
	require.Equal(t, uint64(1), w.Holds().Generation)
	h.command(h.entry("web", 3, shop, other))
	h.expect("web", func(r api.PlacementResult) bool { return r.Generation == 3 && r.Available == yes })
	bustest.Eventually(t, func() error { return same(w.Trouble(), "") })
}

func TestAChangeCountsOnAllBeforeIt(t *testing.T) {
	order := func(generation uint64) api.Order { return api.Order{Epoch: 1, Term: 1, Generation: generation} }
	position := func(number int) api.IndexPosition { return api.IndexPosition{Base: order(1), Number: number} }
	web := api.IndexEntry{Placement: "web", UID: "u1", Work: "b"}
	whole := command(t, "berlin", order(1), api.IndexEntry{Placement: "web", UID: "u1", Work: "a"})
	for name, c := range map[string]struct {
		change api.PlacementDelta
		want   string // of the error, none when empty
		older  bool
	}{
		"the next":             {change: api.PlacementDelta{Member: "berlin", Order: order(2), Position: position(1)}},
		"one is missing":       {change: api.PlacementDelta{Member: "berlin", Order: order(3), Position: position(2)}, want: "in position 1.1.1/2, expected a PlacementDelta for berlin in 1.1.1/1"},
		"of another base":      {change: api.PlacementDelta{Member: "berlin", Order: order(2), Position: api.IndexPosition{Base: order(0), Number: 1}}, want: "in position 1.1.0/1"},
		"for another member":   {change: api.PlacementDelta{Member: "paris", Order: order(2), Position: position(1)}, want: `for member "paris"`},
		"of an order that was": {change: api.PlacementDelta{Member: "berlin", Order: order(1), Position: position(1)}, older: true},
	} {
		t.Run(name, func(t *testing.T) {
			x, err := loadIndex("berlin", open(t, t.TempDir(), "berlin"))
			require.NoError(t, err)
			_, err = x.accept(whole, nil, elsewhen.Now())
			require.NoError(t, err)
			c.change.Header, c.change.Entries = api.NewHeader(api.KindPlacementDelta), []api.IndexEntry{web}
			body, err := json.Marshal(c.change)
			require.NoError(t, err)
			changed, err := x.amend([][]byte{body}, elsewhen.Now())
			if c.want == "" && !c.older {
				require.NoError(t, err)
				require.Equal(t, []string{"web"}, changed)
				require.Equal(t, []api.IndexEntry{web}, x.of("web"))
				changed, err = x.accept(whole, nil, elsewhen.Now())
				require.NoError(t, err, "what was received whole is the one that is followed, with its change")
				require.Empty(t, changed)
				require.Equal(t, []api.IndexEntry{web}, x.of("web"))
				return
			}
			if c.older {
				require.ErrorIs(t, err, disk.ErrOlder)
			} else {
				require.ErrorContains(t, err, c.want)
			}
			require.Equal(t, "a", x.of("web")[0].Work)
		})
	}
}

// An agent that was away while the index changed and was then stored whole anew comes to the newest by one look: what was announced meanwhile
// nobody tells it.
func TestChangesOfAnIndexThatWasReplacedAreNotTheEnd(t *testing.T) {
	h := newHub(t)
	m := newMember(t, 0)
	dir := t.TempDir()
	stop := run(t, newWorker(t, h, m, dir))
	h.placed()
	stop()
	secret := "{apiVersion: v1, kind: Secret, metadata: {name: extra, namespace: default}}"
	h.change(h.session(), nil, h.entry("extra", 1, secret))
	h.command(h.entry("extra", 1, secret), h.entry("web", 2, shop, other))
	options := h.server.AgentOptions(t, "berlin")
	h.server.Stop(t)
	away, err := member.Connect(t.Context(), options, "berlin")
	require.NoError(t, err)
	t.Cleanup(away.Close)
	w, err := New(Options{Member: "berlin", Hub: away, Target: m, Data: dir, Log: zerolog.Nop()})
	require.NoError(t, err)
	run(t, w)
	h.server.Restart(t)
	bustest.Eventually(t, func() error { return same(w.index.order().Generation, 3) })
}

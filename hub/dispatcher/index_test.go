package dispatcher

import (
	"crypto/sha256"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"
)

func released(entries ...api.ReleaseEntry) *api.Release { return &api.Release{Entries: entries} }

func TestIndexTellsWhomAReleaseChanged(t *testing.T) {
	x := newIndex(func(body []byte) []byte { sum := sha256.Sum256(body); return sum[:] })
	entries := func(member string) []api.IndexEntry {
		_, all := x.all(member)
		return all
	}
	set := func(placement string, release *api.Release) []string {
		changed := x.set(placement, release)
		slices.Sort(changed)
		return changed
	}
	berlin := api.ReleaseEntry{Member: "berlin", UID: "u", Snapshot: 1, Work: "w1", Generation: 1}
	paris := api.ReleaseEntry{Member: "paris", UID: "u", Snapshot: 1, Work: "w1", Generation: 1}

	require.Equal(t, []string{"berlin", "paris"}, set("web", released(berlin, paris)))
	require.Empty(t, set("web", released(berlin, paris)), "the same release again")

	paris.Snapshot, paris.Generation = 2, 2
	require.Equal(t, []string{"paris"}, set("web", released(berlin, paris)))

	require.Equal(t, []string{"berlin"}, set("blog", released(berlin)))
	require.Equal(t, []api.IndexEntry{
		{Placement: "blog", UID: "u", Snapshot: 1, Work: "w1", Generation: 1},
		{Placement: "web", UID: "u", Snapshot: 1, Work: "w1", Generation: 1},
	}, entries("berlin"))

	paris.Withdrawn, paris.Abandon, paris.Generation = true, true, 3
	require.Equal(t, []string{"paris"}, set("web", released(berlin, paris)))
	require.Equal(t, []api.IndexEntry{
		{Placement: "web", UID: "u", Snapshot: 2, Work: "w1", Generation: 3, Withdrawn: true, Abandon: true},
	}, entries("paris"))

	require.Equal(t, []string{"paris"}, set("web", released(berlin)), "confirmed, so gone")
	require.Equal(t, []string{"berlin"}, set("web", nil))
	require.Equal(t, []api.IndexEntry{}, entries("paris"))
	require.Len(t, entries("berlin"), 1, "blog is still there")
}

// A release came, and went back to what it was before, faster than the queue: the command of its member is of the
// one that there is.
func TestACommandIsOfTheReleasesThatThereAre(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	d := New(leader, Options{})
	d.listen()
	key, revision := d.releases.Key("web"), uint64(0)
	write := func(value any) {
		t.Helper()
		revisions, err := leader.Writer.Write(bustest.Context(t), store.Put(key, value, revision))
		require.NoError(t, err)
		revision = revisions[0]
	}
	snapshot := func() int64 {
		t.Helper()
		_, err := d.placements("berlin")
		require.NoError(t, err)
		_, entries := d.index.all("berlin")
		return entries[0].Snapshot
	}
	write(api.Release{Placement: "web", Entries: []api.ReleaseEntry{{Member: "berlin", UID: "u", Snapshot: 1}}})
	require.NoError(t, d.follow("web"))
	require.EqualValues(t, 1, snapshot())
	write(api.Release{Placement: "web", Entries: []api.ReleaseEntry{{Member: "berlin", UID: "u", Snapshot: 2}}})
	require.EqualValues(t, 2, snapshot(), "though nobody followed it")

	write("no release")
	require.EqualValues(t, 2, snapshot(), "what cannot be read changes nothing")
	require.Error(t, d.follow("web"))
}

func TestFollowing(t *testing.T) {
	order := func(epoch, term, generation uint64) api.Order {
		return api.Order{Epoch: epoch, Term: term, Generation: generation}
	}
	term := api.Term{Epoch: 1, Term: 5}
	cases := map[string]struct{ last, held, want api.Order }{
		"the first command of all":                          {order(0, 0, 0), order(0, 0, 0), order(1, 5, 1)},
		"one more of this term":                             {order(1, 5, 7), order(1, 5, 6), order(1, 5, 8)},
		"the first of a new term":                           {order(1, 4, 90), order(1, 4, 90), order(1, 5, 1)},
		"the agent holds more than was stored, same term":   {order(1, 5, 7), order(1, 5, 20), order(1, 5, 21)},
		"the agent holds a later term: data was restored":   {order(1, 5, 7), order(1, 9, 3), order(1, 9, 4)},
		"and the next one stays after that":                 {order(1, 9, 4), order(1, 9, 4), order(1, 9, 5)},
		"the agent holds a later epoch":                     {order(1, 5, 7), order(2, 1, 1), order(2, 1, 2)},
		"the agent holds an earlier epoch: nothing to jump": {order(0, 0, 0), order(0, 99, 99), order(1, 5, 1)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := following(term, c.last, c.held)
			require.Equal(t, c.want, got)
			require.Positive(t, got.Compare(c.last))
			require.Positive(t, got.Compare(c.held))
		})
	}
}

// A command was sent of which nobody knows whether it was stored, and it is not: its member may have read it, so that its
// order is not given to another.
func TestAnOrderIsNotGivenTwice(t *testing.T) {
	d := New(bustest.Start(t).Lead(t), Options{})
	to := address{"berlin", subjects.CommandPlacement}
	head := streams.CommandHead{Member: to.member, Kind: to.kind, Sequence: 5, Newest: 5, Order: api.Order{Epoch: 1, Term: 5, Generation: 7}}
	d.sent.remember(head)
	next := head
	next.Order.Generation++
	require.Error(t, d.published(to, &next, 0, errors.New("no answer"), d.store.Now()))
	require.True(t, d.sent.doubted(to))
	d.sent.correct(head)
	require.Equal(t, next.Order, d.sent.last(to))
	require.Equal(t, head.Order, d.sent.head(to).Order, "what is stored is older")
}

package worker

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/agent/disk"
	"flotilla/core/api"
	"flotilla/core/apply"
	"flotilla/tests/elsewhen"
)

func TestIndexFollowsTheNewestCommandAlone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, "berlin")
	x, err := loadIndex("berlin", s)
	require.NoError(t, err)
	web, shop := api.IndexEntry{Placement: "web", UID: "u1", Work: "a"}, api.IndexEntry{Placement: "shop", UID: "u2", Work: "b"}
	web2 := api.IndexEntry{Placement: "web", UID: "u1", Work: "c"}
	for _, step := range []struct {
		name    string
		order   api.Order
		entries []api.IndexEntry
		changed []string
		err     error
	}{
		{"the first", api.Order{Epoch: 1, Term: 5, Generation: 7}, []api.IndexEntry{shop, web}, []string{"shop", "web"}, nil},
		{"again", api.Order{Epoch: 1, Term: 5, Generation: 7}, []api.IndexEntry{shop, web}, nil, nil},
		{"equal order, other content", api.Order{Epoch: 1, Term: 5, Generation: 7}, []api.IndexEntry{shop, web2}, []string{"web"}, nil},
		{"older generation", api.Order{Epoch: 1, Term: 5, Generation: 6}, []api.IndexEntry{shop}, nil, disk.ErrOlder},
		{"older term", api.Order{Epoch: 1, Term: 4, Generation: 99}, nil, nil, disk.ErrOlder},
		{"newer term, lower generation", api.Order{Epoch: 1, Term: 6, Generation: 1}, []api.IndexEntry{web2}, []string{"shop"}, nil},
		{"older epoch", api.Order{Term: 9, Generation: 9}, nil, nil, disk.ErrOlder},
		{"newer epoch, lower term", api.Order{Epoch: 2, Term: 1, Generation: 1}, []api.IndexEntry{web}, []string{"web"}, nil},
		{"order alone", api.Order{Epoch: 2, Term: 1, Generation: 2}, []api.IndexEntry{web}, nil, nil},
	} {
		changed, err := x.accept(command(t, "berlin", step.order, step.entries...), nil, time.Unix(0, 0))
		require.ErrorIs(t, err, step.err, step.name)
		require.Equal(t, step.changed, changed, step.name)
	}
	require.Equal(t, api.Order{Epoch: 2, Term: 1, Generation: 2}, x.order())
	require.Equal(t, []string{"web"}, x.placements())
	require.True(t, x.lists(apply.Owner{Placement: "web", UID: "u1"}))
	require.False(t, x.lists(apply.Owner{Placement: "web", UID: "u0"}), "another uid is another placement")

	again, err := loadIndex("berlin", s)
	require.NoError(t, err)
	require.Equal(t, x.order(), again.order())
	require.Equal(t, x.of("web"), again.of("web"))
}

func TestIndexRefusesWhatIsNotItsOwn(t *testing.T) {
	x, err := loadIndex("berlin", open(t, t.TempDir(), "berlin"))
	require.NoError(t, err)
	_, err = x.accept([]byte("{"), nil, elsewhen.Now())
	require.Error(t, err)
	_, err = x.accept(command(t, "paris", api.Order{Term: 1}), nil, elsewhen.Now())
	require.ErrorContains(t, err, `for member "paris"`)
	_, err = x.accept([]byte(`{"kind":"Heartbeat","member":"berlin"}`), nil, elsewhen.Now())
	require.ErrorContains(t, err, `is a "Heartbeat"`)
	require.False(t, x.known())
}

func TestWithdrawalsComeFirst(t *testing.T) {
	x, err := loadIndex("berlin", open(t, t.TempDir(), "berlin"))
	require.NoError(t, err)
	wanted := api.IndexEntry{Placement: "web", UID: "u2", Work: "a", Piece: api.Piece{At: "here", Key: []byte("key")}}
	gone := api.IndexEntry{Placement: "web", UID: "u1", Withdrawn: true}
	_, err = x.accept(command(t, "berlin", api.Order{Term: 1}, wanted, gone), nil, elsewhen.Now())
	require.NoError(t, err)
	require.Equal(t, []api.IndexEntry{gone, wanted}, x.of("web"))
	require.Equal(t, []api.Piece{wanted.Piece}, x.works())
	_, err = x.accept(command(t, "berlin", api.Order{Term: 2}), nil, elsewhen.Now())
	require.NoError(t, err)
	require.Equal(t, []api.Piece{wanted.Piece}, x.works(), "the content of the previous command may be needed again")
}

func command(t *testing.T, member string, order api.Order, entries ...api.IndexEntry) []byte {
	t.Helper()
	body, err := json.Marshal(api.PlacementCommand{
		Header: api.NewHeader(api.KindPlacementCommand), Member: member, Order: order, Entries: entries,
	})
	require.NoError(t, err)
	return body
}

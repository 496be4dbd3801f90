package guard

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func freezes(all ...api.Freeze) Freezes {
	return Read(func(scope string) (api.Freeze, uint64, bool, error) {
		for _, f := range all {
			if f.Scope == scope && f.By == "" {
				return api.Freeze{}, 1, false, errors.New("not readable")
			}
			if f.Scope == scope {
				return f, 1, true, nil
			}
		}
		return api.Freeze{}, 0, false, nil
	})
}

// A freeze is in the way of its kind of changes, that of the fleet of all, that of a member of all on it; one that ended of
// none, and one that nobody can read is in force.
func TestWhatAFreezeIsInTheWayOf(t *testing.T) {
	ended := metav1.NewTime(noon)
	for _, c := range []struct {
		what         string
		freezes      []api.Freeze
		kind, member string
		want         string
	}{
		{"nothing is frozen", nil, api.FreezePlacements, "berlin", ""},
		{"the fleet", []api.Freeze{{Scope: api.FreezeFleet, By: "anna", Reason: "sale"}}, api.FreezeNodes, "berlin", "the fleet frozen by anna: sale; flotilla unfreeze"},
		{"its kind", []api.Freeze{{Scope: api.FreezeRuns, By: "anna"}}, api.FreezeRuns, "berlin", "runs frozen by anna; flotilla unfreeze runs"},
		{"another kind", []api.Freeze{{Scope: api.FreezeRuns, By: "anna"}}, api.FreezeNodes, "berlin", ""},
		{"the member", []api.Freeze{{Scope: api.FreezeOf("berlin"), By: "anna"}}, api.FreezeRuns, "berlin", "member berlin frozen by anna; flotilla unfreeze member berlin"},
		{"another member", []api.Freeze{{Scope: api.FreezeOf("oslo"), By: "anna"}}, api.FreezeRuns, "berlin", ""},
		{"one that ended", []api.Freeze{{Scope: api.FreezeFleet, By: "anna", Ended: &ended}}, api.FreezeRuns, "berlin", ""},
		{"one that cannot be read", []api.Freeze{{Scope: api.FreezeFleet}}, api.FreezeRuns, "berlin", "the fleet frozen by somebody; flotilla unfreeze"},
	} {
		require.Equal(t, c.want, Waits(freezes(c.freezes...).On(c.kind, c.member)), c.what)
	}
	f := freezes(api.Freeze{Scope: api.FreezeFleet, By: "anna", Ended: &ended}, api.Freeze{Scope: api.FreezeOf("berlin"), By: "anna"})
	require.Equal(t, noon, f.Thawed(api.FreezeRuns, "berlin").UTC())
	require.True(t, freezes().Thawed(api.FreezeRuns, "berlin").IsZero())
	require.Nil(t, Freezes(nil).On(api.FreezeRuns, "berlin"))
}

func TestBounds(t *testing.T) {
	b := DefaultBounds()
	for _, c := range []struct {
		taken, of int
		want      bool
	}{{10, 10, false}, {11, 11, true}, {11, 36, true}, {11, 37, false}, {30, 100, false}, {31, 100, true}, {0, 0, false}} {
		require.Equal(t, c.want, b.Exceeded(c.taken, c.of), "%d of %d", c.taken, c.of)
	}
}

func TestLost(t *testing.T) {
	object := func(version, name string) api.Manifest {
		return api.Manifest{ObjectRef: api.ObjectRef{APIVersion: version, Kind: "Thing", Name: name}, Digest: version + name}
	}
	from := []api.Manifest{object("shop/v1", "a"), object("shop/v1", "b"), object("v1", "a")}
	require.Equal(t, []api.Manifest{object("shop/v1", "b"), object("v1", "a")}, Lost(from, []api.Manifest{object("shop/v2", "a")}, 0), "another version of an object is that object")
	require.Len(t, Lost(from, nil, 2), 2)
}

// A digest is of what is lost, in whatever order and however it is shown, and of nothing less.
func TestDigest(t *testing.T) {
	a := api.HeldLoss{Placement: "web", UID: "u", Member: "berlin", Loss: api.Loss{Objects: 3, Of: 2, Whole: true}, Names: []string{"x"}}
	b := api.HeldLoss{Placement: "web", UID: "u", Member: "oslo", Loss: api.Loss{Objects: 3, Of: 2, To: 4}}
	require.Empty(t, Digest(nil))
	bare := a
	bare.Names = nil
	require.Equal(t, Digest([]api.HeldLoss{a, b}), Digest([]api.HeldLoss{b, bare}))
	require.NotEqual(t, Digest([]api.HeldLoss{a}), Digest([]api.HeldLoss{a, b}))
	more := a
	more.Objects++
	require.NotEqual(t, Digest([]api.HeldLoss{a}), Digest([]api.HeldLoss{more}))
	approval := &api.WithdrawalApproval{Losses: []api.HeldLoss{a}}
	require.True(t, Approves(approval, "web", "u", "berlin", a.Loss))
	require.False(t, Approves(approval, "web", "u", "berlin", more.Loss))
	require.False(t, Approves(approval, "web", "other", "berlin", a.Loss))
}

package door_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/hub/door"
	"flotilla/subjects"
)

func (h *house) problems() map[string]api.Problem {
	h.t.Helper()
	found := map[string]api.Problem{}
	for _, p := range must[api.FleetStatus](h, api.VerbStatus, nil).Problems {
		found[p.Object+" "+p.Reason] = p
	}
	return found
}

func TestSelectorsThatSelectNothingAreSaidWhereverThePlacementIsShown(t *testing.T) {
	const said = "resourceSelectors[0] (Namespace shop) selects nothing on the hub"
	h := open(t, door.Options{})
	answer := must[plan.Answer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, web)})
	require.Equal(t, []string{"ClusterResourcePlacement/web: " + said}, answer.Notes)
	applied := h.apply(web)[0]
	require.Equal(t, []string{said}, applied.Notes)
	require.Equal(t, said, h.problems()["placement/web NothingSelected"].Message)
	write(h, subjects.Schedules, "web", api.Schedule{
		Header: api.NewHeader(api.KindSchedule), Placement: "web", UID: applied.UID, Generation: 1, Fulfilled: true, Message: "found all cluster",
	})
	shown := must[api.Placement](h, api.VerbGet, api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: "web"})
	require.Equal(t, "found all cluster; there is nothing to place: "+said, shown.Status.Conditions[0].Message)

	require.Empty(t, h.apply(shopNamespace)[0].Notes)
	require.NotContains(t, h.problems(), "placement/web NothingSelected")
}

func TestAWithdrawalIsAProblemUntilItIsConfirmed(t *testing.T) {
	h := open(t, door.Options{})
	entry := api.ReleaseEntry{Member: "berlin", UID: "u", Withdrawn: true, Since: metav1.NewTime(time.Now().Add(-time.Hour))}
	release := api.Release{Header: api.NewHeader(api.KindRelease), Placement: "gone", Entries: []api.ReleaseEntry{entry}}
	write(h, subjects.Releases, "gone", release)
	require.Equal(t, "deleted, withdrawn, and not confirmed yet by berlin", h.problems()["placement/gone Unconfirmed"].Message)
	release.Entries[0].Since = metav1.Now()
	write(h, subjects.Releases, "gone", release)
	require.NotContains(t, h.problems(), "placement/gone Unconfirmed", "it is on its way")
}

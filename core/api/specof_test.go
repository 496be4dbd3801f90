package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

func TestHeadGoesBeforeBody(t *testing.T) {
	deleted := metav1.NewTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	spec := api.Spec{
		Object: api.ObjectRef{Kind: api.KindResourcePlacement, Namespace: "shop", Name: "web"}, UID: "u2", Generation: 3, Deleted: &deleted,
		Body: json.RawMessage(`{"metadata":{"name":"other","uid":"u1","generation":1,"labels":{"a":"b"}},"spec":{"policy":{"placementType":"PickAll"}}}`),
	}
	p, err := spec.DecodePlacement()
	require.NoError(t, err)
	require.Equal(t, "shop/web", p.Key())
	require.Equal(t, "u2", string(p.UID))
	require.Equal(t, int64(3), p.Generation)
	require.Equal(t, &deleted, p.DeletionTimestamp)
	require.Equal(t, map[string]string{"a": "b"}, p.Labels)
	require.Equal(t, api.PickAll, p.Spec.Policy.Type())

	spec.Body = json.RawMessage(`{"spec":{"taints":[{"key":"gpu","effect":"NoSchedule"}]}}`)
	m, err := spec.DecodeMember()
	require.NoError(t, err)
	require.Equal(t, "web", m.Name)
	require.Equal(t, "gpu", m.Spec.Taints[0].Key)

	spec.Body = json.RawMessage(`{"spec":7}`)
	_, err = spec.DecodePlacement()
	require.ErrorContains(t, err, "decoding ResourcePlacement/shop/web")
	_, err = spec.DecodeMember()
	require.ErrorContains(t, err, "decoding ResourcePlacement/shop/web")
}

func TestSpecsOfUpgradesAreRead(t *testing.T) {
	spec := api.Spec{
		Object: api.ObjectRef{Kind: api.KindUpdateRun, Name: "r1"}, UID: "u1", Generation: 2,
		Body: json.RawMessage(`{"metadata":{"name":"x","uid":"old"},"spec":{"upgrade":{"type":"Full"},"stages":[{"name":"s"}],"channel":"Rapid","trackerURL":"t","default":{"durationHours":4}}}`),
	}
	run, err := spec.DecodeRun()
	require.NoError(t, err)
	require.Equal(t, []string{"r1", "u1", "Full"}, []string{run.Name, string(run.UID), run.Spec.Upgrade.Type})
	strategy, err := spec.DecodeStrategy()
	require.NoError(t, err)
	require.Equal(t, "s", strategy.Spec.Stages[0].Name)
	profile, err := spec.DecodeProfile()
	require.NoError(t, err)
	require.Equal(t, "Rapid", profile.Spec.Channel)
	catalog, err := spec.DecodeCatalog()
	require.NoError(t, err)
	require.Equal(t, "t", catalog.Spec.TrackerURL)
	maintenance, err := spec.DecodeMaintenance()
	require.NoError(t, err)
	require.Equal(t, 4, maintenance.Spec.Default.DurationHours)
	require.Equal(t, int64(2), maintenance.Generation)

	spec.Body = json.RawMessage(`7`)
	for _, read := range []func() error{
		func() error { _, err := spec.DecodeRun(); return err },
		func() error { _, err := spec.DecodeStrategy(); return err },
		func() error { _, err := spec.DecodeProfile(); return err },
		func() error { _, err := spec.DecodeCatalog(); return err },
		func() error { _, err := spec.DecodeMaintenance(); return err },
	} {
		require.ErrorContains(t, read(), "decoding UpdateRun/r1")
	}
}

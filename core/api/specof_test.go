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
	p, err := api.SpecOf[api.Placement](&spec)
	require.NoError(t, err)
	require.Equal(t, "shop/web", p.Key())
	require.Equal(t, "u2", string(p.UID))
	require.Equal(t, int64(3), p.Generation)
	require.Equal(t, &deleted, p.DeletionTimestamp)
	require.Equal(t, map[string]string{"a": "b"}, p.Labels)
	require.Equal(t, api.PickAll, p.Spec.Policy.Type())

	spec.Body = json.RawMessage(`{"spec":{"taints":[{"key":"gpu","effect":"NoSchedule"}]}}`)
	m, err := api.SpecOf[api.MemberCluster](&spec)
	require.NoError(t, err)
	require.Equal(t, "web", m.Name)
	require.Equal(t, "gpu", m.Spec.Taints[0].Key)

	spec.Body = json.RawMessage(`{"spec":7}`)
	_, err = api.SpecOf[api.Placement](&spec)
	require.ErrorContains(t, err, "decoding ResourcePlacement/shop/web")
	_, err = api.SpecOf[api.MemberCluster](&spec)
	require.ErrorContains(t, err, "decoding ResourcePlacement/shop/web")
}

func TestSpecsOfUpgradesAreRead(t *testing.T) {
	spec := api.Spec{
		Object: api.ObjectRef{Kind: api.KindUpdateRun, Name: "r1"}, UID: "u1", Generation: 2,
		Body: json.RawMessage(`{"metadata":{"name":"x","uid":"old"},"spec":{"upgrade":{"type":"Full"},"stages":[{"name":"s"}],"channel":"Rapid","trackerURL":"t","default":{"durationHours":4}}}`),
	}
	run, err := api.SpecOf[api.UpdateRun](&spec)
	require.NoError(t, err)
	require.Equal(t, []string{"r1", "u1", "Full"}, []string{run.Name, string(run.UID), run.Spec.Upgrade.Type})
	strategy, err := api.SpecOf[api.UpdateStrategy](&spec)
	require.NoError(t, err)
	require.Equal(t, "s", strategy.Spec.Stages[0].Name)
	profile, err := api.SpecOf[api.AutoUpgradeProfile](&spec)
	require.NoError(t, err)
	require.Equal(t, "Rapid", profile.Spec.Channel)
	catalog, err := api.SpecOf[api.VersionCatalog](&spec)
	require.NoError(t, err)
	require.Equal(t, "t", catalog.Spec.TrackerURL)
	maintenance, err := api.SpecOf[api.MemberMaintenance](&spec)
	require.NoError(t, err)
	require.Equal(t, 4, maintenance.Spec.Default.DurationHours)
	require.Equal(t, int64(2), maintenance.Generation)

	spec.Body = json.RawMessage(`7`)
	for _, read := range []func() error{
		func() error { _, err := api.SpecOf[api.UpdateRun](&spec); return err },
		func() error { _, err := api.SpecOf[api.UpdateStrategy](&spec); return err },
		func() error { _, err := api.SpecOf[api.AutoUpgradeProfile](&spec); return err },
		func() error { _, err := api.SpecOf[api.VersionCatalog](&spec); return err },
		func() error { _, err := api.SpecOf[api.MemberMaintenance](&spec); return err },
	} {
		require.ErrorContains(t, read(), "decoding UpdateRun/r1")
	}
}

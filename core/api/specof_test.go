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

package api_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestIdentifiersNameEnvelopes(t *testing.T) {
	ref := api.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	for envelope, want := range map[string]string{
		"":                             `{"group":"apps","version":"v1","kind":"Deployment","name":"web","namespace":"shop"}`,
		"ResourceEnvelope/shop/a":      `{"group":"apps","version":"v1","kind":"Deployment","name":"web","namespace":"shop","envelope":{"name":"a","namespace":"shop","type":"ResourceEnvelope"}}`,
		"ClusterResourceEnvelope/wide": `{"group":"apps","version":"v1","kind":"Deployment","name":"web","namespace":"shop","envelope":{"name":"wide","type":"ClusterResourceEnvelope"}}`,
	} {
		text, err := json.Marshal((&api.Manifest{ObjectRef: ref, Envelope: envelope}).Identifier())
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
}

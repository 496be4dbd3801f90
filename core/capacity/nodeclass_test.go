package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func TestNodeClass(t *testing.T) {
	class := func(spec string) []byte {
		raw, err := yaml.YAMLToJSON([]byte("apiVersion: karpenter.azure.com/v1beta1\nkind: AKSNodeClass\nmetadata: {name: default}\nspec: " + spec))
		require.NoError(t, err)
		return raw
	}
	hash := func(raw []byte) string {
		h, err := ClassHash(raw)
		require.NoError(t, err)
		return h
	}
	base := class(`{imageFamily: Ubuntu, vnetSubnetID: /a}`)
	require.Equal(t, hash(base), hash([]byte(`{"spec":{"vnetSubnetID":"/a", "imageFamily":"Ubuntu"},"metadata":{"name":"x"}}`)))
	require.NotEqual(t, hash(base), hash(class(`{imageFamily: AzureLinux, vnetSubnetID: /a}`)))
	require.Empty(t, ClassNotes(base, class(`{imageFamily: AzureLinux, vnetSubnetID: /a}`)))
	require.Contains(t, ClassNotes(base, class(`{vnetSubnetID: /b}`))[0], "moving between valid subnets is unsupported")
	_, err := ClassHash([]byte("x"))
	require.Error(t, err)
}

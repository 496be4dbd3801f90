package configs

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestACatalogIsReadWholeOrNotAtAll(t *testing.T) {
	text, err := os.ReadFile("examples/nodes/catalog-east.yaml")
	require.NoError(t, err)
	c, err := LoadInstances("catalog.yaml", text)
	require.NoError(t, err)
	require.NotEmpty(t, c.Spec.Types)
	for text, want := range map[string]string{
		"": "catalog.yaml: found 0 documents, expected one InstanceCatalog",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n": "expected an InstanceCatalog",
		"apiVersion: flotilla.io/v1alpha1\nkind: InstanceCatalog\nmetadata: {name: a}\nspec: {types: [{name: d2, cpu: 2, memory: 8Gi, offerings: [{zone: a, capacityType: spot, price: cheap}]}]}\n": "catalog.yaml:4:90: InstanceCatalog/a: spec.types[0].offerings[0].price",
		"a: [": "catalog.yaml",
	} {
		_, err := LoadInstances("catalog.yaml", []byte(text))
		require.ErrorContains(t, err, want)
	}
}

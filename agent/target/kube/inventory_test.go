package kube

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/validate"
)

func TestAnInventoryReadsWhatItWrote(t *testing.T) {
	refs := []api.ObjectRef{
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
		{APIVersion: "v1", Kind: "Namespace", Name: "-"},
		{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "system:web"},
	}
	read, err := readRefs(writeRefs(refs))
	require.NoError(t, err)
	require.Equal(t, refs, read)
	empty, err := readRefs("")
	require.NoError(t, err)
	require.Empty(t, empty)
}

// An inventory that somebody edited is an error, not a shorter one: what it does not list is forgotten for ever.
func TestAnInventoryThatCannotBeReadSaysSo(t *testing.T) {
	for _, text := range []string{"v1 ConfigMap shop", "v1 ConfigMap shop web more", "\n"} {
		_, err := readRefs("v1 Namespace - shop\n" + text)
		require.ErrorContains(t, err, "expected APIVERSION KIND NAMESPACE NAME", text)
	}
}

func TestOwnersHaveNamesOfTheirOwn(t *testing.T) {
	names := map[string]bool{}
	for _, owner := range []string{"web/1", "web/2", "shop/web/1", strings.Repeat("x", 300)} {
		name := mapName(owner)
		require.Empty(t, validate.Labels("name", map[string]string{"name": name}), "it is a name")
		names[name] = true
	}
	require.Len(t, names, 4)
}

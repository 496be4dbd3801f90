package offline

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamespaceLeavesTheRestAsItWas(t *testing.T) {
	for body, want := range map[string]string{
		`{"kind":"A","spec":{"n":12345678901234567890,"f":1.10}}`: `{"kind":"A","metadata":{"namespace":"shop"},"spec":{"n":12345678901234567890,"f":1.10}}`,
		`{"metadata":{"name":"a","generation":9007199254740993}}`: `{"metadata":{"generation":9007199254740993,"name":"a","namespace":"shop"}}`,
		`{"metadata":null}`:  `{"metadata":{"namespace":"shop"}}`,
		`{"metadata":["a"]}`: `{"metadata":["a"]}`,
	} {
		got, err := inNamespace(json.RawMessage(body), "shop")
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	_, err := inNamespace(json.RawMessage(`[]`), "shop")
	require.Error(t, err)
}

package content_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/content"
)

func TestWhatClientsKeepIsTakenOutAndPutBack(t *testing.T) {
	for name, c := range map[string]struct{ whole, bare string }{
		"all of it": {
			`{"kind":"ConfigMap","metadata":{"name":"a","annotations":{"b":"c","kubectl.kubernetes.io/last-applied-configuration":"{}"},
			  "finalizers":["x/y"],"managedFields":[{"manager":"m"}],"ownerReferences":[{"name":"o"}]}}`,
			`{"kind":"ConfigMap","metadata":{"name":"a","annotations":{"b":"c"}}}`,
		},
		"the last annotation": {
			`{"metadata":{"name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`, `{"metadata":{"name":"a"}}`,
		},
		"nothing":                      {`{"metadata":{"name":"a","annotations":{"b":"c"}}}`, `{"metadata":{"name":"a","annotations":{"b":"c"}}}`},
		"finalizers that are no texts": {`{"metadata":{"name":"a","finalizers":[1]}}`, `{"metadata":{"name":"a","finalizers":[1]}}`},
		"finalizers that are no list":  {`{"metadata":{"name":"a","finalizers":"x"}}`, `{"metadata":{"name":"a","finalizers":"x"}}`},
		"no metadata":                  {`{"kind":"ConfigMap","metadata":{}}`, `{"kind":"ConfigMap"}`},
	} {
		t.Run(name, func(t *testing.T) {
			object := tree(t, c.whole)
			managed := content.TakeManaged(object)
			if name != "no metadata" {
				require.JSONEq(t, c.bare, shownAs(t, object))
			}
			object = tree(t, c.bare)
			managed.Put(object)
			require.JSONEq(t, c.whole, shownAs(t, object))
		})
	}
}

func TestWhatIsEmptyIsNotKept(t *testing.T) {
	object := tree(t, `{"metadata":{"finalizers":[],"managedFields":[],"ownerReferences":null}}`)
	require.Equal(t, &content.Managed{}, content.TakeManaged(object))
	require.JSONEq(t, `{"metadata":{}}`, shownAs(t, object))
}

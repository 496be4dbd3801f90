package kube

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

const definition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.org},
  spec: {group: example.org, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true}, {name: v1alpha1, served: false}]},
  status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]}}`

// A definition is written when the kind is served that it defines: an API server says that it is established a while before.
func TestADefinitionIsWaitedFor(t *testing.T) {
	d := &discovered{}
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis/example.org/v1" && asked.Add(1) == 3 {
			d.defined.Store(true)
		}
		d.ServeHTTP(w, r)
	}))
	made, err := New(Options{Config: &rest.Config{Host: server.URL}})
	require.NoError(t, err)
	t.Cleanup(func() { made.Close(); server.Close() })
	written := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(definition), &written.Object))
	live, err := made.established(t.Context(), made.dynamic.Resource(definitions), written)
	require.NoError(t, err)
	require.Equal(t, widgets, live.GetName())
	require.EqualValues(t, 3, asked.Load(), "it is served, and asked for no more")
	_, err = made.kinds.of(widget("v1"))
	require.NoError(t, err)
}

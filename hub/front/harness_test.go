package front_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/spec3"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/configs/secrets"
	"flotilla/core/api"
	"flotilla/hub/front"
	"flotilla/hub/front/shelf"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

// fleet is a hub that serves the Kubernetes API, and its server.
type fleet struct {
	t      *testing.T
	server *bustest.Server
	hub    *hubd.Hub
	bounds shelf.Bounds
}

var quickLead = store.LeadOptions{TTL: 2 * time.Second, Renew: 300 * time.Millisecond, Margin: 500 * time.Millisecond, Poll: 100 * time.Millisecond}

func startFleet(t *testing.T) *fleet {
	t.Helper()
	return startBounded(t, shelf.Usual)
}

// startBounded starts a fleet whose hubs keep so much of objects.
func startBounded(t *testing.T, most shelf.Bounds) *fleet {
	t.Helper()
	f := &fleet{t: t, server: bustest.Start(t), bounds: most}
	f.hub = f.start("first")
	return f
}

// start starts a hub of the fleet.
func (f *fleet) start(name string) *hubd.Hub {
	f.t.Helper()
	return f.run(hubd.Options{
		Fleet: bustest.Fleet, Name: name, Log: f.server.Log(), Bus: f.server.TCP(), Secrets: secrets.Source{Text: bustest.Secrets}, Lead: quickLead,
	})
}

// run runs a hub with a Kubernetes API; the first leads.
func (f *fleet) run(o hubd.Options) *hubd.Hub {
	f.t.Helper()
	o.Now, o.Front.Address = elsewhen.Now, "127.0.0.1:0"
	o.Front.New = func(made hubd.FrontOptions) (http.Handler, error) {
		return front.New(front.Options{Door: made.Door, Version: "test", Now: made.Now, Log: made.Log, Bounds: f.bounds})
	}
	h, err := hubd.New(o)
	require.NoError(f.t, err)
	require.NoError(f.t, h.Start(f.t.Context()))
	f.t.Cleanup(h.Stop)
	if f.hub == nil {
		ctx, cancel := context.WithTimeout(f.t.Context(), 20*time.Second)
		defer cancel()
		require.NoError(f.t, h.WaitLeading(ctx))
	}
	return h
}

// as is how a person of a role asks a hub.
func (f *fleet) as(h *hubd.Hub, name string, role api.Role) *rest.Config {
	f.t.Helper()
	return f.with(h, f.server.Person(f.t, name, role))
}

// with is how somebody asks a hub.
func (f *fleet) with(h *hubd.Hub, person *bus.Conn) *rest.Config {
	f.t.Helper()
	var given api.TokenResponse
	require.NoError(f.t, bus.Request(bustest.Context(f.t), person, api.VerbToken, api.TokenRequest{}, &given, bus.RequestOptions{}))
	at, ca := h.Front()
	return &rest.Config{Host: at, BearerToken: given.Token, TLSClientConfig: rest.TLSClientConfig{CAData: ca}, QPS: -1}
}

// admin asks as an admin.
func (f *fleet) admin() *client { return f.client(f.as(f.hub, "ada", api.RoleAdmin)) }

// client speaks of objects as trees.
type client struct {
	t *testing.T
	dynamic.Interface
	config *rest.Config
}

func (f *fleet) client(c *rest.Config) *client {
	f.t.Helper()
	made, err := dynamic.NewForConfig(c)
	require.NoError(f.t, err)
	return &client{f.t, made, c}
}

var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	secretsOf   = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	placements  = schema.GroupVersionResource{Group: api.GroupPlacement, Version: "v1", Resource: "clusterresourceplacements"}
	members     = schema.GroupVersionResource{Group: api.GroupCluster, Version: "v1", Resource: "memberclusters"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// maps are the ConfigMaps of a namespace.
func (c *client) maps() dynamic.ResourceInterface { return c.Resource(configMaps).Namespace("shop") }

// settings is a ConfigMap.
func settings(name string, data map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "shop"}, "data": data,
	}}
}

// tree is an object.
func tree(apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}}
}

func (c *client) create(of schema.GroupVersionResource, u *unstructured.Unstructured) *unstructured.Unstructured {
	c.t.Helper()
	var to dynamic.ResourceInterface = c.Resource(of)
	if u.GetNamespace() != "" {
		to = c.Resource(of).Namespace(u.GetNamespace())
	}
	made, err := to.Create(bustest.Context(c.t), u, metav1.CreateOptions{})
	require.NoError(c.t, err)
	return made
}

// next is the next event of a watch that is no bookmark.
func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	ctx := bustest.Context(t)
	for {
		select {
		case e, open := <-w.ResultChan():
			require.True(t, open, "the watch has ended")
			if e.Type != watch.Bookmark {
				return e
			}
		case <-ctx.Done():
			require.Fail(t, "nothing happened")
		}
	}
}

// told is an event in a few words.
func told(e watch.Event) string {
	u, is := e.Object.(*unstructured.Unstructured)
	if !is {
		return fmt.Sprintf("%s %T", e.Type, e.Object)
	}
	return fmt.Sprintf("%s %s", e.Type, u.GetName())
}

func schemaOf(t *testing.T, of openapi.GroupVersion) []byte {
	t.Helper()
	text, err := of.Schema("application/json")
	require.NoError(t, err)
	return text
}

func shapes(t *testing.T, text []byte) *spec3.OpenAPI {
	t.Helper()
	document := &spec3.OpenAPI{}
	require.NoError(t, json.Unmarshal(text, document))
	return document
}

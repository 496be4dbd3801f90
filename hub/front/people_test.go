package front_test

import (
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/core/api"
	"flotilla/hub/hubd"
)

// A person who is revoked looks no more: what they watch ends.
func TestAWatchEndsWithItsPerson(t *testing.T) {
	t.Parallel()
	admin, c := adminAndAnna(t)
	w, err := c.maps().Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	c.create(configMaps, settings("a", nil))
	require.Equal(t, "ADDED a", told(next(t, w)))
	require.NoError(t, bus.Request(bustest.Context(t), admin, api.VerbUserRevoke, api.UserRevokeRequest{Name: "anna"}, nil, bus.RequestOptions{}))
	for range w.ResultChan() {
		// until it ends
	}
	_, err = c.maps().List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsUnauthorized(err), "%v", err)
}

// A token ends at once with the credentials that it was made of, whatever was known of it a moment before.
func TestATokenEndsAtOnce(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		verb    string
		request any
	}{
		"renewed": {api.VerbUserAdd, map[string]any{"name": "anna", "life": "1h", "renew": true}}, "revoked": {api.VerbUserRevoke, api.UserRevokeRequest{Name: "anna"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			admin, c := adminAndAnna(t)
			secret := settings("s", nil)
			secret.SetKind("Secret")
			c.create(secretsOf, secret)
			require.NoError(t, bus.Request(bustest.Context(t), admin, end.verb, end.request, nil, bus.RequestOptions{}))
			_, err := c.maps().Create(t.Context(), settings("after", nil), metav1.CreateOptions{})
			require.True(t, apierrors.IsUnauthorized(err), "%v", err)
			_, err = c.Resource(secretsOf).Namespace("shop").Get(t.Context(), "s", metav1.GetOptions{})
			require.True(t, apierrors.IsUnauthorized(err), "%v", err)
		})
	}
}

// adminAndAnna are an admin of a hub with a server of its own, and an operator who asks its Kubernetes API.
func adminAndAnna(t *testing.T) (admin *bus.Conn, anna *client) {
	t.Helper()
	f := &fleet{t: t}
	f.hub = f.run(hubd.Options{Fleet: "test", Name: "own", Log: zerolog.Nop(), Server: &server.Options{Dir: t.TempDir(), Port: -1}})
	admin = f.person(bus.Options{Creds: f.hub.Server().OperatorCreds(), Name: "admin"})
	var added api.UserAddResponse
	require.NoError(t, bus.Request(bustest.Context(t), admin, api.VerbUserAdd, map[string]any{"name": "anna", "role": "operator", "life": "1h"}, &added, bus.RequestOptions{}))
	return admin, f.client(f.with(f.hub, f.person(bus.Options{CredsText: []byte(added.Creds), Name: "anna"})))
}

// person connects to the hub's own server as somebody.
func (f *fleet) person(o bus.Options) *bus.Conn {
	f.t.Helper()
	o.Fleet, o.URL = "test", f.hub.Server().URL()
	c, err := bus.ConnectClient(f.t.Context(), o)
	require.NoError(f.t, err)
	f.t.Cleanup(c.Close)
	return c
}

// Any hub answers: what one wrote the other shows, and watches on any go on when another leads.
func TestFollowersServeTheSame(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	second := f.start("second")
	one, other := f.admin(), f.client(f.as(second, "olga", api.RoleOperator))
	made := one.create(configMaps, settings("a", map[string]any{"x": "1"}))
	w, err := other.maps().Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	require.Equal(t, "ADDED a", told(next(t, w)))
	found, err := other.maps().Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, made.GetResourceVersion(), found.GetResourceVersion(), "one version has one number on all hubs")
	other.create(configMaps, settings("b", nil))
	require.Equal(t, "ADDED b", told(next(t, w)))

	f.hub.Stop()
	other.create(configMaps, settings("c", nil))
	require.Equal(t, "ADDED c", told(next(t, w)))
	again, err := other.maps().Watch(t.Context(), metav1.ListOptions{ResourceVersion: found.GetResourceVersion()})
	require.NoError(t, err)
	defer again.Stop()
	require.Equal(t, "ADDED b", told(next(t, again)))
	require.Equal(t, "ADDED c", told(next(t, again)))
}

// RBAC objects are content for members: whoever places one gains nothing on the hub, nor does whom it names.
func TestRBACGivesNobodyAnything(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	operator, viewer := f.client(f.as(f.hub, "olga", api.RoleOperator)), f.client(f.as(f.hub, "vera", api.RoleViewer))
	operator.create(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": "all"},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
		"subjects": []any{map[string]any{"kind": "User", "name": "vera"}, map[string]any{"kind": "User", "name": "olga"}, map[string]any{"kind": "Group", "name": "system:authenticated"}},
	}})
	_, err := viewer.maps().Create(t.Context(), settings("a", nil), metav1.CreateOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	_, err = operator.Resource(members).Create(t.Context(), tree(api.ClusterVersion, api.KindMemberCluster, "mine", map[string]any{}), metav1.CreateOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
}

// Nobody writes how something does but the hub, as a part of it or by itself.
func TestStatusIsTheHubs(t *testing.T) {
	t.Parallel()
	c := startFleet(t).admin()
	made := c.create(namespaces, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}, "status": map[string]any{"phase": "Terminating"},
	}})
	phase, _, _ := unstructured.NestedString(made.Object, "status", "phase")
	require.Equal(t, "Active", phase)
	_, err := c.Resource(namespaces).UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

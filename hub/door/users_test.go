package door_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/hub/door"
)

// as connects with credentials that the hub made.
func (h *house) as(creds string) *bus.Conn {
	h.t.Helper()
	o := h.server.TCP()
	o.Creds, o.CredsText = "", []byte(creds)
	c, err := bus.ConnectClient(h.t.Context(), o)
	require.NoError(h.t, err)
	h.t.Cleanup(c.Close)
	return c
}

func peopled(t *testing.T) *house {
	h := closed(t)
	h.run(door.Options{People: h.server.Server})
	return h
}

func (h *house) add(name string, role api.Role) *bus.Conn {
	h.t.Helper()
	life := metav1.Duration{Duration: time.Hour}
	return h.as(must[api.UserAddResponse](h, api.VerbUserAdd, api.UserAddRequest{Name: name, Role: role, Life: life}).Creds)
}

func asked(c *bus.Conn, t *testing.T, verb string, request any) *api.Failure {
	t.Helper()
	err := bus.Request(bustest.Context(t), c, verb, request, nil, bus.RequestOptions{})
	if err == nil {
		return nil
	}
	var failure *api.Failure
	require.ErrorAs(t, err, &failure)
	return failure
}

func TestPeopleAreAddedRenewedAndRevoked(t *testing.T) {
	h := peopled(t)
	anna := h.add("anna", api.RoleOperator)
	require.Nil(t, asked(anna, t, api.VerbStatus, nil))
	_, failure := ask[api.UserAddResponse](h, api.VerbUserAdd, api.UserAddRequest{Name: "anna", Role: api.RoleAdmin, Life: metav1.Duration{Duration: time.Hour}})
	require.Equal(t, api.CodeConflict, failure.Code)
	require.Equal(t, "flotilla user renew anna", failure.Next)

	renewed := must[api.UserAddResponse](h, api.VerbUserAdd, api.UserAddRequest{Name: "anna", Renew: true, Life: metav1.Duration{Duration: time.Hour}})
	require.Equal(t, api.RoleOperator, renewed.User.Role, "the role stays")
	bustest.Eventually(t, func() error { return nobody(anna) })
	anna = h.as(renewed.Creds)
	require.Nil(t, asked(anna, t, api.VerbStatus, nil))

	require.Equal(t, api.CodeRefused, must1(ask[api.UserRevokeResponse](h, api.VerbUserRevoke, api.UserRevokeRequest{Name: "admin"})).Code)
	must[api.UserRevokeResponse](h, api.VerbUserRevoke, api.UserRevokeRequest{Name: "anna"})
	bustest.Eventually(t, func() error { return nobody(anna) })
	h.server.Restart(t)
	o := h.server.TCP()
	o.Creds, o.CredsText = "", []byte(renewed.Creds)
	_, err := bus.ConnectClient(t.Context(), o)
	require.ErrorIs(t, err, bus.ErrDenied, "after a restart too")
	list := must[api.UserListResponse](h, api.VerbUserList, struct{}{})
	require.Len(t, list.Users, 2)
	require.Equal(t, []string{"admin", "anna"}, []string{list.Users[0].Name, list.Users[1].Name})
	require.Equal(t, "Revoked", list.Users[1].Standing(h.store.Now()))
}

func must1[R any](_ R, failure *api.Failure) *api.Failure { return failure }

// nobody is an error while the connection is not cut.
func nobody(c *bus.Conn) error {
	if c.NC.IsConnected() {
		return nats.ErrConnectionReconnecting
	}
	return nil
}

// An operator keeps placements and content, and no member: a whole request at once, every document named.
func TestKindsBeyondARoleAreRefusedAtOnce(t *testing.T) {
	h := peopled(t)
	anna, eve := h.add("anna", api.RoleOperator), h.add("eve", api.RoleViewer)
	documents := []json.RawMessage{
		json.RawMessage(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`),
		json.RawMessage(`{"apiVersion":"cluster.kubernetes-fleet.io/v1","kind":"MemberCluster","metadata":{"name":"oslo"}}`),
		json.RawMessage(`{"apiVersion":"cluster.kubernetes-fleet.io/v1","kind":"MemberCluster","metadata":{"name":"rome"}}`),
	}
	failure := asked(anna, t, api.VerbApply, api.ApplyRequest{Request: "r1", Documents: documents})
	require.Equal(t, api.CodeRefused, failure.Code)
	require.Len(t, failure.Faults, 2)
	require.Equal(t, []string{"MemberCluster/oslo", "MemberCluster/rome"}, []string{failure.Faults[0].Object, failure.Faults[1].Object})
	require.Equal(t, "nothing was changed: changing 2 objects of 3 needs the role admin: anna is operator; an admin gives it: "+
		"flotilla user renew anna --role admin", failure.Message)
	require.Equal(t, api.CodeNotFound, asked(anna, t, api.VerbGet, api.GetRequest{Kind: "Namespace", Name: "shop"}).Code, "nothing is half applied")
	require.Nil(t, asked(anna, t, api.VerbApply, api.ApplyRequest{Request: "r2", Documents: documents[:1]}))
	require.NotNil(t, asked(anna, t, api.VerbPatch, api.PatchRequest{
		Request: "r3", Object: api.ObjectRef{Kind: api.KindMemberCluster, Name: "oslo"}, Patch: json.RawMessage(`{}`),
	}))
	require.Equal(t, api.CodeRefused, asked(anna, t, api.VerbDelete, api.DeleteRequest{
		Request: "r4", Object: api.ObjectRef{Kind: api.KindMemberCluster, Name: "oslo"},
	}).Code)

	require.Nil(t, asked(eve, t, api.VerbGet, api.GetRequest{Kind: "Namespace", Name: "shop"}))
	for verb, request := range map[string]any{
		api.VerbGet: api.GetRequest{Kind: "Secret", Name: "a", Namespace: "shop"}, api.VerbList: api.ListRequest{APIVersion: "v1", Kind: "Secret"},
		api.VerbApply: api.ApplyRequest{Documents: documents[:1]}, api.VerbRaw: api.RawRequest{Bucket: "state", Key: "term"},
	} {
		require.Equal(t, api.CodeRefused, asked(eve, t, verb, request).Code, verb)
	}
	require.Nil(t, asked(anna, t, api.VerbList, api.ListRequest{APIVersion: "v1", Kind: "Secret"}))
}

// Events name who asked, with the id of the request and the address.
func TestEventsNameWhoAsked(t *testing.T) {
	h := peopled(t)
	anna := h.add("anna@example.com", api.RoleOperator)
	require.Nil(t, asked(anna, t, api.VerbApply, api.ApplyRequest{Request: "r1", Documents: []json.RawMessage{
		json.RawMessage(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`),
	}}))
	bustest.EventsUntil(t, h.server.Inspector(t), "object/Namespace/shop", "Created: Namespace/shop")
	events, err := streams.ReadAudit(bustest.Context(t), h.store.Conn, streams.AuditQuery{Object: "object/Namespace/shop"})
	require.NoError(t, err)
	require.Equal(t, "anna@example.com", events[0].By)
	require.Equal(t, "127.0.0.1", events[0].From)
	require.NotEmpty(t, events[0].Request)
}

package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// askings are the requests that handlers were given.
type askings struct {
	mu    sync.Mutex
	calls []string
	by    api.Caller
}

func (h *askings) handler(verb string) bus.Handler {
	return func(_ context.Context, by api.Caller, body []byte) (any, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.calls, h.by = append(h.calls, verb), by
		return json.RawMessage(body), nil
	}
}

func (h *askings) taken() ([]string, api.Caller) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls), h.by
}

// everyVerb serves all verbs of people.
func everyVerb(t *testing.T, server *bustest.Server) *askings {
	h, verbs := &askings{}, map[string]bus.Handler{}
	for _, v := range api.VerbTable() {
		verbs[v.Verb] = h.handler(v.Verb)
	}
	hub := server.Hub(t)
	serve(t, hub, verbs)
	require.NoError(t, hub.NC.Flush())
	return h
}

// bare is a connection with somebody's credentials that no client of ours holds back, and what its server refuses.
func bare(t *testing.T, server *bustest.Server, name string, role api.Role) (*nats.Conn, <-chan error) {
	t.Helper()
	creds, _, err := server.PersonCreds(name, role, 0)
	require.NoError(t, err)
	refusals := make(chan error, 256)
	nc, err := nats.Connect(server.URL(), nats.UserCredentialBytes(creds), nats.CustomInboxPrefix(subjects.PersonInbox(name)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refusals <- err }))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc, refusals
}

// send sends a request and returns once it has arrived, or was refused.
func send(t *testing.T, nc *nats.Conn, subject, reply, body string) {
	t.Helper()
	m := nats.NewMsg(subject)
	m.Header.Set(bus.HeaderRequest, "r1")
	m.Reply, m.Data = reply, []byte(body)
	require.NoError(t, nc.PublishMsg(m))
	require.NoError(t, nc.Flush())
}

// Every role against every verb: the server itself lets through what the table gives, whoever the client is.
func TestServersEnforceVerbsByRole(t *testing.T) {
	server := bustest.Start(t)
	everyVerb(t, server)
	f := subjects.Fleet{Name: bustest.Fleet}
	for _, role := range api.Roles() {
		nc, refusals := bare(t, server, "anna", role)
		for _, v := range api.VerbTable() {
			m := nats.NewMsg(f.API(role, "anna", v.Verb))
			m.Header.Set(bus.HeaderRequest, "r1")
			m.Data = []byte(`"hello"`)
			if role.Covers(v.Needs) {
				answer, err := nc.RequestMsg(m, 10*time.Second)
				require.NoError(t, err, "%s %s", role, v.Verb)
				if v.Verb == api.VerbKey { // which the service answers itself
					require.Contains(t, string(answer.Data), `{"key":"X`)
					continue
				}
				require.JSONEq(t, `"hello"`, string(answer.Data), "%s %s", role, v.Verb)
				continue
			}
			require.NoError(t, nc.PublishMsg(m))
			require.ErrorContains(t, bustest.Within(t, refusals, v.Verb), "Permissions Violation for Publish", "%s %s", role, v.Verb)
		}
	}
}

// What a viewer's credentials are tried on.
func TestAPersonReachesTheServiceUnderTheirOwnNameAlone(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 1), 0))
	h := everyVerb(t, server)
	nc, refusals := bare(t, server, "anna", api.RoleViewer)
	f := leader.Conn.Fleet
	state := f.BucketStream(subjects.State)
	for name, subject := range map[string]string{
		"another's name":          f.API(api.RoleViewer, "bob", api.VerbGet),
		"anybody's name":          f.API(api.RoleViewer, "*", api.VerbGet),
		"another role":            f.API(api.RoleAdmin, "anna", api.VerbGet),
		"a verb of operators":     f.API(api.RoleViewer, "anna", api.VerbApply),
		"records":                 f.BucketSubject(subjects.State, "schedule.a"),
		"any record":              "$KV.>",
		"the lease":               f.BucketSubject(subjects.Lease, subjects.LeaseKey),
		"a heartbeat":             f.BucketSubject(subjects.Heartbeat, "berlin"),
		"a command":               f.Command("berlin", "placement"),
		"saying who leads":        f.Leads(),
		"JetStream":               "$JS.API.INFO",
		"reading a record":        "$JS.API.STREAM.MSG.GET." + state,
		"reading one directly":    subjects.DirectGet(state, f.BucketSubject(subjects.State, "schedule.a")),
		"a consumer":              "$JS.API.CONSUMER.CREATE." + state,
		"purging":                 "$JS.API.STREAM.PURGE." + state,
		"acknowledging":           "$JS.ACK." + state + ".c.1.1.1.1.1",
		"the system":              "$SYS.REQ.SERVER.PING",
		"services":                "$SRV.PING",
		"an answer to another":    subjects.PersonInbox("bob") + ".x",
		"an answer to the hub":    "_INBOX.x",
		"an answer in the making": "_R_.x",
	} {
		send(t, nc, subject, nc.NewInbox(), "{}")
		require.ErrorContains(t, bustest.Within(t, refusals, name), "Permissions Violation for Publish", name)
	}
	for name, subject := range map[string]string{
		"everything": ">", "the fleet": f.Prefix() + ".>", "requests": f.APIGroup() + ".>", "own requests": f.API(api.RoleViewer, "anna", api.VerbGet),
		"another's answers": subjects.PersonInbox("bob") + ".>", "anybody's answers": "_INBOX.>", "answers in the making": "_R_.>",
		"audit": f.AllAudit(), "hints": f.Hint("*", "*"), "records": "$KV.>", "the system": "$SYS.>",
	} {
		_, err := nc.SubscribeSync(subject)
		require.NoError(t, err)
		require.ErrorContains(t, bustest.Within(t, refusals, name), "Permissions Violation for Subscription", name)
	}
	calls, _ := h.taken()
	require.Empty(t, calls)
	got, err := bus.RawRecord(bustest.Context(t), leader.Conn, subjects.State, "schedule.a")
	require.NoError(t, err)
	require.NotNil(t, got)
}

// An answer that came to where requests do, with a body of the sender's choice, must not be taken for one; nor may
// an answer be an acknowledgement.
func TestAnAnswerIsNoRequest(t *testing.T) {
	server := bustest.Start(t)
	h := everyVerb(t, server)
	nc, refusals := bare(t, server, "anna", api.RoleOperator)
	bob, _ := bare(t, server, "bob", api.RoleAdmin)
	f := subjects.Fleet{Name: bustest.Fleet}
	own := f.API(api.RoleOperator, "anna", api.VerbStatus)
	tricked := []string{api.VerbEnrol, api.VerbDelete, api.VerbGet}
	for _, verb := range tricked {
		send(t, nc, own, f.API(api.RoleAdmin, "bob", verb), `{"name":"evil"}`)
	}
	send(t, nc, own, "$JS.ACK."+f.BucketStream(subjects.State)+".c.1.1.1.1.1", `{"name":"evil"}`)
	require.ErrorContains(t, bustest.Within(t, refusals, "an answer as acknowledgement"), "Permissions Violation")
	for _, verb := range tricked {
		answer, err := bob.Request(f.API(api.RoleAdmin, "bob", verb), []byte(`{"name":"evil"}`), 10*time.Second)
		require.NoError(t, err)
		require.Contains(t, string(answer.Data), "without the header Flotilla-Request", "what looks like an answer is refused")
	}
	m := nats.NewMsg(own)
	m.Header.Set(bus.HeaderRequest, "last")
	_, err := nc.RequestMsg(m, 10*time.Second)
	require.NoError(t, err)
	calls, _ := h.taken()
	for _, verb := range tricked {
		require.NotContains(t, calls, verb)
	}
}

// An answer that came to where hubs say that they lead breaks nothing off that others wait for.
func TestAnAnswerDoesNotSayWhoLeads(t *testing.T) {
	server := bustest.Start(t)
	hub, client := server.Hub(t), server.Client(t)
	begun, goesOn := make(chan struct{}, 8), make(chan struct{})
	serve(t, hub, map[string]bus.Handler{
		api.VerbGet:    func(context.Context, api.Caller, []byte) (any, error) { begun <- struct{}{}; <-goesOn; return nil, nil },
		api.VerbStatus: func(context.Context, api.Caller, []byte) (any, error) { return nil, errors.New("no") },
	})
	answered := make(chan error, 1)
	go func() {
		answered <- bus.Request(bustest.Context(t), client, api.VerbGet, nil, nil, bus.RequestOptions{})
	}()
	bustest.Within(t, begun, "what the client waits for")

	f := hub.Fleet
	eve, _ := bare(t, server, "eve", api.RoleViewer)
	heard, err := eve.SubscribeSync(f.Leads())
	require.NoError(t, err)
	for range 8 {
		send(t, eve, f.API(api.RoleViewer, "eve", api.VerbStatus), f.Leads(), `{}`)
		_, err = heard.NextMsg(10 * time.Second)
		require.NoError(t, err)
		require.NoError(t, client.NC.Flush())
	}
	close(goesOn)
	require.NoError(t, bustest.Within(t, answered, "an answer"))
	require.Empty(t, begun, "it was asked once")
}

// What a handler knows of who asks comes from the server, never from the request.
func TestHandlersKnowWhoAsks(t *testing.T) {
	server := bustest.Start(t)
	h := everyVerb(t, server)
	creds, key, err := server.PersonCreds("anna@example.com", api.RoleOperator, 0)
	require.NoError(t, err)
	o := server.TCP()
	o.Creds, o.CredsText = "", creds
	client, err := bus.ConnectClient(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	body := map[string]any{"by": map[string]string{"name": "eve"}, "By": map[string]string{"Name": "eve"}}
	require.NoError(t, bus.Request(bustest.Context(t), client, api.VerbApply, body, nil, bus.RequestOptions{}))
	_, by := h.taken()
	require.NotEmpty(t, by.Request)
	require.Equal(t, api.Caller{Name: "anna@example.com", Role: api.RoleOperator, Key: key, Address: "127.0.0.1", Verb: api.VerbApply, Request: by.Request}, by)

	var failure *api.Failure
	err = bus.Request(bustest.Context(t), client, api.VerbEnrol, api.EnrolRequest{Name: "berlin"}, nil, bus.RequestOptions{})
	require.ErrorAs(t, err, &failure)
	require.Equal(t, api.CodeRefused, failure.Code)
	require.Equal(t, "enrol needs the role admin: anna@example.com is operator; an admin gives it: flotilla user renew anna@example.com --role admin", failure.Message)
}

// Hubs take requests through any of their connections; the owner of the data folder needs no person's credentials.
func TestTheHubsOwnCredentialsAreThoseOfAnAdmin(t *testing.T) {
	server := bustest.Start(t)
	h := everyVerb(t, server)
	require.NoError(t, bus.Request(bustest.Context(t), server.Hub(t), api.VerbEnrol, api.EnrolRequest{}, nil, bus.RequestOptions{}))
	_, by := h.taken()
	require.Equal(t, "hub", by.Name)
	require.Equal(t, api.RoleAdmin, by.Role)
}

func TestTheFirstPersonIsAnAdmin(t *testing.T) {
	server := bustest.Start(t)
	name, role := server.Client(t).Person()
	require.Equal(t, []string{subjects.FirstPerson, string(api.RoleAdmin)}, []string{name, string(role)})
	before, err := os.ReadFile(server.OperatorCreds())
	require.NoError(t, err)
	require.Contains(t, string(before), "NATS USER JWT")
}

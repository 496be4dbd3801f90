package hostile

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/configs"
	"flotilla/core/api"
)

// person connects with new credentials of a person.
func (g *ground) person(name string, role api.Role) *bus.Conn {
	g.Helper()
	var answer api.UserAddResponse
	request := api.UserAddRequest{Name: name, Role: role, Life: metav1.Duration{Duration: time.Hour}}
	require.NoError(g, bus.Request(g.Context(), g.fleet.Client, api.VerbUserAdd, request, &answer, bus.RequestOptions{}))
	c, err := bus.ConnectClient(g.Context(), bus.Options{Fleet: "test", URL: g.fleet.Hub.Server().URL(), CredsText: []byte(answer.Creds)})
	require.NoError(g, err)
	g.Cleanup(c.Close)
	return c
}

// raw sends one request as a tool of NATS does, with an id in its header, and returns the answer and the code of a refusal.
func (g *ground) raw(c *bus.Conn, verb, id string, body []byte) (text, code string) {
	g.Helper()
	m := nats.NewMsg(c.API(verb))
	m.Header.Set(bus.HeaderRequest, id)
	m.Data = body
	answer, err := c.NC.RequestMsg(m, 30*time.Second)
	require.NoError(g, err)
	return string(answer.Data), answer.Header.Get(micro.ErrorCodeHeader)
}

// change is a request that changes something.
type change struct {
	verb    string
	request any
}

var (
	web     = api.ObjectRef{APIVersion: "placement.kubernetes-fleet.io/v1", Kind: api.KindClusterResourcePlacement, Name: "web"}
	content = api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web"}
	run     = api.ObjectRef{APIVersion: "flotilla.io/v1alpha1", Kind: api.KindUpdateRun, Name: "up"}
)

// changes are requests of many verbs, each of which changes something when they are sent one after another.
func changes(t *testing.T) []change {
	t.Helper()
	parsed, err := configs.Parse("run", []byte(`
apiVersion: flotilla.io/v1alpha1
kind: UpdateRun
metadata: {name: up}
spec: {upgrade: {type: ControlPlaneOnly, kubernetesVersion: 1.36.4}}
`))
	require.NoError(t, err)
	hour := metav1.Duration{Duration: time.Hour}
	return []change{
		{api.VerbUserAdd, api.UserAddRequest{Name: "carl", Role: api.RoleAdmin, Life: hour}},
		{api.VerbUserRevoke, api.UserRevokeRequest{Name: "carl"}},
		{api.VerbEnrol, api.EnrolRequest{Name: "rome"}},
		{api.VerbApply, api.ApplyRequest{Documents: []json.RawMessage{parsed[0].JSON}}},
		{api.VerbPatch, api.PatchRequest{Object: web, Patch: json.RawMessage(`{"metadata":{"labels":{"a":"b"}}}`)}},
		{api.VerbRunStart, api.RunRequest{Run: run.Name}},
		{api.VerbRunStop, api.RunRequest{Run: run.Name}},
		{api.VerbFreeze, api.FreezeRequest{Scope: api.FreezeNodes, Reason: "tried"}},
		{api.VerbUnfreeze, api.FreezeRequest{Scope: api.FreezeNodes, Reason: "tried"}},
		{api.VerbRolloutPause, api.RolloutRequest{Object: web}},
		{api.VerbRolloutResume, api.RolloutRequest{Object: web}},
		{api.VerbRolloutUndo, api.RolloutRequest{Object: web}},
		{api.VerbDelete, api.DeleteRequest{Object: content, Yes: true}},
		{api.VerbMemberRevoke, api.MemberRevokeRequest{Name: attacker}},
	}
}

// remembered says that a repeat answers the first result: not where the answer holds credentials, or tells how something is now.
func (c *change) remembered() bool {
	switch c.request.(type) {
	case api.ApplyRequest, api.PatchRequest, api.DeleteRequest, api.FreezeRequest, api.RolloutRequest:
		return true
	}
	return false
}

// idOf is a request id of the most characters that one may have.
func idOf(verb string) string { return verb + "-" + strings.Repeat("x", api.MaxRequestID-1-len(verb)) }

// body is a request with an id, as JSON.
func (c *change) body(t *testing.T, id string) []byte {
	t.Helper()
	text, err := json.Marshal(c.request)
	require.NoError(t, err)
	fields := map[string]any{}
	require.NoError(t, json.Unmarshal(text, &fields))
	fields["request"] = id
	text, err = json.Marshal(fields)
	require.NoError(t, err)
	return text
}

// An answer that the hub remembers belongs to one person and one verb: the id of a request, which events show, gives nobody else anything,
// and credentials are not remembered at all.
func TestAnAnswerBelongsToOnePersonAndVerb(t *testing.T) {
	g := newGround(t)
	g.lives()
	anna, eve := g.person("anna", api.RoleAdmin), g.person("eve", api.RoleAdmin)
	for _, c := range changes(t) {
		id := idOf(c.verb)
		first, code := g.raw(anna, c.verb, id, c.body(t, id))
		require.Empty(t, code, "%s: %s", c.verb, first)
		if first == "{}" {
			continue // which anybody may be answered
		}
		for _, verb := range api.VerbTable() {
			if verb.Verb == api.VerbWatch {
				continue // it waits
			}
			only := fmt.Appendf(nil, `{"request":%q}`, id)
			answer, _ := g.raw(eve, verb.Verb, id, only)
			require.NotEqual(t, first, answer, "the answer of %s to anna, by %s of eve", c.verb, verb.Verb)
			require.NotContains(t, answer, "SEED", "%s of eve", verb.Verb)
			if verb.Verb != c.verb {
				answer, _ = g.raw(anna, verb.Verb, id, only)
				require.NotEqual(t, first, answer, "the answer of %s to anna, by her %s", c.verb, verb.Verb)
			}
		}
		if again, _ := g.raw(anna, c.verb, id, c.body(t, id)); c.remembered() {
			require.Equal(t, first, again, "%s of anna again", c.verb)
		}
	}
}

// Whoever repeats a request for credentials, because no answer came, gets new ones, and those before are refused.
func TestCredentialsAreNotRemembered(t *testing.T) {
	g := newGround(t)
	add := change{api.VerbUserAdd, api.UserAddRequest{Name: "carl", Role: api.RoleViewer, Life: metav1.Duration{Duration: time.Hour}}}
	var answers [2]api.UserAddResponse
	for i := range answers {
		text, code := g.raw(g.fleet.Client, api.VerbUserAdd, "carl", add.body(t, "carl"))
		require.Empty(t, code, text)
		require.NoError(t, json.Unmarshal([]byte(text), &answers[i]))
	}
	require.NotEqual(t, answers[0].User.Key, answers[1].User.Key)
	o := bus.Options{Fleet: "test", URL: g.fleet.Hub.Server().URL(), CredsText: []byte(answers[0].Creds)}
	_, err := bus.ConnectClient(t.Context(), o)
	require.ErrorIs(t, err, bus.ErrDenied)
	o.CredsText = []byte(answers[1].Creds)
	c, err := bus.ConnectClient(t.Context(), o)
	require.NoError(t, err)
	c.Close()
	text, code := g.raw(g.fleet.Client, api.VerbUserAdd, "another", add.body(t, "another"))
	require.Equal(t, api.CodeConflict, code, text)
}

// Every change that a person makes leaves an event with the id of the request, however long that may be.
func TestEveryChangeLeavesAnEvent(t *testing.T) {
	g := newGround(t)
	g.lives()
	anna := g.person("anna", api.RoleAdmin)
	for _, c := range changes(t) {
		id := idOf(c.verb)
		answer, code := g.raw(anna, c.verb, id, c.body(t, id))
		require.Empty(t, code, "%s: %s", c.verb, answer)
	}
	bustest.EventuallyIn(t, time.Minute, func() error {
		var told api.EventsResponse
		if err := bus.Request(t.Context(), anna, api.VerbEvents, api.EventsRequest{By: "anna", Limit: 1000}, &told, bus.RequestOptions{}); err != nil {
			return err
		}
		seen := map[string]bool{}
		for i := range told.Events {
			seen[told.Events[i].Request] = true
		}
		for _, c := range changes(t) {
			if !seen[idOf(c.verb)] {
				return fmt.Errorf("no event of %s", c.verb)
			}
		}
		return nil
	})
}

// An id of a request that is too long, or holds anything but letters, digits and hyphens, is refused, in the header and in the body: events
// have room for it, and nobody fills the memory of the hub with it.
func TestRequestIDsAreBounded(t *testing.T) {
	g := newGround(t)
	eve := g.person("eve", api.RoleOperator)
	patch := change{api.VerbPatch, api.PatchRequest{Object: web, Patch: json.RawMessage(`{"metadata":{"labels":{"by":"eve"}}}`)}}
	for _, id := range []string{"", strings.Repeat("a", api.MaxRequestID+1), strings.Repeat("a", 1500), "a b", "a.b", "a/b", "a_b", "é", "*", ">"} {
		answer, code := g.raw(eve, api.VerbPatch, id, patch.body(t, "good"))
		require.Equal(t, api.CodeInvalid, code, "header %q: %s", id, answer)
		if id == "" {
			continue // in the body, that is none: that of the header is taken
		}
		answer, code = g.raw(eve, api.VerbPatch, "good", patch.body(t, id))
		require.Equal(t, api.CodeInvalid, code, "body %q: %s", id, answer)
		require.Less(t, len(answer), 300, "what is refused is not sent back whole")
	}
	answer, code := g.raw(eve, api.VerbPatch, "good", patch.body(t, strings.Repeat("a", 600<<10)))
	require.Equal(t, api.CodeInvalid, code, answer)
	answer, code = g.raw(eve, api.VerbPatch, "good", patch.body(t, ""))
	require.Empty(t, code, answer)
}

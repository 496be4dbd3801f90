package tests

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/hub/dev"
	"flotilla/subjects"
	"flotilla/tests/planted"
)

// plantedSecret holds a value as it is, and encoded.
func plantedSecret(p *planted.Value) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: web}\nstringData: {raw: %s}\ndata: {encoded: %s}\n",
		p.Text, base64.StdEncoding.EncodeToString([]byte("x"+p.Text+strings.Repeat("y", 100))))
}

// plantedEnvelope holds a Secret of a value as an object, and one as a text.
func plantedEnvelope(p *planted.Value) string {
	return fmt.Sprintf("apiVersion: placement.kubernetes-fleet.io/v1beta1\nkind: ResourceEnvelope\nmetadata: {name: key, namespace: web}\ndata:\n  a: {apiVersion: v1, kind: Secret, metadata: {name: wrapped, namespace: web}, stringData: {raw: %[1]s}}\n---\n"+
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: texts, namespace: web, annotations: {kubernetes-fleet.io/envelope-configmap: \"true\"}}\n"+
		"data:\n  a: |\n    apiVersion: v1\n    kind: \"S\\u0065cret\"\n    metadata: {name: text, namespace: web}\n    stringData: {raw: %[1]s}\n", p.Text)
}

// keyOf is what opens the body of a document.
func keyOf(t *testing.T, document string) *planted.Value {
	t.Helper()
	keys := bustest.Keys()
	var tree map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(document), &tree))
	object, err := content.New(tree, keys)
	require.NoError(t, err)
	return planted.Of(string(keys.Piece(object.Head.ManifestDigest()).Key))
}

// keyOfWork is what opens the work that members run, which an index carries.
func keyOfWork(t *testing.T, s *slice) *planted.Value {
	t.Helper()
	var raw api.RawResponse
	s.ask(api.VerbRaw, api.RawRequest{Bucket: subjects.State, Key: subjects.Releases.Key("web")}, &raw)
	var release api.Release
	require.NoError(t, json.Unmarshal(raw.Value, &release))
	require.NotEmpty(t, release.Entries)
	return planted.Of(string(bustest.Keys().Piece(release.Entries[0].Work).Key))
}

// A value of a Secret is in no message that a stream keeps, in no file of the broker or of an agent, in no log, and in
// nothing that is heard by who listens on the servers, however it is packed: neither as it was applied, read and
// planned, nor after it was changed, placed and taken over; and neither is what opens it. What is not sealed is found by the same search.
func TestAPlantedValueIsFoundNowhere(t *testing.T) {
	dir, log := t.TempDir(), &planted.Log{}
	s := newSliceWith(t, func(o *dev.Options) {
		o.Hub.Server.Dir = dir
		o.Hub.Log, o.Log = zerolog.New(log), zerolog.New(log)
	}, "berlin", "paris")
	ear := planted.Listen(t, connected(t, s, s.fleet.Hub.Server().HubCreds()).NC)
	p, later := planted.New(), planted.New()
	s.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n---\n" + plantedSecret(p) + "---\n" + plantedEnvelope(p) + "---\n" + placedEverywhere("web"))
	s.converges("web", 2, "1")
	s.apply(plantedSecret(later) + "---\n" + plantedEnvelope(later))
	s.converges("web", 2, "2")
	for _, kind := range []string{"ConfigMap", api.KindResourceEnvelope} {
		var listed json.RawMessage
		s.ask(api.VerbList, api.ListRequest{Kind: kind}, &listed)
		require.Contains(t, string(listed), content.RedactedBegin)
		require.False(t, later.In(listed))
	}
	var shown json.RawMessage
	s.ask(api.VerbGet, api.GetRequest{Kind: "Secret", Namespace: "web", Name: "key", ShowSecrets: true}, &shown)
	require.True(t, later.In(shown), "who may read it does")

	inspector := connected(t, s, s.fleet.Hub.Server().InspectorCreds())
	for _, value := range []*planted.Value{p, later, keyOf(t, plantedSecret(p)), keyOf(t, plantedSecret(later)), keyOfWork(t, s)} {
		found, seen := value.Messages(t, inspector)
		require.Greater(t, seen, 20)
		require.Empty(t, found, "messages")
		found, seen = value.Files(t, dir)
		require.Greater(t, seen, 20)
		require.Empty(t, found, "files")
		found, seen = ear.Heard(t, value)
		require.Greater(t, seen, 50)
		require.Empty(t, found, "heard")
		require.False(t, value.In(log.Text()))
	}
	unsealed(t, s, dir, ear, later)
}

// unsealed sends and keeps a value as tools of NATS do, and finds it everywhere.
func unsealed(t *testing.T, s *slice, dir string, ear *planted.Ear, p *planted.Value) {
	t.Helper()
	hub := connected(t, s, s.fleet.Hub.Server().HubCreds())
	_, err := hub.JS.Publish(t.Context(), hub.Fleet.AuditEvent("test", "planted"), []byte(p.Text))
	require.NoError(t, err)
	m := nats.NewMsg(s.fleet.Client.API(api.VerbGet))
	m.Header.Set(bus.HeaderRequest, "unsealed")
	m.Data = []byte(`{"kind":"Secret","namespace":"web","name":"key","showSecrets":true}`)
	answer, err := s.fleet.Client.NC.RequestMsg(m, 10*time.Second)
	require.NoError(t, err)
	require.True(t, p.In(answer.Data))

	found, _ := p.Messages(t, connected(t, s, s.fleet.Hub.Server().InspectorCreds()))
	require.Equal(t, []string{hub.Fleet.AuditEvent("test", "planted")}, found)
	found, _ = p.Files(t, dir)
	require.NotEmpty(t, found, "the stream that holds it is among the files")
	found, _ = ear.Heard(t, p)
	require.Greater(t, len(found), 1, "the event and the answer")
}

// placedEverywhere is a placement of a namespace on every member.
func placedEverywhere(namespace string) string {
	return fmt.Sprintf("apiVersion: placement.kubernetes-fleet.io/v1\nkind: ClusterResourcePlacement\nmetadata: {name: web}\nspec:\n"+
		"  policy: {placementType: PickAll}\n  resourceSelectors: [{group: \"\", version: v1, kind: Namespace, name: %s}]\n", namespace)
}

// connected connects to the hub's own server with a file of credentials.
func connected(t *testing.T, s *slice, creds string) *bus.Conn {
	t.Helper()
	c, err := bus.ConnectClient(t.Context(), bus.Options{Fleet: "test", URL: s.fleet.Hub.Server().URL(), Creds: creds, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

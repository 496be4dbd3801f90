package door_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/hub/door"
)

// house is a door on a real server, and a client in front of it.
type house struct {
	t      *testing.T
	server *bustest.Server
	store  *store.Store
	client *bus.Conn
	door   *door.Door // that runs
	stop   func()
	asked  int
	part   int // how many records one part of a deletion changes; 0: as many as usual
}

func open(t *testing.T, o door.Options) *house {
	t.Helper()
	h := closed(t)
	h.run(o)
	return h
}

// closed is a house whose door is not opened yet.
func closed(t *testing.T) *house {
	t.Helper()
	server := bustest.Start(t)
	return &house{t: t, server: server, store: server.Lead(t), client: server.Client(t)}
}

// run runs a door until the returned function is called, or the test ends.
func (h *house) run(o door.Options) (stop func()) {
	h.t.Helper()
	o.Version, o.Log = "1.0.0", zerolog.Nop()
	ctx, cancel := contextOf(h.t)
	ended := make(chan error, 1)
	d := door.New(h.store, o)
	if h.part > 0 {
		d.SetPart(h.part)
	}
	h.door = d
	go func() { ended <- d.Run(ctx) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(h.t, <-ended)
		}
	}
	h.t.Cleanup(stop)
	h.stop = stop
	return stop
}

// id is a request id no other request of this test has.
func (h *house) id() string {
	h.asked++
	return fmt.Sprintf("request-%d", h.asked)
}

// ask sends a request and decodes the answer; a refusal is returned.
func ask[R any](h *house, verb string, request any) (R, *api.Failure) {
	h.t.Helper()
	var answer R
	err := bus.Request(bustest.Context(h.t), h.client, verb, request, &answer, bus.RequestOptions{})
	if failure, refused := errors.AsType[*api.Failure](err); refused {
		return answer, failure
	}
	require.NoError(h.t, err)
	return answer, nil
}

// must is ask for requests that succeed.
func must[R any](h *house, verb string, request any) R {
	h.t.Helper()
	answer, failure := ask[R](h, verb, request)
	require.Nil(h.t, failure)
	return answer
}

func docs(t *testing.T, texts ...string) []json.RawMessage {
	t.Helper()
	var all []json.RawMessage
	for _, text := range texts {
		body, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(t, err)
		all = append(all, body)
	}
	return all
}

func (h *house) apply(texts ...string) []api.ApplyResult {
	h.t.Helper()
	request := api.ApplyRequest{Request: h.id(), Documents: docs(h.t, texts...)}
	return must[api.ApplyResponse](h, api.VerbApply, request).Results
}

func (h *house) refuse(texts ...string) *api.Failure {
	h.t.Helper()
	request := api.ApplyRequest{Request: h.id(), Documents: docs(h.t, texts...)}
	_, failure := ask[api.ApplyResponse](h, api.VerbApply, request)
	require.NotNil(h.t, failure)
	return failure
}

func (h *house) get(kind, namespace, name string) map[string]any {
	h.t.Helper()
	return must[map[string]any](h, api.VerbGet, api.GetRequest{Kind: kind, Namespace: namespace, Name: name})
}

func (h *house) missing(kind, namespace, name string) {
	h.t.Helper()
	_, failure := ask[map[string]any](h, api.VerbGet, api.GetRequest{Kind: kind, Namespace: namespace, Name: name})
	require.NotNil(h.t, failure, "%s %s/%s is still there", kind, namespace, name)
	require.Equal(h.t, api.CodeNotFound, failure.Code)
}

func actions(results []api.ApplyResult) []string {
	var all []string
	for i := range results {
		all = append(all, results[i].Object.String()+" "+results[i].Action)
	}
	return all
}

func lines(faults strict.Faults) []string {
	var all []string
	for i := range faults {
		all = append(all, faults[i].String())
	}
	return all
}

const (
	shopNamespace = `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`
	settings      = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {a: "1"}}`
	web           = `
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: web}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  policy: {placementType: PickN, numberOfClusters: 2}
`
	berlin = `{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: berlin, labels: {env: prod}}}`
)

package door_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// held is a house whose next draft about nodes does not end before goOn is closed.
func held(t *testing.T) (h *house, deciding <-chan struct{}, goOn chan struct{}) {
	h = closed(t)
	options, deciding, goOn, arm := holdingUp(h)
	h.run(options)
	h.apply(shopNamespace, settings, web, berlin, class, general, prices)
	arm()
	return h, deciding, goOn
}

// holdingUp are options of a door whose drafts about nodes, once it is armed, do not end before goOn is closed.
func holdingUp(h *house) (o door.Options, deciding <-chan struct{}, goOn chan struct{}, arm func()) {
	begun, goOn := make(chan struct{}, 16), make(chan struct{})
	var armed atomic.Bool
	return door.Options{People: h.server.Server, Log: zerolog.Nop(), OfNodes: door.OfNodes{Nodes: func(context.Context) map[string][]*api.NodeState {
		if armed.Load() {
			begun <- struct{}{}
			<-goOn
		}
		return nil
	}}}, begun, goOn, func() { armed.Store(true) }
}

// asking has a request answered beside the test.
func (h *house) asking(verb string, request any) <-chan error {
	answered := make(chan error, 1)
	go func() {
		answered <- bus.Request(bustest.Context(h.t), h.client, verb, request, nil, bus.RequestOptions{})
	}()
	return answered
}

// applying is a request to apply one document that is sent once.
func applying(t *testing.T, c *bus.Conn, id, document string) *nats.Msg {
	body, err := json.Marshal(api.ApplyRequest{Request: id, Documents: docs(t, document)})
	require.NoError(t, err)
	m := nats.NewMsg(c.API(api.VerbApply))
	m.Header.Set(bus.HeaderRequest, id)
	m.Data = body
	return m
}

// Whoever freezes, keeps somebody out, or asks for a link waits for no draft of others, and a hub that stops does not
// either (H36).
func TestWhoStopsThingsWaitsForNoDraft(t *testing.T) {
	h, deciding, goOn := held(t)
	h.add("eve", api.RoleOperator)
	drafting := h.asking(api.VerbApply, api.ApplyRequest{Request: h.id(), Documents: docs(t, strings.Replace(general, "30s", "1m", 1))})
	bustest.Within(t, deciding, "the draft is being made")
	waiting := h.asking(api.VerbApply, api.ApplyRequest{Request: h.id(), Documents: docs(t, settings)})

	frozen, failure := h.freeze(api.VerbFreeze, api.FreezeFleet)
	require.Nil(t, failure)
	require.Equal(t, api.ActionFrozen, frozen.Action)
	require.False(t, must[api.UserRevokeResponse](h, api.VerbUserRevoke, api.UserRevokeRequest{Name: "eve"}).Unchanged)
	ended, failure := h.freeze(api.VerbUnfreeze, api.FreezeFleet)
	require.Nil(t, failure)
	require.Equal(t, api.ActionUnfrozen, ended.Action)

	h.stop()
	select {
	case err := <-drafting:
		require.Fail(t, "the draft ended before it was to", "%v", err)
	case err := <-waiting:
		require.Fail(t, "what waits for the draft was answered", "%v", err)
	default:
	}
	close(goOn)
}

// Writers wait for no plan that looks at what becomes of nodes (H39).
func TestPlansOfNodesHoldUpNobody(t *testing.T) {
	h, deciding, goOn := held(t)
	planned := h.asking(api.VerbPlan, api.PlanRequest{Documents: docs(t, strings.Replace(general, "30s", "1m", 1))})
	bustest.Within(t, deciding, "the plan looks at nodes")
	h.apply(strings.Replace(settings, `"1"`, `"2"`, 1))
	select {
	case err := <-planned:
		require.Fail(t, "the plan ended before it was to", "%v", err)
	default:
	}
	close(goOn)
	require.NoError(t, bustest.Within(t, planned, "the plan"))
}

// A plan waits for no draft of those who write, nor does what is asked with one (H40).
func TestPlansWaitForNoDraft(t *testing.T) {
	h, deciding, goOn := held(t)
	drafting := h.asking(api.VerbApply, api.ApplyRequest{Request: h.id(), Documents: docs(t, strings.Replace(general, "30s", "1m", 1))})
	bustest.Within(t, deciding, "the draft is being made")
	planned := must[planAnswer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, strings.Replace(settings, `"1"`, `"2"`, 1))})
	require.Len(t, planned.Objects, 1)
	require.Equal(t, api.ActionConfigured, planned.Objects[0].Action)
	must[json.RawMessage](h, api.VerbWhatIf, api.WhatIfRequest{Without: []string{"berlin"}})
	close(goOn)
	require.NoError(t, bustest.Within(t, drafting, "the draft"))
}

// What is remarkable about nodes is left out where it takes too long, which is told.
func TestRemarksEnd(t *testing.T) {
	h := closed(t)
	h.run(door.Options{People: h.server.Server, Log: zerolog.Nop(), OfNodes: door.OfNodes{Nodes: func(ctx context.Context) map[string][]*api.NodeState {
		<-ctx.Done()
		return map[string][]*api.NodeState{"berlin": spotNodes("general", "z-9", "n1")}
	}}})
	results := h.apply(general, prices)
	require.Contains(t, strings.Join(results[0].Notes, "\n"), "what it does to nodes takes longer than 4s to work out: not all of it is told")
	require.Empty(t, told(&results[0]))
}

// A deletion that was decided before a freeze and is stored after it is refused as others are.
func TestAFreezeForbidsDeletionsThatWereBeingDecided(t *testing.T) {
	h, deciding, goOn := held(t)
	deleting := h.asking(api.VerbDelete, api.DeleteRequest{Request: h.id(), Objects: []api.ObjectRef{
		webPlacement, {APIVersion: api.GroupFlotilla + "/v1alpha1", Kind: api.KindInstanceCatalog, Name: "azure"},
	}})
	bustest.Within(t, deciding, "the deletion is being decided")
	_, failure := h.freeze(api.VerbFreeze, api.FreezePlacements)
	require.Nil(t, failure)
	close(goOn)
	var refusal *api.Failure
	require.ErrorAs(t, bustest.Within(t, deleting, "an answer"), &refusal)
	require.Equal(t, "flotilla unfreeze placements", refusal.Next)
	require.NotEmpty(t, h.get(api.KindClusterResourcePlacement, "", "web"))
	require.NotEmpty(t, h.get(api.KindInstanceCatalog, "", "azure"))
}

// What a person asked for, and what waits for its turn while they are revoked, is not done.
func TestNothingIsDoneForWhoWasRevokedMeanwhile(t *testing.T) {
	h, deciding, goOn := held(t)
	eve := h.add("eve", api.RoleOperator)
	send := func(id string, text string) {
		m := applying(t, eve, id, text)
		m.Reply = eve.NC.NewInbox()
		require.NoError(t, eve.NC.PublishMsg(m))
		require.NoError(t, eve.NC.Flush())
	}
	send("first", strings.Replace(general, "30s", "1m", 1))
	bustest.Within(t, deciding, "her draft is being made")
	send("second", strings.ReplaceAll(settings, "settings", "late"))
	must[api.UserRevokeResponse](h, api.VerbUserRevoke, api.UserRevokeRequest{Name: "eve"})
	close(goOn)
	h.apply(shopNamespace) // behind both, in the turn of drafts
	require.Contains(t, fmt.Sprint(h.get(api.KindNodePool, "", "general")), "consolidateAfter:30s")
	h.missing("ConfigMap", "shop", "late")
}

// A request that is still decided about when its hub leads no more stores nothing, and is told to ask again.
func TestWhatOutlivesItsHubStoresNothing(t *testing.T) {
	server := bustest.Start(t)
	hub := server.Hub(t)
	h := &house{t: t, server: server, client: server.Client(t)}
	options, deciding, goOn, arm := holdingUp(h)
	ctx, stop := context.WithCancel(t.Context())
	ended, open := make(chan error, 1), make(chan *store.Store, 1)
	go func() {
		ended <- store.Lead(ctx, hub, "hub-test", store.LeadOptions{Secrets: bustest.ReadKeys}, func(ctx context.Context, s *store.Store) error {
			open <- s
			return door.New(s, options).Run(ctx)
		})
	}()
	h.store = bustest.Within(t, open, "a store")
	h.apply(shopNamespace, settings, web, berlin, class, general, prices)
	arm()
	answered, late := make(chan *nats.Msg, 1), applying(t, h.client, "late", strings.Replace(general, "30s", "1m", 1))
	go func() {
		answer, _ := h.client.NC.RequestMsg(late, time.Minute)
		answered <- answer
	}()
	bustest.Within(t, deciding, "the draft is being made")
	stored := func() uint64 {
		m, err := hub.LastMessage(t.Context(), hub.Fleet.BucketStream(subjects.State), hub.Fleet.BucketSubject(subjects.State, "spec.nodepool.general"))
		require.NoError(t, err)
		return m.Sequence
	}
	before := stored()
	stop()
	require.NoError(t, bustest.Within(t, ended, "the end of leading"))
	close(goOn)
	require.Equal(t, api.CodeUnavailable, bustest.Within(t, answered, "an answer").Header.Get(micro.ErrorCodeHeader))
	require.Equal(t, before, stored())
}

// A hub that takes over answers those who read, freeze and revoke before it has cut what is missing; those who write wait for it (H48).
func TestWhoReadsWaitsForNoSnapshots(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, settings, web)
	h.stop()
	erase[api.Snapshot](h, subjects.Snapshots, subjects.SnapshotName("web", 1))
	sweeping, goOn := make(chan struct{}), make(chan struct{})
	go func() { // snapshots are committed by nobody meanwhile
		_, err := h.store.Content.Sweep(bustest.Context(t), elsewhen.Now(), func() (map[string]bool, bool, error) {
			close(sweeping)
			<-goOn
			return nil, false, nil
		}, h.store.Leads)
		assert.NoError(t, err)
	}()
	bustest.Within(t, sweeping, "the sweep")
	h.run(door.Options{People: h.server.Server})
	must[json.RawMessage](h, api.VerbStatus, nil)
	h.add("eve", api.RoleOperator)
	must[api.UserRevokeResponse](h, api.VerbUserRevoke, api.UserRevokeRequest{Name: "eve"})
	_, failure := h.freeze(api.VerbFreeze, api.FreezeFleet)
	require.Nil(t, failure)
	writing := h.asking(api.VerbApply, api.ApplyRequest{Request: h.id(), Documents: docs(t, settings)})
	must[json.RawMessage](h, api.VerbStatus, nil)
	require.Empty(t, h.snapshots("web"))
	select {
	case err := <-writing:
		require.Fail(t, "who writes waits for no snapshots", "%v", err)
	default:
	}
	close(goOn)
	require.NoError(t, bustest.Within(t, writing, "the write"))
	require.Len(t, h.snapshots("web"), 1)
}

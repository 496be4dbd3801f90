// Package hostile attacks a running fleet as one of its own members, with credentials that are real. What is
// tried here was tried before; it stays tried.
package hostile

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// marker stands in everything that the attacker sends: where it is found, the attacker has written.
const marker = "mallory-was-here"

// ground is a fleet of two members, the one that is attacked and the one that attacks.
type ground struct {
	*testing.T
	fleet *dev.Fleet
	names subjects.Fleet
	hub   *bus.Conn // sees all that is stored
	// mallory is the connection of the attacker, with the credentials of its agent, which does not run.
	mallory  *nats.Conn
	creds    []byte // of the attacker's agent, which has one key
	refusals chan error
	version  int
}

const (
	victim   = "oslo"
	attacker = "mallory"
)

func newGround(t *testing.T, change ...func(*dev.Options)) *ground {
	t.Helper()
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)
	o := dev.Options{Log: log, Hub: hubd.Options{
		Now: elsewhen.Now, Fleet: "test", Log: log, Server: &server.Options{Dir: t.TempDir(), Port: -1},
	}}
	for _, name := range []string{victim, attacker} {
		agent := configs.DefaultAgent()
		agent.Member = name
		agent.Target.Memory.ReadyAfter = configs.Duration(10 * time.Millisecond)
		o.Members = append(o.Members, agent)
	}
	for _, f := range change {
		f(&o)
	}
	fleet, err := dev.Start(bustest.Context(t), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Stop()) })
	g := &ground{T: t, fleet: fleet, names: subjects.Fleet{Name: "test"}, refusals: make(chan error, 1024)}
	server := fleet.Hub.Server()
	g.hub, err = bus.ConnectHub(bustest.Context(t), bus.Options{Fleet: "test", URL: server.URL(), Creds: server.HubCreds(), Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(g.hub.Close)
	for _, name := range []string{victim, attacker} {
		g.ask(api.VerbAdmit, api.AdmitRequest{Request: string(uuid.NewUUID()), Name: name})
	}
	g.lives()
	g.is(attacker, api.MemberReady) // of who was never heard of nothing is decided
	require.NoError(t, fleet.StopAgent(attacker))
	g.mallory, g.creds = g.attack(server), bustest.AgentCreds(t, server, attacker)
	return g
}

// attack connects with nothing but the credentials of the attacker's agent.
func (g *ground) attack(server *server.Server) *nats.Conn { return g.connect(server, attacker) }

// connect connects with the credentials of a member's agent.
func (g *ground) connect(server *server.Server, member string) *nats.Conn {
	g.Helper()
	creds := bustest.AgentCreds(g, server, member)
	nc, err := nats.Connect(server.URL(), nats.UserCredentialBytes(creds), nats.CustomInboxPrefix(subjects.Inbox(member)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { g.refusals <- err }))
	require.NoError(g, err)
	g.Cleanup(nc.Close)
	return nc
}

func (g *ground) ask(verb string, request any) {
	g.Helper()
	require.NoError(g, bus.Request(g.Context(), g.fleet.Client, verb, request, nil, bus.RequestOptions{}))
}

// lives requires that a change which is made now comes to the victim.
func (g *ground) lives() {
	g.Helper()
	g.version++
	documents, err := configs.Parse("web", fmt.Appendf(nil, `
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: shop}
data: {version: "%d"}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: web}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  policy: {placementType: PickFixed, clusterNames: [%s]}
`, g.version, victim))
	require.NoError(g, err)
	request := api.ApplyRequest{Request: string(uuid.NewUUID())}
	for _, d := range documents {
		request.Documents = append(request.Documents, d.JSON)
	}
	g.ask(api.VerbApply, request)
	bustest.EventuallyIn(g, time.Minute, func() error {
		var shown struct {
			Status *api.PlacementStatus `json:"status"`
		}
		err := bus.Request(g.Context(), g.fleet.Client, api.VerbGet, api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: "web"}, &shown, bus.RequestOptions{})
		if err == nil && (shown.Status == nil || shown.Status.ObservedSnapshot != fmt.Sprint(g.version) || shown.Status.Counts.Available != 1) {
			err = fmt.Errorf("version %d has not come to %s: %+v", g.version, victim, shown.Status)
		}
		return err
	})
}

// stored is all that lies on the broker, by stream and subject.
func (g *ground) stored() map[string][]byte {
	g.Helper()
	all := map[string][]byte{}
	for _, asset := range subjects.Assets() {
		stream, err := g.hub.JS.Stream(bustest.Context(g), asset.StreamName(g.names))
		require.NoError(g, err)
		info, err := stream.Info(bustest.Context(g), jetstream.WithSubjectFilter(">"))
		require.NoError(g, err)
		for subject := range info.State.Subjects {
			m, err := stream.GetLastMsgForSubject(bustest.Context(g), subject)
			if err == nil {
				all[subject] = fmt.Appendf(m.Data, "%v", m.Header)
			}
		}
	}
	return all
}

// unharmed requires that nothing of anybody else was written or removed since before, and that the fleet
// goes on.
func (g *ground) unharmed(before map[string][]byte) {
	g.Helper()
	after := g.stored()
	for subject := range before {
		if !g.own(subject) {
			_, there := after[subject]
			require.True(g, there, "%s is gone", subject)
		}
	}
	for subject, text := range after {
		if !g.own(subject) {
			require.NotContains(g, string(text), marker, subject)
		}
	}
	g.lives()
}

// own says that the attacker may write a subject, or that the hub writes there what it heard of it.
func (g *ground) own(subject string) bool {
	return strings.Contains(subject, "."+attacker) || strings.Contains(subject, ".audit.")
}

// refused requires that the server told of a violation since the last call, naming all that is given.
func (g *ground) refused(naming ...string) {
	g.Helper()
	ctx, cancel := context.WithTimeout(g.Context(), time.Minute)
	defer cancel()
	for _, name := range naming {
		select {
		case err := <-g.refusals:
			require.ErrorContains(g, err, "Permissions Violation", name)
			require.ErrorContains(g, err, name)
		case <-ctx.Done():
			require.Fail(g, "the server allowed it", name)
		}
	}
}

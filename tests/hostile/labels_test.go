package hostile

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/liveness"
	"flotilla/subjects"
)

// newcomer is an agent of a member that nobody admitted, and offers what it likes.
type newcomer struct {
	*ground
	name     string
	nc       *nats.Conn
	sequence uint64
}

func (g *ground) comes(name string) *newcomer {
	g.Helper()
	server := g.fleet.Hub.Server()
	nc, err := nats.Connect(server.URL(), nats.UserCredentialBytes(bustest.AgentCreds(g, server, name)), nats.CustomInboxPrefix(subjects.Inbox(name)))
	require.NoError(g, err)
	g.Cleanup(nc.Close)
	return &newcomer{ground: g, name: name, nc: nc}
}

// offers sends labels in a heartbeat, as any client of NATS can, and waits until the hub has taken it in.
func (n *newcomer) offers(labels map[string]string) {
	n.Helper()
	n.sequence++
	marked := fmt.Sprint(n.sequence)
	body, err := json.Marshal(api.Heartbeat{
		Header: api.NewHeader(api.KindHeartbeat), Member: n.name, Boot: marker, Sequence: n.sequence, Healthy: true, AgentVersion: marked, IntervalSeconds: 15, Labels: labels,
	})
	require.NoError(n, err)
	require.NoError(n, n.nc.Publish(n.names.BucketSubject(subjects.Heartbeat, n.name), body))
	require.NoError(n, n.nc.Flush())
	bustest.Eventually(n, func() error {
		if shown, err := n.shown(); err != nil || shown.Status == nil || shown.Status.AgentVersion != marked {
			return fmt.Errorf("heartbeat %s was not taken in: %+v (%w)", marked, shown.Status, err)
		}
		return nil
	})
}

// shown is the newcomer as people see it.
func (n *newcomer) shown() (m api.MemberCluster, err error) {
	err = bus.Request(n.Context(), n.fleet.Client, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: n.name}, &m, bus.RequestOptions{})
	return m, err
}

// A pattern that an agent offers before it is admitted allows nothing after that, and is told of once. Labels that
// nobody allowed are offered, and not taken over.
func TestALabelThatIsAPatternAllowsNothing(t *testing.T) {
	g := newGround(t)
	star := g.comes("star")
	star.offers(map[string]string{"*": "x", "a/*": "x", "a,pci": "x", "zone": "a"})
	g.ask(api.VerbAdmit, api.AdmitRequest{Request: string(uuid.NewUUID()), Name: "star"})
	shown, err := star.shown()
	require.NoError(t, err)
	require.Equal(t, "zone", shown.Annotations[api.AnnotationAgentLabels])

	star.offers(map[string]string{"*": "x", "a/b": "x", "env": "prod", "pci": "true", "zone": "b"})
	bustest.Eventually(t, func() error {
		if shown, err = star.shown(); err != nil || shown.Status.Labels["zone"] != "b" {
			return fmt.Errorf("the label that is allowed was not taken over: %+v (%w)", shown.Status, err)
		}
		return nil
	})
	require.Equal(t, map[string]string{api.LabelMemberName: "star", "zone": "b"}, shown.Status.Labels)
	require.Equal(t, map[string]string{"a/b": "x", "env": "prod", "pci": "true"}, shown.Status.OfferedLabels)
	g.told("star", liveness.ReasonMisnamed)
	g.lives()
}

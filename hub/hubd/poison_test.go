package hubd_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/configs/secrets"
	"flotilla/core/api"
	"flotilla/hub/hubd"
)

const cheap = `apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: %s}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  policy:
    placementType: PickN
    numberOfClusters: 1
    affinity:
      clusterAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          clusterSelectorTerms: [{propertySelector: {matchExpressions: [{name: cost, operator: Ge, values: ["1"]}]}}]
        preferredDuringSchedulingIgnoredDuringExecution:
        - {weight: 10, preference: {propertySorter: {name: cost, sortOrder: Ascending}}}
`

// poisoned is a fleet of two members, of whom evil reports an amount that costs minutes to calculate with.
type poisoned struct {
	t      *testing.T
	client *bus.Conn
}

func (p *poisoned) ask(verb string, request, answer any) error {
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
	defer cancel()
	return bus.Request(ctx, p.client, verb, request, answer, bus.RequestOptions{})
}

func (p *poisoned) beat(agent *member.Conn, cost string) {
	p.t.Helper()
	require.NoError(p.t, agent.PutHeartbeat(bustest.Context(p.t), api.Heartbeat{
		Header: api.NewHeader(api.KindHeartbeat), Member: agent.Member(), Healthy: true, AgentVersion: "v1", IntervalSeconds: 15,
		Properties: map[string]string{"cost": cost, "tier": "gold"},
	}))
}

// scheduled applies a placement, which good is picked for, and asks why evil was not.
func (p *poisoned) scheduled(name string) {
	p.t.Helper()
	document, err := yaml.YAMLToJSON([]byte(fmt.Sprintf(cheap, name)))
	require.NoError(p.t, err)
	require.NoError(p.t, p.ask(api.VerbApply, api.ApplyRequest{Request: name, Documents: []json.RawMessage{document}}, nil))
	bustest.Eventually(p.t, func() error {
		var shown struct{ Status api.PlacementStatus }
		if err := p.ask(api.VerbGet, api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: name}, &shown); err != nil {
			return err
		}
		for _, m := range shown.Status.PlacementStatuses {
			if m.ClusterName == "good" {
				return nil
			}
		}
		return errors.New("good is not picked yet")
	})
	var answer json.RawMessage
	require.NoError(p.t, p.ask(api.VerbWhy, api.WhyRequest{Placement: name, Member: "evil"}, &answer))
	require.Contains(p.t, string(answer), "1e-999999999")
	require.NoError(p.t, p.ask(api.VerbList, api.ListRequest{Kind: api.KindMemberCluster}, &answer))
	require.Contains(p.t, string(answer), `"tier"`)
}

// One heartbeat of one member with a poisonous amount costs nobody anything: its other properties count, it is
// named, others are scheduled, also by the next hub, which starts on it.
func TestAPoisonousAmountOfOneMember(t *testing.T) {
	server := bustest.Start(t)
	o := hubd.Options{
		Fleet: bustest.Fleet, Log: zerolog.Nop(), Bus: server.TCP(), Secrets: secrets.Source{Text: bustest.Secrets}, Name: "first", Metrics: "127.0.0.1:0",
		Lead: store.LeadOptions{TTL: 2 * time.Second, Renew: 300 * time.Millisecond, Margin: 500 * time.Millisecond, Poll: 100 * time.Millisecond},
	}
	first := start(t, o)
	leading(t, first)
	p := &poisoned{t: t, client: server.Client(t)}
	good, evil := server.Agent(t, "good"), server.Agent(t, "evil")
	for _, agent := range []*member.Conn{good, evil} {
		require.NoError(t, p.ask(api.VerbAdmit, api.AdmitRequest{Request: agent.Member(), Name: agent.Member()}, nil))
	}
	p.beat(good, "2")
	p.beat(evil, "1e-999999999")
	bustest.EventsUntil(t, server.Inspector(t), "member/evil", `PropertyUnreadable: cost is "1e-999999999": not within 40 characters, ±1e30 and 18 digits `+
		"behind the point, so it counts as no number; the agent has to report another value")
	p.scheduled("web")
	require.Contains(t, scraped(t, first), "flotilla_unreadable_properties 1")

	first.Stop()
	o.Name = "second"
	leading(t, start(t, o))
	p.beat(good, "3")
	p.beat(evil, "1e-999999999")
	p.scheduled("bank")
}

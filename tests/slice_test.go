// Package tests holds the tests of the whole house: hub, agents and broker in one process, seen through
// the api and through what the members in memory hold.
package tests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/agent/target/memory"
	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/configs"
	"flotilla/configs/secrets"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

// slice is a small fleet and a client in front of it.
type slice struct {
	t     testing.TB
	fleet *dev.Fleet
}

func newSlice(t testing.TB, members ...string) *slice {
	t.Helper()
	return newSliceWith(t, func(*dev.Options) {}, members...)
}

// newSliceWith is a slice whose options are changed before it starts.
func newSliceWith(t testing.TB, change func(*dev.Options), members ...string) *slice {
	t.Helper()
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	o := dev.Options{Log: log, Hub: hubd.Options{Now: elsewhen.Now, Fleet: "test", Secrets: secrets.Source{Text: bustest.Secrets}, Log: log, Server: &server.Options{Dir: t.TempDir(), Port: -1}, Policy: hubd.Policy{DeleteTimeout: 5 * time.Second}}}
	for _, name := range members {
		o.Members = append(o.Members, inMemory(name))
	}
	change(&o)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	fleet, err := dev.Start(ctx, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Stop()) })
	s := &slice{t: t, fleet: fleet}
	for _, name := range members {
		s.ask(api.VerbAdmit, api.AdmitRequest{Request: string(uuid.NewUUID()), Name: name}, nil)
	}
	return s
}

func inMemory(name string) configs.Agent {
	agent := configs.DefaultAgent()
	agent.Member = name
	agent.Target.Memory.Nodes = []configs.Nodes{{Name: "n", Count: 2, CPU: "4", Memory: "8Gi"}}
	agent.Target.Memory.ReadyAfter = configs.Duration(10 * time.Millisecond)
	return agent
}

func (s *slice) ask(verb string, request, answer any) {
	s.t.Helper()
	require.NoError(s.t, bus.Request(s.t.Context(), s.fleet.Client, verb, request, answer, bus.RequestOptions{}))
}

func (s *slice) apply(text string) {
	s.t.Helper()
	require.NoError(s.t, s.tryToApply(text))
}

func (s *slice) tryToApply(text string) error {
	s.t.Helper()
	documents, err := configs.Parse("slice", []byte(text))
	require.NoError(s.t, err)
	request := api.ApplyRequest{Request: string(uuid.NewUUID())}
	for _, document := range documents {
		request.Documents = append(request.Documents, document.JSON)
	}
	return bus.Request(s.t.Context(), s.fleet.Client, api.VerbApply, request, nil, bus.RequestOptions{})
}

func (s *slice) status(placement string) (*api.PlacementStatus, error) {
	var shown struct {
		Status *api.PlacementStatus `json:"status"`
	}
	request := api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: placement}
	err := bus.Request(s.t.Context(), s.fleet.Client, api.VerbGet, request, &shown, bus.RequestOptions{})
	if err == nil && shown.Status == nil {
		err = errors.New("no status yet")
	}
	return shown.Status, err
}

// converges waits until a placement is available on so many members with that snapshot, and nowhere
// else.
func (s *slice) converges(placement string, members int, snapshot string) *api.PlacementStatus {
	s.t.Helper()
	var last *api.PlacementStatus
	bustest.EventuallyIn(s.t, 30*time.Second, func() error {
		status, err := s.status(placement)
		if err != nil {
			return err
		}
		last = status
		c := status.Counts
		if c.Picked != members || c.Current != members || c.Available != members || status.ObservedSnapshot != snapshot {
			text, _ := json.Marshal(status)
			return fmt.Errorf("%s", text)
		}
		return nil
	})
	return last
}

// ready counts the members that are.
func (s *slice) ready() (int, error) {
	var fleet api.FleetStatus
	err := bus.Request(s.t.Context(), s.fleet.Client, api.VerbStatus, nil, &fleet, bus.RequestOptions{})
	return fleet.Members[string(api.MemberReady)], err
}

// holds says what a member has under a placement's namespace, as "Kind/name".
func (s *slice) holds(member, namespace string) map[string]string {
	held := map[string]string{}
	for _, object := range s.memory(member).Objects() {
		if object.GetNamespace() == namespace {
			settings, _ := object.Object["data"].(map[string]any)
			value, _ := settings["a"].(string)
			held[object.GetKind()+"/"+object.GetName()] = value
		}
	}
	return held
}

func (s *slice) memory(member string) *memory.Member { return s.fleet.Agent(member).Memory() }

const shop = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {a: "%s"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: web}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  policy: {placementType: PickN, numberOfClusters: %d}
  strategy: {rollingUpdate: {maxUnavailable: 1, unavailablePeriodSeconds: 1}}
`

// The whole way of a placement: YAML in at the door, objects on members, their state back at the door;
// then a change of content, of the number of members, and the end.
func TestSlice(t *testing.T) {
	s := newSlice(t, "berlin", "oslo", "paris")
	s.apply(fmt.Sprintf(shop, "1", 2))
	status := s.converges("web", 2, "1")
	for _, condition := range status.Conditions {
		require.Equal(t, "True", string(condition.Status), condition.Type)
	}
	require.Len(t, status.SelectedResources, 3)
	require.Len(t, status.PlacementStatuses, 2)
	var on []string
	for _, member := range status.PlacementStatuses {
		on = append(on, member.ClusterName)
		require.Equal(t, map[string]string{"ConfigMap/settings": "1", "Deployment/web": ""}, s.holds(member.ClusterName, "shop"))
	}

	s.apply(fmt.Sprintf(shop, "2", 2))
	s.converges("web", 2, "2")
	for _, member := range on {
		require.Equal(t, "2", s.holds(member, "shop")["ConfigMap/settings"])
	}

	s.apply(fmt.Sprintf(shop, "2", 3))
	s.converges("web", 3, "2")
	require.Len(t, s.holds("berlin", "shop"), 2)

	s.ask(api.VerbDelete, api.DeleteRequest{
		Request: "delete", Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "web"},
	}, nil)
	bustest.EventuallyIn(t, 20*time.Second, func() error {
		for _, member := range s.fleet.Members() {
			if held := s.holds(member, "shop"); len(held) > 0 {
				return fmt.Errorf("%s still holds %v", member, held)
			}
		}
		if _, err := s.status("web"); err == nil {
			return errors.New("the placement is still there")
		}
		return nil
	})
}

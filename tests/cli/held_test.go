package cli_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

// TestHeld runs the scripts about a rollout that one member holds up: on oslo no Deployment ever becomes
// available.
func TestHeld(t *testing.T) {
	runScripts(t, "held", func(t *testing.T) *runner {
		fleet := startHurried(t, "stuck=Deployment")
		admitAll(t, fleet)
		return &runner{env: liveEnvironment(fleet), mask: maskLive}
	})
}

// TestAway runs the scripts about a member that is away: oslo got what the others got, and its agent ended.
func TestAway(t *testing.T) {
	runScripts(t, "away", func(t *testing.T) *runner {
		fleet := startHurried(t)
		admitAll(t, fleet)
		applyAll(t, fleet, everywhere)
		status := func() *api.PlacementStatus {
			var p api.Placement
			request := api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: "shop"}
			if err := bus.Request(t.Context(), fleet.Client, api.VerbGet, request, &p, bus.RequestOptions{}); err != nil || p.Status == nil {
				return &api.PlacementStatus{}
			}
			return p.Status
		}
		until(t, func() bool { return status().Counts.Available == 3 })
		require.NoError(t, fleet.StopAgent("oslo"))
		until(t, func() bool { return status().Counts.Available == 2 })
		return &runner{env: liveEnvironment(fleet), mask: maskLive}
	})
}

// everywhere is content with a placement on every member.
const everywhere = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}
---
{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":"shop"},
 "spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"shop"}]}}`

// startHurried is a fleet of three whose hub judges at once, and misses a member after five heartbeats; oslo
// has faults.
func startHurried(t *testing.T, faults ...string) *dev.Fleet {
	t.Helper()
	members := []configs.Agent{member("berlin", "eu", "8", 3), member("oslo", "eu", "4", 6), member("tampa", "us", "16", 9)}
	for i := range members {
		members[i].HeartbeatInterval = configs.Duration(time.Second)
		members[i].Target.Memory.ReadyAfter = configs.Duration(100 * time.Millisecond)
		members[i].Target.Memory.Faults = nil
		if members[i].Member == "oslo" {
			members[i].Target.Memory.Faults = faults
		}
	}
	fleet, err := dev.Start(t.Context(), dev.Options{
		Hub: hubd.Options{
			Now: elsewhen.Now, Server: &server.Options{Dir: t.TempDir(), Port: -1, Log: zerolog.Nop()}, Log: zerolog.Nop(),
			Policy: hubd.Policy{Grace: time.Millisecond, MemberTimeout: 5 * time.Second, DeleteTimeout: 5 * time.Second},
		},
		Members: members, Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Stop()) })
	return fleet
}

func admitAll(t *testing.T, fleet *dev.Fleet) {
	t.Helper()
	all := func(state api.MemberState) func() bool {
		return func() bool {
			var s api.FleetStatus
			err := bus.Request(t.Context(), fleet.Client, api.VerbStatus, struct{}{}, &s, bus.RequestOptions{})
			return err == nil && s.Members[string(state)] == len(fleet.Members())
		}
	}
	until(t, all(api.MemberJoining)) // from then on it is known which labels they offer
	for _, name := range fleet.Members() {
		bustest.Eventually(t, func() error {
			request := api.AdmitRequest{Request: name, Name: name}
			return bus.Request(t.Context(), fleet.Client, api.VerbAdmit, request, nil, bus.RequestOptions{})
		})
	}
	until(t, all(api.MemberReady))
}

func applyAll(t *testing.T, fleet *dev.Fleet, documents string) {
	t.Helper()
	request := api.ApplyRequest{}
	for text := range strings.SplitSeq(documents, "---\n") {
		request.Documents = append(request.Documents, json.RawMessage(text))
	}
	var reply api.ApplyResponse
	require.NoError(t, bus.Request(t.Context(), fleet.Client, api.VerbApply, request, &reply, bus.RequestOptions{}))
}

func until(t *testing.T, met func() bool) {
	t.Helper()
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		if !met() {
			return errors.New("not yet")
		}
		return nil
	})
}

package tests

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"
)

// damage takes records of state away as a damaged file does, and the lease, so that a hub takes over.
func (s *slice) damage(keys ...string) {
	s.t.Helper()
	server := s.fleet.Hub.Server()
	c, err := bus.ConnectHub(bustest.Context(s.t), bus.Options{Fleet: "test", URL: server.URL(), Creds: server.HubCreds(), Log: zerolog.Nop()})
	require.NoError(s.t, err)
	defer c.Close()
	purge := func(bucket, key string) {
		stream, err := c.JS.Stream(s.t.Context(), c.Fleet.BucketStream(bucket))
		require.NoError(s.t, err)
		require.NoError(s.t, stream.Purge(s.t.Context(), jetstream.WithPurgeSubject(c.Fleet.BucketSubject(bucket, key))))
	}
	for _, key := range keys {
		purge(subjects.State, key)
	}
	purge(subjects.Lease, subjects.LeaseKey)
}

// fleetStatus waits until the status of the fleet is as wanted.
func (s *slice) fleetStatus(wanted func(*api.FleetStatus) error) *api.FleetStatus {
	s.t.Helper()
	var found api.FleetStatus
	bustest.EventuallyIn(s.t, 40*time.Second, func() error {
		found = api.FleetStatus{}
		if err := bus.Request(s.t.Context(), s.fleet.Client, api.VerbStatus, nil, &found, bus.RequestOptions{}); err != nil {
			return err
		}
		return wanted(&found)
	})
	return &found
}

func damaged(status *api.FleetStatus) error {
	if status.Damage == "" {
		return errors.New("state counts as whole")
	}
	return nil
}

// Records of state are gone under a running fleet. No hub leads: it says what is gone, and refuses everything
// else. When the loss is accepted it leads again, and members keep what they run, also of what is gone, until that
// is given again.
func TestDamagedStateIsNamedAndTearsNothingDown(t *testing.T) {
	s := newSlice(t, "berlin", "oslo")
	web, shop := fmt.Sprintf(toFailOver, "web", pickAll, ""), fmt.Sprintf(toFailOver, "shop", pickAll, "")
	s.apply(web)
	s.apply(shop)
	s.converges("web", 2, "1")
	s.converges("shop", 2, "1")

	s.damage(subjects.PlacementSpecs.Key("web"), subjects.MemberSpecs.Key("oslo"))
	status := s.fleetStatus(damaged)
	require.Contains(t, status.Damage, "2 records gone: member oslo, placement web")
	require.Len(t, status.Problems, 1)
	require.Equal(t, api.ReasonStateDamaged, status.Problems[0].Reason)
	require.Contains(t, status.Problems[0].Message, "`flotilla restore FILE`")
	require.Contains(t, status.Problems[0].Message, "`flotilla restore --accept-loss`")
	var refused *api.Failure
	require.ErrorAs(t, s.tryToApply(web), &refused)
	require.Equal(t, api.CodeDamaged, refused.Code)
	require.Contains(t, refused.Message, "placement web")
	for _, v := range api.VerbTable() {
		err := bus.Request(t.Context(), s.fleet.Client, v.Verb, struct{}{}, nil, bus.RequestOptions{})
		answered := slices.Contains([]string{api.VerbStatus, api.VerbVersion, api.VerbBackup, api.VerbRestore, api.VerbRaw, api.VerbKey}, v.Verb)
		require.Equal(t, !answered, errors.As(err, &refused) && refused.Code == api.CodeDamaged, "%s: %v", v.Verb, err)
	}
	var left api.RawResponse
	s.ask(api.VerbRaw, api.RawRequest{Bucket: subjects.State, Key: subjects.Schedules.Key("shop")}, &left)
	require.Contains(t, string(left.Value), `"berlin"`, "what is left can be looked at")

	var answer api.RestoreResponse
	s.ask(api.VerbRestore, api.RestoreRequest{AcceptLoss: true}, &answer)
	require.Equal(t, status.Damage, answer.Damage)
	unlisted := func(status *api.FleetStatus) error {
		for _, p := range status.Problems {
			if p.Reason == "Unlisted" && p.Object == "member/berlin" {
				return nil
			}
		}
		return fmt.Errorf("berlin reports nothing unlisted: %+v", status.Problems)
	}
	s.fleetStatus(unlisted)
	for _, member := range []string{"berlin", "oslo"} {
		require.Contains(t, s.namespaces(member), "web", member)
		require.Contains(t, s.namespaces(member), "shop", member)
	}
	var events api.EventsResponse
	s.ask(api.VerbEvents, api.EventsRequest{Object: "fleet/state"}, &events)
	require.Len(t, events.Events, 1)
	require.Contains(t, events.Events[0].Message, "placement web")
	require.Equal(t, subjects.FirstPerson, events.Events[0].By)
	require.NotEmpty(t, events.Events[0].From, "the address")

	s.ask(api.VerbAdmit, api.AdmitRequest{Request: "again", Name: "oslo"}, nil)
	s.apply(web)
	s.converges("web", 2, "1")
	s.converges("shop", 2, "1")
}

// namespaces are the namespaces that a member has.
func (s *slice) namespaces(member string) []string {
	var names []string
	for _, object := range s.memory(member).Objects() {
		if object.GetKind() == "Namespace" {
			names = append(names, object.GetName())
		}
	}
	return names
}

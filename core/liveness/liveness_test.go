package liveness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// member returns the input of an admitted, healthy member that was heard of just now, by a hub that
// has been able to read heartbeats for an hour.
func member(change func(*Input)) Input {
	in := Input{
		Name:          "berlin",
		Spec:          &api.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "berlin", UID: "u1"}},
		Heartbeat:     &api.Heartbeat{Header: api.NewHeader(api.KindHeartbeat), Member: "berlin", Healthy: true, AgentVersion: "v1"},
		ReadableSince: now.Add(-time.Hour),
		Written:       now.Add(-time.Hour),
		Thresholds:    DefaultThresholds(),
		Now:           now,
	}
	if change != nil {
		change(&in)
	}
	return in
}

// recorded adds the record that the hub made of the member while it was in some state.
func recorded(state api.MemberState) *api.MemberRecord {
	return &api.MemberRecord{
		Name: "berlin", UID: "u1", State: state, Reason: "Earlier", Message: "as it was", Since: metav1.NewTime(now.Add(-time.Hour)),
		LastSeen: metav1.NewTime(now.Add(-time.Hour)),
	}
}

func leaving(when string) *api.MemberCluster {
	asked := metav1.NewTime(now)
	mc := &api.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "berlin", UID: "u1", DeletionTimestamp: &asked}}
	mc.Spec.DeleteOptions = &api.DeleteOptions{WhenLeaving: when}
	return mc
}

func TestJudge(t *testing.T) {
	const timeout, grace = 5 * time.Minute, time.Minute
	for name, c := range map[string]struct {
		in   Input
		want Verdict
	}{
		"healthy": {member(nil), Verdict{
			State: api.MemberReady, Reason: ReasonHealthy, Message: "sends heartbeats and is healthy", Recheck: now.Add(timeout + time.Millisecond),
		}},
		"revoked": {member(func(in *Input) {
			in.Heartbeat, in.Previous, in.ReadableSince = nil, recorded(api.MemberReady), now
			at := metav1.NewTime(now)
			in.Identity = &api.Identity{Name: "berlin", Revoked: &at, RevokedBy: "anna"}
		}), Verdict{
			State: api.MemberUnknown, Reason: ReasonRevoked,
			Message: "its agent was revoked at 2026-11-20T12:00:00Z by anna; for another: flotilla member enrol berlin > berlin.token",
		}},
		"two agents": {member(func(in *Input) { in.DoubledUntil = now.Add(time.Second) }), Verdict{
			State: api.MemberNotReady, Reason: ReasonTwoAgents, Message: twoAgentsText("berlin"), Recheck: now.Add(time.Second),
		}},
		"two agents, of which one was stopped": {member(func(in *Input) { in.DoubledUntil = now }), Verdict{
			State: api.MemberReady, Reason: ReasonHealthy, Message: "sends heartbeats and is healthy", Recheck: now.Add(timeout + time.Millisecond),
		}},
		"revoked and heard all the same": {member(func(in *Input) {
			at := metav1.NewTime(now)
			in.Identity = &api.Identity{Name: "berlin", Revoked: &at, RevokedBy: "anna"}
		}), Verdict{
			State: api.MemberReady, Reason: ReasonHealthy, Message: "sends heartbeats and is healthy", Recheck: now.Add(timeout + time.Millisecond),
		}},
		"not admitted": {member(func(in *Input) { in.Spec = nil }), Verdict{
			State: api.MemberJoining, Reason: ReasonNotAdmitted, Recheck: now.Add(timeout + time.Millisecond),
			Message: "its agent sends heartbeats, but nobody admitted it; to admit it: flotilla member admit berlin",
		}},
		"never seen": {member(func(in *Input) { in.Heartbeat = nil }), Verdict{
			State: api.MemberJoining, Reason: ReasonNeverSeen,
			Message: "no heartbeat yet; its agent enrols with a token: flotilla member enrol berlin > berlin.token",
		}},
		"unhealthy": {member(func(in *Input) { in.Heartbeat.Healthy, in.Heartbeat.Message = false, "api server says 500" }), Verdict{
			State: api.MemberNotReady, Reason: ReasonUnhealthy, Message: "its agent says: api server says 500", Recheck: now.Add(timeout + time.Millisecond),
		}},
		"exactly as old as allowed": {member(func(in *Input) { in.Age = timeout }), Verdict{
			State: api.MemberReady, Reason: ReasonHealthy, Message: "sends heartbeats and is healthy", Recheck: now.Add(time.Millisecond),
		}},
		"a little older": {member(func(in *Input) { in.Age = timeout + time.Millisecond }), Verdict{
			State: api.MemberUnknown, Reason: ReasonNoHeartbeat, Message: "no heartbeat for more than 5m0s, last at 2026-11-20T11:54:59Z",
		}},
		"unhealthy and silent": {member(func(in *Input) { in.Age, in.Heartbeat.Healthy = time.Hour, false }), Verdict{
			State: api.MemberUnknown, Reason: ReasonNoHeartbeat, Message: "no heartbeat for more than 5m0s, last at 2026-11-20T11:00:00Z",
		}},
		"silent for long": {member(func(in *Input) { in.Age, in.Previous = time.Hour, recorded(api.MemberUnknown) }), Verdict{
			State: api.MemberUnknown, Reason: ReasonNoHeartbeat, Message: "as it was",
		}},
		"silent, but the broker was away": {member(func(in *Input) {
			in.Age, in.Previous, in.ReadableSince = time.Hour, recorded(api.MemberReady), now.Add(-grace+time.Second)
		}), Verdict{State: api.MemberReady, Reason: "Earlier", Message: "as it was", Recheck: now.Add(time.Second)}},
		"silent, and the broker is back for long": {member(func(in *Input) {
			in.Age, in.Previous, in.ReadableSince = time.Hour, recorded(api.MemberReady), now.Add(-grace)
		}), Verdict{State: api.MemberUnknown, Reason: ReasonNoHeartbeat, Message: "no heartbeat for more than 5m0s, last at 2026-11-20T11:00:00Z"}},
		"heartbeats cannot be read": {member(func(in *Input) {
			in.Age, in.Previous, in.ReadableSince = time.Hour, recorded(api.MemberNotReady), time.Time{}
		}), Verdict{State: api.MemberNotReady, Reason: "Earlier", Message: "as it was"}},
		"Unknown is not lifted by an outage": {member(func(in *Input) {
			in.Age, in.Previous, in.ReadableSince = time.Hour, recorded(api.MemberUnknown), now
		}), Verdict{State: api.MemberUnknown, Reason: ReasonNoHeartbeat, Message: "as it was"}},
		"the heartbeats are lost": {member(func(in *Input) { in.Heartbeat, in.Previous = nil, recorded(api.MemberReady) }), Verdict{
			State: api.MemberUnknown, Reason: ReasonNoHeartbeat, Message: "no heartbeat for more than 5m0s, last at 2026-11-20T11:00:00Z",
		}},
		"leaving": {member(func(in *Input) { in.Spec = leaving("") }), Verdict{
			State: api.MemberLeaving, Reason: ReasonLeaving, Message: "leaves the fleet; what was placed there stays",
		}},
		"leaving with all it has": {member(func(in *Input) { in.Spec, in.Age = leaving(api.WhenLeavingDelete), time.Hour }), Verdict{
			State: api.MemberLeaving, Reason: ReasonLeaving, Message: "leaves the fleet; what was placed there is deleted first",
		}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Judge(c.in)) })
	}
}

// A member is looked at again exactly when the answer changes: a moment before nothing does.
func TestRecheckIsWhenTheAnswerChanges(t *testing.T) {
	for age := time.Duration(0); age <= 5*time.Minute; age += 7 * time.Second {
		in := member(func(in *Input) { in.Age = age })
		at := Judge(in).Recheck
		require.False(t, at.IsZero())
		in.Age, in.Now = age+at.Sub(now), at
		require.Equal(t, api.MemberUnknown, Judge(in).State)
		in.Age, in.Now = in.Age-time.Millisecond, at.Add(-time.Millisecond)
		require.Equal(t, api.MemberReady, Judge(in).State)
	}
}

func TestLabels(t *testing.T) {
	spec := func(allowed string, labels map[string]string) *api.MemberCluster {
		mc := &api.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "berlin", Labels: labels}}
		if allowed != "" {
			mc.Annotations = map[string]string{api.AnnotationAgentLabels: allowed}
		}
		return mc
	}
	own := func(labels map[string]string) map[string]string {
		labels[api.LabelMemberName] = "berlin"
		return labels
	}
	for name, c := range map[string]struct {
		spec               *api.MemberCluster
		offered            map[string]string
		effective, refused map[string]string
	}{
		"nobody admitted it":       {nil, map[string]string{"region": "eu"}, own(map[string]string{}), map[string]string{"region": "eu"}},
		"nothing allowed":          {spec("", nil), map[string]string{"region": "eu"}, own(map[string]string{}), map[string]string{"region": "eu"}},
		"a key":                    {spec("region, zone", nil), map[string]string{"region": "eu", "zone": "1", "env": "prod"}, own(map[string]string{"region": "eu", "zone": "1"}), map[string]string{"env": "prod"}},
		"a prefix":                 {spec("fleet.azure.com/*", nil), map[string]string{"fleet.azure.com/location": "westus", "fleet.azure.community/x": "y"}, own(map[string]string{"fleet.azure.com/location": "westus"}), map[string]string{"fleet.azure.community/x": "y"}},
		"a star within a word":     {spec("reg*", nil), map[string]string{"region": "eu"}, own(map[string]string{}), map[string]string{"region": "eu"}},
		"any":                      {spec("*", nil), map[string]string{"region": "eu"}, own(map[string]string{"region": "eu"}), nil},
		"the spec wins":            {spec("*", map[string]string{"region": "us"}), map[string]string{"region": "eu"}, own(map[string]string{"region": "us"}), nil},
		"nobody takes a name":      {spec("*", map[string]string{api.LabelMemberName: "paris"}), map[string]string{api.LabelMemberName: "rome"}, own(map[string]string{}), nil},
		"the user's labels remain": {spec("", map[string]string{"env": "prod"}), nil, own(map[string]string{"env": "prod"}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			effective, refused := Labels("berlin", c.spec, c.offered)
			require.Equal(t, c.effective, effective)
			require.Equal(t, c.refused, refused)
		})
	}
}

func TestProperties(t *testing.T) {
	require.Nil(t, Properties(nil))
	require.Equal(t, map[string]string{api.PropertyNodeCount: "3", "k8s.io/k8s-version": "v1.33"},
		Properties(map[string]string{api.PropertyNodeCountAKS: "3", "k8s.io/k8s-version": "v1.33"}))
	for range 20 {
		require.Equal(t, map[string]string{api.PropertyNodeCount: "4"},
			Properties(map[string]string{api.PropertyNodeCountAKS: "3", api.PropertyNodeCount: "4"}), "the canonical name counts")
	}
}

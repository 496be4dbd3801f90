package liveness

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// stored gives a record back as it comes out of the bucket.
func stored(t *testing.T, r api.MemberRecord) *api.MemberRecord {
	body, err := json.Marshal(r)
	require.NoError(t, err)
	var out api.MemberRecord
	require.NoError(t, json.Unmarshal(body, &out))
	return &out
}

func TestFirstRecord(t *testing.T) {
	in := member(func(in *Input) {
		in.Spec.Labels = map[string]string{"env": "prod"}
		in.Spec.Annotations = map[string]string{api.AnnotationAgentLabels: "region"}
		in.Age = 1500 * time.Millisecond
		h := in.Heartbeat
		h.Labels = map[string]string{"region": "eu", "tier": "gold"}
		h.Properties = map[string]string{api.PropertyNodeCountAKS: "3"}
		h.Namespaces, h.Unlisted = []string{"shop", "bank"}, []string{"old"}
		h.Nodes, h.KubernetesVersion, h.Holds = 3, "v1.33.1", api.Order{Term: 4, Generation: 2}
	})
	p := Record(in)
	require.True(t, p.Write)
	require.Equal(t, api.MemberRecord{
		Header: api.NewHeader(api.KindMemberRecord), Name: "berlin", UID: "u1",
		State: api.MemberReady, Since: metav1.NewTime(now), Reason: ReasonHealthy, Message: "sends heartbeats and is healthy",
		Healthy: "True", HealthySince: metav1.NewTime(now), LastSeen: metav1.NewTime(now.Add(-1500 * time.Millisecond)).Rfc3339Copy(),
		Labels:        map[string]string{"env": "prod", "region": "eu", api.LabelMemberName: "berlin"},
		OfferedLabels: map[string]string{"tier": "gold"},
		Properties:    map[string]string{api.PropertyNodeCount: "3"},
		Namespaces:    []string{"bank", "shop"}, AgentVersion: "v1", AgentLevel: api.Level, KubernetesVersion: "v1.33.1", Nodes: 3,
		Holds: api.Order{Term: 4, Generation: 2}, Unlisted: []string{"old"},
	}, p.Record)
	require.Len(t, p.Events, 1)
	require.Equal(t, "MemberReady", p.Events[0].Reason)
	require.Equal(t, "Ready, was new: sends heartbeats and is healthy", p.Events[0].Message)
}

// after returns the input that follows the writing of in's record, some time later.
func after(t *testing.T, in Input, later time.Duration, change func(*Input)) Input {
	p := Record(in)
	require.True(t, p.Write)
	next := in
	heartbeat := *in.Heartbeat
	next.Heartbeat, next.Previous, next.Written, next.Now = &heartbeat, stored(t, p.Record), in.Now, in.Now.Add(later)
	change(&next)
	return next
}

func TestHeartbeatsAloneAreNotWritten(t *testing.T) {
	for _, later := range []time.Duration{time.Second, time.Minute, time.Hour} {
		p := Record(after(t, member(nil), later, func(in *Input) { in.Heartbeat.Sequence++ }))
		require.False(t, p.Write, "after %s", later)
		require.Empty(t, p.Events)
	}
}

func TestPropertiesAreWrittenSeldom(t *testing.T) {
	change := func(in *Input) { in.Heartbeat.Properties = map[string]string{"cost": "2"} }
	p := Record(after(t, member(nil), 14*time.Second, change))
	require.False(t, p.Write)
	require.Equal(t, now.Add(15*time.Second), p.Recheck)

	p = Record(after(t, member(nil), 15*time.Second, change))
	require.True(t, p.Write)
	require.Empty(t, p.Events, "the state did not change")
	require.Equal(t, map[string]string{"cost": "2"}, p.Record.Properties)

	for what, change := range map[string]func(*Input){
		"nodes": func(in *Input) { in.Heartbeat.Nodes = 9 },
		"holds": func(in *Input) { in.Heartbeat.Holds = api.Order{Term: 9} },
	} {
		require.False(t, Record(after(t, member(nil), 14*time.Second, change)).Write, what)
		require.True(t, Record(after(t, member(nil), 15*time.Second, change)).Write, what)
	}

	// Before this process wrote anything, nothing is held back.
	in := after(t, member(nil), time.Second, change)
	in.Written = time.Time{}
	require.True(t, Record(in).Write)
}

func TestWhatIsWrittenAtOnce(t *testing.T) {
	for name, change := range map[string]func(*Input){
		"health":             func(in *Input) { in.Heartbeat.Healthy = false },
		"silence":            func(in *Input) { in.Age = time.Hour },
		"an agent's version": func(in *Input) { in.Heartbeat.AgentVersion = "v2" },
		"an agent's level":   func(in *Input) { in.Heartbeat.Level = 2 },
		"kubernetes":         func(in *Input) { in.Heartbeat.KubernetesVersion = "v1.34" },
		"offered labels":     func(in *Input) { in.Heartbeat.Labels = map[string]string{"a": "b"} },
		"unlisted":           func(in *Input) { in.Heartbeat.Unlisted = []string{"web"} },
		"namespaces":         func(in *Input) { in.Heartbeat.Namespaces = []string{"web"} },
		"leaving":            func(in *Input) { in.Spec = leaving("") },
		"another uid":        func(in *Input) { in.Spec = &api.MemberCluster{ObjectMeta: metav1.ObjectMeta{UID: "u2"}} },
		"a user's label": func(in *Input) {
			in.Spec = &api.MemberCluster{ObjectMeta: metav1.ObjectMeta{UID: "u1", Labels: map[string]string{"a": "b"}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.True(t, Record(after(t, member(nil), time.Second, change)).Write)
		})
	}
}

func TestTimesTurnWithWhatTheyBelongTo(t *testing.T) {
	in := after(t, member(nil), time.Minute, func(in *Input) { in.Heartbeat.Healthy = false })
	p := Record(in)
	require.Equal(t, in.Now, p.Record.Since.Time)
	require.Equal(t, in.Now, p.Record.HealthySince.Time)
	require.Equal(t, "Warning", p.Events[0].Type)
	require.Equal(t, "NotReady, was Ready: its agent says that the member is not healthy", p.Events[0].Message)

	silent := after(t, in, time.Hour, func(in *Input) { in.Age = time.Hour })
	p = Record(silent)
	require.Equal(t, api.MemberUnknown, p.Record.State)
	require.Equal(t, silent.Now, p.Record.Since.Time)
	require.Equal(t, in.Now, p.Record.HealthySince.UTC(), "health is as it was said last")
	require.Equal(t, in.Now, p.Record.LastSeen.UTC())

	back := after(t, silent, time.Hour, func(in *Input) { in.Age, in.Heartbeat.Healthy = 0, true })
	p = Record(back)
	require.Equal(t, api.MemberReady, p.Record.State)
	require.Equal(t, back.Now, p.Record.LastSeen.UTC())
}

// A member that is NotReady already is told of once more when a second agent is noticed, and when that is gone.
func TestTwoAgentsAreAnEventOfTheirOwn(t *testing.T) {
	in := member(func(in *Input) { in.Heartbeat.Healthy = false })
	two := after(t, in, time.Minute, func(in *Input) { in.DoubledUntil = in.Now.Add(time.Minute) })
	p := Record(two)
	require.Len(t, p.Events, 1)
	require.Equal(t, "NotReady, was NotReady: "+twoAgentsText("berlin"), p.Events[0].Message)
	still := after(t, two, time.Second, func(in *Input) { in.DoubledUntil = in.Now.Add(time.Minute) })
	require.Empty(t, Record(still).Events)
	gone := after(t, two, time.Hour, func(in *Input) { in.DoubledUntil = time.Time{} })
	p = Record(gone)
	require.Len(t, p.Events, 1)
	require.Contains(t, p.Events[0].Message, "NotReady, was NotReady: ")
	require.Empty(t, Record(after(t, gone, time.Second, func(in *Input) { in.Heartbeat.Message = "disk" })).Events)
}

// However often a silent member is looked at, nothing changes: neither by the rounding of ages nor by
// the passing of time.
func TestSilenceIsWrittenOnce(t *testing.T) {
	in := after(t, member(func(in *Input) { in.Age = 6 * time.Minute }), 0, func(*Input) {})
	for i := range 100 {
		in.Now = in.Now.Add(time.Minute)
		in.Age += time.Minute + time.Duration(i%7-3)*time.Millisecond
		require.False(t, Record(in).Write)
	}
}

func TestRemoval(t *testing.T) {
	gone := func(change func(*Input)) Input {
		return member(func(in *Input) {
			in.Spec, in.Previous = nil, recorded(api.MemberLeaving)
			change(in)
		})
	}
	p := Record(gone(func(in *Input) { in.Heartbeat = nil }))
	require.True(t, p.Remove)
	require.Equal(t, "MemberGone", p.Events[0].Reason)
	require.True(t, Record(gone(func(in *Input) { in.Age = 6 * time.Minute })).Remove)

	p = Record(gone(func(in *Input) { in.Age = 4 * time.Minute }))
	require.False(t, p.Remove, "its agent still speaks")
	require.Equal(t, api.MemberJoining, p.Record.State)
	require.Empty(t, p.Record.UID)
	require.False(t, Record(gone(func(in *Input) { in.Age, in.ReadableSince = 6*time.Minute, now })).Remove, "the broker was away")

	p = Record(Input{Name: "berlin", Now: now, Thresholds: DefaultThresholds()})
	require.True(t, p.Remove)
	require.Empty(t, p.Events, "nothing was known of it")
}

// While its heartbeat is lost, a member keeps the labels that it is known to have offered.
func TestLabelsOutliveTheHeartbeat(t *testing.T) {
	in := member(func(in *Input) {
		in.Spec.Annotations = map[string]string{api.AnnotationAgentLabels: "region"}
		in.Heartbeat.Labels = map[string]string{"region": "eu", "tier": "gold"}
	})
	want := Record(in).Record
	p := Record(after(t, in, time.Hour, func(in *Input) { in.Heartbeat = nil }))
	require.Equal(t, want.Labels, p.Record.Labels)
	require.Equal(t, want.OfferedLabels, p.Record.OfferedLabels)
}

// Whatever a member does, deciding again after a write writes nothing.
func TestDecidingTwiceWritesOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	in := member(nil)
	for range 3000 {
		in.Now = in.Now.Add(time.Duration(rng.IntN(90)) * time.Second)
		in.Age += time.Duration(rng.IntN(90)) * time.Second
		switch rng.IntN(8) {
		case 0, 1, 2:
			in.Age = 0
		case 3:
			h := *in.Heartbeat
			h.Healthy = !h.Healthy
			h.Properties = map[string]string{"load": string(rune('a' + rng.IntN(20)))}
			in.Heartbeat = &h
		case 4:
			in.ReadableSince = in.Now
		case 5:
			in.Spec = []*api.MemberCluster{nil, leaving(""), {ObjectMeta: metav1.ObjectMeta{Name: "berlin", UID: "u1"}}}[rng.IntN(3)]
		}
		p := Record(in)
		if p.Remove {
			in.Previous = nil
			require.True(t, Record(in).Remove)
			continue
		}
		if p.Write {
			in.Previous, in.Written = stored(t, p.Record), in.Now
		}
		again := Record(in)
		require.False(t, again.Write)
		require.Empty(t, again.Events)
		if !again.Recheck.IsZero() {
			require.True(t, again.Recheck.After(in.Now), "looks again at once, for ever")
		}
	}
}

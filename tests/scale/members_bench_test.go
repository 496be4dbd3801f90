package main

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/liveness"
	"flotilla/core/rollout"
	"flotilla/core/schedule"
	"flotilla/core/status"
)

// paper is one placement of a fleet that is not there: what is decided about all of its members, and written.
type paper struct {
	members []api.Member
	in      schedule.Input
	roll    rollout.Input
	told    status.Input
	results []*api.PlacementResult
}

var paperNow = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func paperFleet(n int) *paper {
	p := &paper{members: make([]api.Member, n)}
	p.told = status.Input{Latest: &api.Snapshot{UID: "u1", Index: 1, Created: metav1.NewTime(paperNow), Work: digest(1)}, Members: map[string]status.Member{}, Now: paperNow}
	p.told.Placement.Name, p.told.Placement.UID, p.told.Placement.Generation = "web", "u1", 1
	p.roll = rollout.Input{Placement: p.told.Placement, Latest: p.told.Latest, Members: map[string]rollout.MemberView{}, Now: paperNow}
	for i := range p.members {
		name := fmt.Sprintf("member-%06d", i)
		p.members[i] = api.Member{
			Name: name, HasAgent: true, Joined: "True", Healthy: "True", LastHeartbeat: paperNow, HealthChanged: paperNow.Add(-time.Hour),
			Labels:     map[string]string{api.LabelMemberName: name, "region": fmt.Sprintf("r%d", i%5), "grp": fmt.Sprintf("g%d", i%10)},
			Properties: map[string]string{api.PropertyNodeCount: fmt.Sprint(1 + i%50), "k8s.io/k8s-version": "v1.36.2"},
		}
		p.told.Members[name], p.roll.Members[name] = status.Member{State: api.MemberReady}, rollout.MemberView{State: api.MemberReady}
		p.results = append(p.results, &api.PlacementResult{
			Header: api.NewHeader(api.KindPlacementResult), Member: name, Placement: "web", UID: "u1", Generation: 1, Snapshot: 1, Work: digest(1),
			Total: 3, Applied: "True", Available: "True", Changed: metav1.NewTime(paperNow),
		})
	}
	p.in = schedule.Input{Placement: "web", UID: "u1", Generation: 1, Fleet: schedule.NewFleet(p.members...), Now: paperNow}
	return p
}

// digest is the name of a content: sixty-four digits that do not compress.
func digest(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	return fmt.Sprintf("%016x%016x%016x%016x", r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64())
}

// BenchmarkMembers takes one placement on every member of a fleet through core and codecs, without a server: each
// step tells its time a member, and what is written how long it is, by member, as JSON and as it is stored. Where
// "fits" is 0, a hub could not store it.
func BenchmarkMembers(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := paperFleet(n)
			plan := schedule.Schedule(p.in)
			require.Len(b, plan.Bindings, n)
			scheduled := plan.Schedule(p.in)
			p.roll.Schedule, p.told.Schedule = &scheduled, &scheduled
			released := rollout.Next(p.roll)
			require.Len(b, released.Advance, n)
			p.told.Release = &released.Release

			p.step(b, "schedule", func() { plan = schedule.Schedule(p.in) })
			p.record(b, "verdicts", &plan.Verdicts)
			p.record(b, "bindings", &scheduled)
			p.step(b, "rollout", func() { released = rollout.Next(p.roll) })
			p.record(b, "release", &released.Release)
			fold := status.NewFold(p.told, func(string) (*api.PlacementResult, status.Member) { return nil, status.Member{State: api.MemberReady} })
			p.step(b, "results", func() {
				for _, r := range p.results {
					fold.Hear(r.Member, r, status.Member{State: api.MemberReady})
				}
			})
			told, _ := fold.Follow(nil, paperNow, paperNow)
			require.Equal(b, n, told.Counts.Available)
			p.record(b, "status", &told)
			p.heartbeats(b)
		})
	}
}

// step repeats a step over all members and reports its time by member.
func (p *paper) step(b *testing.B, name string, do func()) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		before := processor(b)
		for b.Loop() {
			do()
		}
		p.perMember(b, before)
	})
}

// perMember reports the processor time since so many seconds of it, which other work on the machine changes little.
func (p *paper) perMember(b *testing.B, before float64) {
	b.ReportMetric((processor(b)-before)*1e9/float64(b.N)/float64(len(p.members)), "cpu-ns/member")
}

// record writes a record as a room does.
func (p *paper) record(b *testing.B, name string, value any) {
	b.Run(name, func(b *testing.B) {
		var text, stored []byte
		var refused error
		before := processor(b)
		for b.Loop() {
			var err error
			text, err = bus.Encode(value)
			require.NoError(b, err)
			stored, refused = bus.RecordBounds.Pack(text)
		}
		fits := 1.0
		if refused != nil || len(stored) > bus.MaxValue {
			fits = 0
		}
		n := float64(len(p.members))
		p.perMember(b, before)
		b.ReportMetric(float64(len(text))/n, "B/member")
		b.ReportMetric(float64(len(stored))/1024, "KiB-stored")
		b.ReportMetric(fits, "fits")
	})
}

// heartbeats reads one of every member and makes its record.
func (p *paper) heartbeats(b *testing.B) {
	sent := make([][]byte, len(p.members))
	for i := range p.members {
		m := &p.members[i]
		text, err := bus.Encode(&api.Heartbeat{
			Header: api.NewHeader(api.KindHeartbeat), Member: m.Name, Boot: "b", Sequence: 2, AgentVersion: "1", KubernetesVersion: "v1.36.2",
			IntervalSeconds: 15, Labels: m.Labels, Properties: m.Properties, Namespaces: []string{"default", "kube-system", "web"}, Nodes: 1 + i%50, Healthy: true,
		})
		require.NoError(b, err)
		sent[i] = text
	}
	p.step(b, "heartbeats", func() {
		for i, text := range sent {
			var h api.Heartbeat
			require.NoError(b, bus.Decode(text, bus.HeartbeatBounds, &h))
			spec := &api.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: h.Member, Labels: h.Labels}}
			plan := liveness.Record(liveness.Input{
				Name: p.members[i].Name, Spec: spec, Heartbeat: &h, ReadableSince: paperNow.Add(-time.Hour), Thresholds: liveness.DefaultThresholds(), Now: paperNow,
			})
			require.True(b, plan.Write)
		}
	})
}

// processor is the processor time that this process has taken, in seconds.
func processor(b *testing.B) float64 {
	f, err := figuresNow()
	require.NoError(b, err)
	return f.CPU
}

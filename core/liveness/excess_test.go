package liveness

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// numbered are so many labels or properties; their names sort as they are numbered.
func numbered(n int) map[string]string {
	out := map[string]string{}
	for i := range n {
		out[fmt.Sprintf("example.com/n-%05d", i)] = fmt.Sprint(i)
	}
	return out
}

// excesses are the warnings of a plan that a member offers too much.
func excesses(p Plan) []string {
	var messages []string
	for _, e := range p.Events {
		if e.Reason == ReasonTooManyOffered {
			messages = append(messages, e.Type+" "+e.Object+": "+e.Message)
		}
	}
	return messages
}

// Of what a member offers 256 labels and 256 properties count, the first by name, beside all that people write; that
// it offers more is told once while it lasts.
func TestWhatIsOfferedBeyondTheBoundIsLeftOutAndToldOfOnce(t *testing.T) {
	in := after(t, member(nil), time.Second, func(in *Input) {
		spec := *in.Spec
		spec.Labels = map[string]string{"zone": "a", "example.com/n-00900": "people's"}
		spec.Annotations = map[string]string{api.AnnotationAgentLabels: "example.com/*"}
		in.Spec = &spec
		in.Heartbeat.Labels, in.Heartbeat.Properties = numbered(3000), numbered(mostOffered)
		in.Heartbeat.Labels["*"] = "no label key, which is left out before"
		in.Heartbeat.Properties[api.PropertyNodeCount], in.Heartbeat.Properties[api.PropertyNodeCountAKS] = "3", "4"
	})
	p := Record(in)
	want := numbered(mostOffered)
	want["zone"], want["example.com/n-00900"], want[api.LabelMemberName] = "a", "people's", "berlin"
	require.Equal(t, want, p.Record.Labels)
	require.Empty(t, p.Record.OfferedLabels)
	require.Len(t, p.Record.Properties, mostOffered)
	require.Equal(t, api.MemberReady, p.Record.State)
	require.Equal(t, &api.Offers{Labels: 3000, Properties: mostOffered + 1}, p.Record.Excess, "two spellings are one property")
	require.Equal(t, []string{"Warning member/berlin: its agent offers 3000 labels and 257 properties, of which 256 count: " +
		"correct the configuration of the agent; labels that people write count all the same"}, excesses(p))

	in = after(t, in, time.Minute, func(in *Input) {
		in.Spec, in.Heartbeat.Labels, in.Heartbeat.Properties = member(nil).Spec, numbered(4000), numbered(mostOffered)
	})
	p = Record(in)
	require.Equal(t, numbered(mostOffered), p.Record.OfferedLabels, "nobody allowed them")
	require.Equal(t, numbered(mostOffered), p.Record.Properties)
	require.Equal(t, &api.Offers{Labels: 4000, Properties: mostOffered}, p.Record.Excess)
	require.Empty(t, excesses(p), "another number is no news")

	in = after(t, in, time.Minute, func(in *Input) { in.Heartbeat.Labels = numbered(mostOffered) })
	p = Record(in)
	require.True(t, p.Write)
	require.Nil(t, p.Record.Excess)
	require.Equal(t, numbered(mostOffered), p.Record.OfferedLabels)
	in = after(t, in, time.Minute, func(in *Input) { in.Heartbeat.Labels = numbered(mostOffered + 1) })
	require.Len(t, excesses(Record(in)), 1, "it was well meanwhile")
}

// Labels that the agent may state, and properties that every agent measures, count before others, whatever their names.
func TestWhatCountsOfTooMuchIsWhatIsOfUse(t *testing.T) {
	in := after(t, member(nil), time.Second, func(in *Input) {
		spec := *in.Spec
		spec.Annotations = map[string]string{api.AnnotationAgentLabels: "zone"}
		in.Spec = &spec
		in.Heartbeat.Labels, in.Heartbeat.Properties = numbered(3000), numbered(3000)
		in.Heartbeat.Labels["zone"], in.Heartbeat.Properties["resources.kubernetes-fleet.io/total-cpu"] = "a", "12"
	})
	p := Record(in)
	require.Equal(t, "a", p.Record.Labels["zone"])
	require.Equal(t, numbered(mostOffered-1), p.Record.OfferedLabels)
	require.Equal(t, "12", p.Record.Properties["resources.kubernetes-fleet.io/total-cpu"])
	require.Len(t, p.Record.Properties, mostOffered)
}

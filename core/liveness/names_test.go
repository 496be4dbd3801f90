package liveness

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// noKeys are what an agent may offer in the place of a label key. The first ones are patterns or lists where a person
// writes them.
var noKeys = []string{
	"*", "a/*", "*/*", "*/a", "a*", "a,b", "a, b", "*,zone", ",", "", " ", "a b", " zone", "zone ", "zone\n", "/", "a/", "/a", "a/b/c",
	"-a", "a-", "A_B!/c", "Example.com/a", strings.Repeat("k", 64), strings.Repeat("d", 254) + "/a", "é", "a\u202eb", "a\x1b[2J", "a\xffb",
}

var keys = []string{"zone", "a", "A", "a.b-c_d", "example.com/ring", "fleet.azure.com/location", strings.Repeat("k", 63)}

// What a member offers is data, never a pattern: what is no label key is not taken over, whatever a person allows, is
// not kept as offered, and may not be allowed.
func TestWhatAMemberOffersIsNeverAPattern(t *testing.T) {
	for _, key := range noKeys {
		for _, allowed := range []string{"*", "a/*", "zone", key} {
			spec := &api.MemberCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{api.AnnotationAgentLabels: allowed}}}
			effective, refused := Labels("berlin", spec, map[string]string{key: "x"})
			require.Equal(t, map[string]string{api.LabelMemberName: "berlin"}, effective, "%q where %q is allowed", key, allowed)
			require.Nil(t, refused, "%q", key)
		}
		allowable, note := Allowable([]string{key, "zone"})
		require.Equal(t, []string{"zone"}, allowable, "%q", key)
		require.Equal(t, "of what its agent offers this is not allowed, because it is no label key: "+quoted("", key), note)
	}
	allowable, note := Allowable(keys)
	require.Equal(t, keys, allowable)
	require.Empty(t, note)
	for _, key := range keys {
		_, refused := Labels("berlin", nil, map[string]string{key: "x"})
		require.Equal(t, map[string]string{key: "x"}, refused)
	}
}

// misnamedEvents are the warnings of a plan about names that are none.
func misnamedEvents(p Plan) []string {
	var messages []string
	for _, e := range p.Events {
		if e.Reason == ReasonMisnamed {
			messages = append(messages, e.Type+" "+e.Object+": "+e.Message)
		}
	}
	return messages
}

// Names of every kind in a heartbeat are held to their rules. What breaks them is left out of the record, the rest of
// the heartbeat counts, and one Warning tells of it for as long as it lasts.
func TestNamesThatAreNoneAreLeftOutAndToldOfOnce(t *testing.T) {
	offer := func(change func(*api.Heartbeat)) func(*Input) { return func(in *Input) { change(in.Heartbeat) } }
	in := after(t, member(nil), time.Second, offer(func(h *api.Heartbeat) {
		h.Labels = map[string]string{"*": "x", "zone": "a"}
		h.Properties = map[string]string{"a,b": "1", "x/y/z": "2", "resources.kubernetes-fleet.io/available-*": "3", api.PropertyNodeCountAKS: "4"}
		h.Namespaces, h.Unlisted = []string{"shop", "*"}, []string{"web", "shop/web", "a,b"}
	}))
	p := Record(in)
	require.Equal(t, map[string]string{"zone": "a"}, p.Record.OfferedLabels)
	require.Equal(t, map[string]string{"x/y/z": "2", api.PropertyNodeCount: "4"}, p.Record.Properties)
	require.Equal(t, []string{"shop"}, p.Record.Namespaces)
	require.Equal(t, []string{"shop/web", "web"}, p.Record.Unlisted)
	require.Equal(t, api.MemberReady, p.Record.State)
	require.Equal(t, []string{
		`Warning member/berlin: its agent offers what cannot be named so, which is left out: ` +
			`label "*", namespace "*", placement "a,b", property "a,b", property "resources.kubernetes-fleet.io/available-*"; ` +
			`expected names of letters, digits, '-', '_' and '.', optionally with a DNS prefix and a slash before them: correct the configuration of the agent`,
	}, misnamedEvents(p))

	in = after(t, in, time.Minute, offer(func(h *api.Heartbeat) { h.Labels = map[string]string{"a/*": "x"} }))
	p = Record(in)
	require.Contains(t, p.Record.Misnamed, `label "a/*"`)
	require.Empty(t, misnamedEvents(p), "others of the kind are no news")

	in = after(t, in, time.Second, offer(func(h *api.Heartbeat) { h.Labels, h.Properties, h.Namespaces, h.Unlisted = nil, nil, nil, nil }))
	require.Empty(t, Record(in).Record.Misnamed)
	in = after(t, in, time.Second, offer(func(h *api.Heartbeat) { h.Labels = map[string]string{"*": "x"} }))
	require.Len(t, misnamedEvents(Record(in)), 1, "it was well meanwhile")
}

// A heartbeat full of such names is told of in as few words as one with some.
func TestManyNamesThatAreNone(t *testing.T) {
	in := member(func(in *Input) {
		in.Heartbeat.Labels = map[string]string{}
		for i := range 500 {
			in.Heartbeat.Labels[fmt.Sprintf("%s,%d", strings.Repeat("k", 100), i)] = "x"
		}
	})
	p := Record(in)
	require.Empty(t, p.Record.OfferedLabels)
	require.Len(t, p.Record.Misnamed, mostNamed+1)
	events := misnamedEvents(p)
	require.Len(t, events, 1)
	require.Less(t, len(events[0]), 800)
	require.Contains(t, events[0], ", and more; expected")
}

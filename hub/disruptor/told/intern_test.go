package told

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// What one agent tells of its nodes changes nothing of what another does, whatever characters are in it: equal values are kept once, and no others.
func TestNoAgentSpeaksForAnother(t *testing.T) {
	const told = `{"name":"o1","labels":{"karpenter.sh/capacity-type":"on-demand","karpenter.sh/nodepool":"default"},"annotations":{"a":"b","c":"d"},
		"capacity":{"cpu":4000,"memory":17179869184},"pods":[{"namespace":"shop","name":"web","requests":{"cpu":500,"memory":1073741824},
		"annotations":{"a":"b","karpenter.sh/do-not-disrupt":"true"},"labels":{"app":"web","tier":"front"},"nodeSelector":{"x":"y","z":"w"},
		"tolerations":[{"key":"a","operator":"Exists"},{"key":"b","operator":"Equal","value":"c","effect":"NoSchedule","tolerationSeconds":-1}]}]}`
	forged := []string{
		`{"name":"m1","labels":{"karpenter.sh/capacity-type":"on-demand\u0000karpenter.sh/nodepool\u0000default"},"annotations":{"a":"b\u0000c\u0000d"},
		"capacity":{"cpu\u00004000\u0000memory":17179869184},"pods":[{"namespace":"x","name":"x","requests":{"cpu\u0000500\u0000memory":1073741824},
		"annotations":{"a\u0000b\u0000karpenter.sh/do-not-disrupt":"true"},"labels":{"app\u0000web\u0000tier":"front"},"nodeSelector":{"x\u0000y\u0000z":"w"},
		"tolerations":[{"key":"a\u0000Exists\u0000\u0000\u0000-1\u0000b","operator":"Equal","value":"c","effect":"NoSchedule"}]}]}`,
		`{"name":"m2","labels":{"karpenter.sh/capacity-typ":"eon-demand","karpenter.sh/nodepoold":"efault"},"pods":[{"name":"x","labels":{"ap":"pweb","tierf":"ront"},
		"tolerations":[{"key":"a","operator":"Exists"},{"key":"b","operator":"Equal","value":"c","effect":"NoSchedule"}]}]}`,
	}
	read := func(shared *Interner, text string) *api.NodeState {
		n := &api.NodeState{}
		require.NoError(t, json.Unmarshal([]byte(text), n))
		shared.node(n)
		return n
	}
	want := read(&Interner{}, told)
	var shared Interner
	for _, text := range forged {
		require.Equal(t, read(&Interner{}, text), read(&shared, text))
	}
	require.Equal(t, want, read(&shared, told))
	one, other := read(&shared, told), read(&shared, told)
	one.Labels["changed"] = "together"
	require.Equal(t, one.Labels, other.Labels, "what is equal is kept once")
}

// What one member states anew again and again is forgotten, and what is of one node alone is not remembered.
func TestWhatIsRememberedHasABound(t *testing.T) {
	var s shelf[string]
	kept := func(of map[string]string) (bytes int) {
		for key := range of {
			bytes += len(key)
		}
		return bytes
	}
	long := strings.Repeat("x", worthKeeping+1)
	require.Equal(t, long, s.keep(long, long))
	require.Empty(t, s.now)
	for i := range 5 * mostKept / worthKeeping {
		text := fmt.Sprintf("%0*d", worthKeeping, i)
		require.Equal(t, text, s.keep(text, text))
	}
	require.LessOrEqual(t, kept(s.now), mostKept)
	require.LessOrEqual(t, kept(s.before), mostKept)
	for i := range 2*generation + 10 {
		s.keep(strconv.Itoa(i), "")
	}
	require.LessOrEqual(t, len(s.now), generation)
}

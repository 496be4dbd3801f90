package bus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// bomb is JSON of a few KiB, stored, that unpacks to many values.
func bomb(t testing.TB, text string) []byte {
	t.Helper()
	stored, err := answerBounds.Pack([]byte(text))
	require.NoError(t, err)
	require.Less(t, len(stored), 64<<10)
	return stored
}

// What a member tells is shown beside what others tell: no time in it is one that cannot be read there.
func TestTimesThatMembersTellCanBeRead(t *testing.T) {
	for text, ok := range map[string]bool{
		`9999-12-31T23:59:59Z`: true, `9999-12-31T23:59:59+12:00`: true, `9999-12-31T11:59:59-12:00`: true, `9999-12-31T12:00:00-12:00`: false,
		`0000-01-01T12:00:00+12:00`: true, `0000-01-01T11:59:59+12:00`: false, `\u0039999-12-31T23:59:59.` + strings.Repeat("0", 500) + `-01:00`: false,
		`9999-12-31Tonight`: true, `\n9999-12-31T23:59:59-12:00`: true, `9999-12-30T23:59:59-12:00`: true,
		`9999-12-30T23:59:59-24:60`: false, `0000-01-02T00:30:00+24:60`: false, `0000-01-02T01:00:00+24:60`: true,
	} {
		body := []byte(`{"node":{"name":"a","created":"` + text + `"}}`)
		for name, within := range map[string]Bounds{"node": NodeBounds, "inventory": InventoryBounds, "heartbeat": HeartbeatBounds, "result": ResultBounds} {
			require.Equal(t, ok, within.Check(body) == nil, "%s %s", name, text)
		}
		require.NoError(t, requestBounds.Check(body), "people write what they like")
		var e struct{ Node struct{ Created metav1.Time } }
		if ok && json.Unmarshal(body, &e) == nil {
			again, err := json.Marshal(&e)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(again, &e), text)
		}
	}
}

func TestBoundsAreHeldBeforeAnythingIsRead(t *testing.T) {
	pods := func(n int) string {
		return `{"node":{"pods":[` + strings.TrimSuffix(strings.Repeat("{},", n), ",") + `]}}`
	}
	tests := []struct {
		name   string
		within Bounds
		text   string
		want   string
	}{
		{"pods of a node", NodeBounds, pods(MaxPodsOfANode), ""},
		{"one more", NodeBounds, pods(MaxPodsOfANode + 1), "a list or object of more than 1000"},
		{"sixteen megabytes of them", NodeBounds, pods(16 << 20 / 3), "more than 4194304 bytes"},
		{"numbers where structs belong", NodeBounds, "[" + strings.Repeat("0,", 1<<20) + "0]", "a list or object of more than 1000"},
		{"lists in lists", NodeBounds, "[" + strings.Repeat("["+strings.Repeat("0,", 900)+"0],", 900) + "0]", "more than 262144 values"},
		{"deep", NodeBounds, strings.Repeat("[", maxDepth+1), "nested more than 64 deep"},
		{"as deep as may be", NodeBounds, strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth), ""},
		{"brackets that close nothing", NodeBounds, strings.Repeat("]", 1<<20), ""},
		{"what stands in strings", NodeBounds, `{"a\"[":"` + strings.Repeat("[,{", 1<<10) + `"}`, ""},
		{"a text as long as may be", MemberBounds, `{"region":"` + strings.Repeat("<", 4<<10) + `"}`, ""},
		{"a longer one", MemberBounds, `{"region":"` + strings.Repeat("<", 4<<10+1) + `"}`, "a text of more than 4096 bytes"},
		{"of a node", NodeBounds, `{"node":{"withheld":"` + strings.Repeat("<", 3<<20) + `"}}`, "a text of more than 4096 bytes"},
		{"a long name of a field", InventoryBounds, `{"nodes":{"` + strings.Repeat("n", 5000) + `":1}}`, "a text of more than 4096 bytes"},
		{"a text without an end", InventoryBounds, `{"nodes":"` + strings.Repeat("n", 5000), "a text of more than 4096 bytes"},
		{"an inventory of a member", MemberBounds, strings.Repeat(" ", MaxInventory+1), "more than 262144 bytes"},
		{"a string without an end", NodeBounds, `{"a\`, ""},
		{"a heartbeat", HeartbeatBounds, strings.Repeat(" ", MaxHeartbeat+1), "more than 65536 bytes"},
		{"what the hub wrote", RecordBounds, strings.Repeat("{},", 1<<20), ""},
		{"and that is too long", RecordBounds, strings.Repeat(" ", 16<<20+1), "more than 16777216 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, stored := range [][]byte{bomb(t, tt.text), []byte(tt.text)} {
				text, err := tt.within.Unpack(stored)
				if tt.want == "" {
					require.NoError(t, err)
					require.Equal(t, tt.text, string(text))
					continue
				}
				require.ErrorIs(t, err, ErrTooLarge)
				require.ErrorContains(t, err, tt.want)
			}
		})
	}
}

// What a large member has is told whole: 5,000 nodes, 10,000 pods that wait, each with labels, tolerations
// and spread.
func TestTheInventoryOfALargeMemberIsWithinItsBounds(t *testing.T) {
	inventory := map[string]any{}
	var nodes, pods []any
	for i := range 5000 {
		nodes = append(nodes, fmt.Sprintf("node-%d.europe-west1.internal", i))
	}
	for i := range 10_000 {
		labels := map[string]string{}
		for l := range 12 {
			labels[fmt.Sprintf("app.kubernetes.io/label-%d", l)] = fmt.Sprintf("value-%d-%d", l, i)
		}
		two := []any{map[string]string{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}, map[string]string{"key": "other", "operator": "Exists"}}
		pods = append(pods, map[string]any{
			"name": fmt.Sprintf("worker-%d", i), "namespace": "batch", "labels": labels, "tolerations": two, "spread": two, "nodeSelector": labels, "affinity": two,
		})
	}
	inventory["nodes"], inventory["pods"] = nodes, pods
	text, err := json.Marshal(inventory)
	require.NoError(t, err)
	require.Greater(t, len(text), 12<<20)
	require.NoError(t, InventoryBounds.Check(text))
}

// FuzzBounds holds that whatever passes costs no more than its bounds allow, and that what a hub can use
// passes.
func FuzzBounds(f *testing.F) {
	f.Add([]byte(`{"node":{"pods":[{"name":"a"},{}]}}`))
	f.Add([]byte(`[[[[{"a":["\\\"",1]}]]]]`))
	small := Bounds{bytes: 1 << 12, depth: 8, length: 16, values: 64}
	f.Fuzz(func(t *testing.T, text []byte) {
		var tree any
		if json.Unmarshal(text, &tree) != nil {
			_ = small.Check(text)
			return
		}
		deepest, longest, values := measure(tree)
		fits := len(text) <= small.bytes && deepest <= small.depth && longest <= small.length && values <= small.values
		if !fits && len(text) <= small.bytes && !bytes.Contains(text, []byte(`":`)) {
			require.Error(t, small.Check(text), "%d deep, %d long, %d values", deepest, longest, values)
		}
		if deepest <= small.depth/2 && longest <= small.length/2 && values <= small.values/4 && len(text) < 64 {
			require.NoError(t, small.Check(text))
		}
	})
}

// measure is how deep a value is, how long the longest list or object in it, and how many members all have.
func measure(v any) (deepest, longest, values int) {
	var members []any
	switch v := v.(type) {
	case []any:
		members = v
	case map[string]any:
		for _, member := range v {
			members = append(members, member)
		}
	default:
		return 0, 0, 0
	}
	longest, values = len(members), max(1, len(members))
	for _, member := range members {
		d, l, n := measure(member)
		deepest, longest, values = max(deepest, d), max(longest, l), values+n
	}
	return deepest + 1, longest, values
}

// BenchmarkBounds is what looking at the state of a node with 110 pods costs.
func BenchmarkBounds(b *testing.B) {
	event := api.NodeEvent{}
	for range 110 {
		event.Node.Pods = append(event.Node.Pods, api.PodState{})
	}
	text, err := json.Marshal(event)
	require.NoError(b, err)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := NodeBounds.Check(text); err != nil {
			b.Fatal(err)
		}
	}
}

// The start of a value is read without the rest, of which nothing is checked.
func TestStartOfAValue(t *testing.T) {
	text := `{"boot":"b","pods":` + strings.Repeat(" ", 100_000) + `[]}`
	stored, err := NodeBounds.Pack([]byte(text))
	require.NoError(t, err)
	require.Less(t, len(stored), 1000)
	for name, one := range map[string]struct {
		stored []byte
		most   int
		want   string
	}{
		"packed":             {stored, 11, `{"boot":"b"`},
		"packed, all":        {stored, 1 << 20, text},
		"plain":              {[]byte(`{"boot":"b"}`), 7, `{"boot"`},
		"plain, short":       {[]byte(`{}`), 7, `{}`},
		"nothing":            {nil, 7, ""},
		"no gzip":            {[]byte("z torn"), 7, ""},
		"cut off on the way": {stored[:len(stored)-20], 7, `{"boot"`},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, one.want, string(Start(one.stored, one.most))) })
	}
}

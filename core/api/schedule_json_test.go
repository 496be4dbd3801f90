package api

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScheduleLeavesOutWhatFollows(t *testing.T) {
	s := Schedule{
		Header: NewHeader(KindSchedule), Placement: "web", Type: PickFixed, Policy: "p", Message: "m",
		Bindings: []Binding{
			{Member: "a", Policy: "p", Reason: PickedReason("a", nil, nil)},
			{Member: "b", Policy: "p", AffinityScore: new(int32(3)), SpreadScore: new(int32(-1)), Reason: PickedReason("b", new(int32(3)), new(int32(-1)))},
			{Member: "c", Policy: "older", Waiting: true, Reason: "it waits"},
		},
	}
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.JSONEq(t, `{"kind":"Schedule","level":1,"placement":"web","uid":"","generation":0,"type":"PickFixed","policy":"p","fulfilled":false,"message":"m",
		"bindings":[{"member":"a"},{"member":"b","affinityScore":3,"topologySpreadScore":-1},{"member":"c","policy":"older","waiting":true,"reason":"it waits"}]}`, string(text))
	var read Schedule
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, s, read)
}

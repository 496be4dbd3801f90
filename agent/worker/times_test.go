package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// Each time is that of the first result that says so of a generation, and stays.
func TestTimesOfAGeneration(t *testing.T) {
	begin := time.UnixMilli(1_000_000)
	came := arrival{at: begin, order: api.Order{Generation: 7}}
	ms := func(n int64) *int64 { return &n }
	last := &api.PlacementResult{}
	for _, step := range []struct {
		result api.PlacementResult
		came   arrival
		after  int64
		want   api.ResultTimes
	}{
		{api.PlacementResult{UID: "u", Generation: 1, Applied: unknown}, came, 10, api.ResultTimes{Received: 1_000_000, Command: 7}},
		{api.PlacementResult{UID: "u", Generation: 1, Applied: yes, Available: no}, came, 20, api.ResultTimes{Received: 1_000_000, Command: 7, Applied: ms(20)}},
		{api.PlacementResult{UID: "u", Generation: 1, Applied: yes, Available: yes}, arrival{}, 30, api.ResultTimes{Received: 1_000_000, Command: 7, Applied: ms(20), Available: ms(30)}},
		{api.PlacementResult{UID: "u", Generation: 1, Applied: no}, came, 40, api.ResultTimes{Received: 1_000_000, Command: 7, Applied: ms(20), Available: ms(30)}},
		{api.PlacementResult{UID: "u", Generation: 2, Applied: unknown, DiffReported: yes}, arrival{}, 50, api.ResultTimes{Received: 1_000_050, Late: true, Applied: ms(0)}},
		{api.PlacementResult{UID: "v", Generation: 2, Applied: yes, Withdrawn: true}, came, 60, api.ResultTimes{Received: 1_000_000, Command: 7, Applied: ms(60)}},
	} {
		step.result.Times = timesOf(last, &step.result, step.came, begin.Add(time.Duration(step.after)*time.Millisecond))
		require.Equal(t, &step.want, step.result.Times)
		last = &step.result
	}
}

// What a placement is to be came with the command that changed it, not with those after it.
func TestACommandThatChangedNothingBroughtNothing(t *testing.T) {
	s := open(t, t.TempDir(), "berlin")
	x, err := loadIndex("berlin", s)
	require.NoError(t, err)
	web, shop := api.IndexEntry{Placement: "web", UID: "u1", Work: "a"}, api.IndexEntry{Placement: "shop", UID: "u2", Work: "b"}
	order := func(n uint64) api.Order { return api.Order{Epoch: 1, Term: 1, Generation: n} }
	accept := func(n uint64, entries ...api.IndexEntry) {
		t.Helper()
		_, err := x.accept(command(t, "berlin", order(n), entries...), nil, time.Unix(int64(n), 0))
		require.NoError(t, err)
	}
	accept(1, web)
	accept(2, shop, web)
	require.Equal(t, arrival{time.Unix(1, 0), order(1)}, x.cameOf("web"))
	require.Equal(t, arrival{time.Unix(2, 0), order(2)}, x.cameOf("shop"))
	web.Work = "c"
	accept(3, web)
	require.Equal(t, arrival{time.Unix(3, 0), order(3)}, x.cameOf("web"))
	require.Zero(t, x.cameOf("shop"), "it is not asked for any more")
}

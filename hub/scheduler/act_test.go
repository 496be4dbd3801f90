package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/verdict"
)

// Ages in reasons grow by themselves and are no reason to write a schedule again.
func TestSameButForAges(t *testing.T) {
	make := func(change func(*api.Schedule)) *api.Schedule {
		s := &api.Schedule{
			Placement: "web", Policy: "p", Message: "m", Want: new(int32(3)),
			Bindings: []api.Binding{{Member: "a", AffinityScore: new(int32(1)), Reason: "r"}, {Member: "b", Waiting: true, Reason: "for 5.00 minutes"}},
			Unpicked: []api.Unpicked{{Member: "c", Filter: verdict.FilterEligibility, Reason: "5.00 minutes ago"}},
		}
		change(s)
		return s
	}
	before := make(func(*api.Schedule) {})
	for name, c := range map[string]struct {
		change func(*api.Schedule)
		same   bool
	}{
		"nothing":           {func(*api.Schedule) {}, true},
		"age of a missing":  {func(s *api.Schedule) { s.Unpicked[0].Reason = "6.00 minutes ago" }, true},
		"age of a waiting":  {func(s *api.Schedule) { s.Bindings[1].Reason = "for 6.00 minutes" }, true},
		"empty, not nil":    {func(s *api.Schedule) { s.Evicted = []string{} }, true},
		"filter":            {func(s *api.Schedule) { s.Unpicked[0].Filter = verdict.FilterTaint }, false},
		"another missing":   {func(s *api.Schedule) { s.Unpicked[0].Member = "d" }, false},
		"score":             {func(s *api.Schedule) { s.Bindings[0].AffinityScore = new(int32(2)) }, false},
		"reason of a pick":  {func(s *api.Schedule) { s.Bindings[0].Reason = "other" }, false},
		"waits no more":     {func(s *api.Schedule) { s.Bindings[1].Waiting = false }, false},
		"one binding fewer": {func(s *api.Schedule) { s.Bindings = s.Bindings[:1] }, false},
		"generation":        {func(s *api.Schedule) { s.Generation++ }, false},
		"message":           {func(s *api.Schedule) { s.Message = "other" }, false},
		"evicted":           {func(s *api.Schedule) { s.Evicted = []string{"a"} }, false},
	} {
		now := make(c.change)
		require.Equal(t, c.same, same(before, now), name)
	}
}

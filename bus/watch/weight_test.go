package watch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/subjects"
)

// A text weighs as long as it is, unpacked, and values what they take once they are decoded, both twice in a spec; what looks like values
// within a text weighs nothing more.
func TestWhatARecordWeighs(t *testing.T) {
	const alone = 1 << 10
	for text, c := range map[string]struct {
		key  string
		want int64
	}{
		``:                     {"schedule.web", alone},
		`{}`:                   {"schedule.web", alone + 2 + 256},
		`[{"a":[1,2]},"b"]`:    {"schedule.web", alone + 17 + 2*32 + 256 + 2*16},
		`"{[,\"{[,\\"`:         {"schedule.web", alone + 12},
		`"{[,\"{[,\`:           {"schedule.web", alone + 10},
		`{"a":"{[,"}`:          {"spec.placement.web", alone + 2*(11+256)},
		strings.Repeat(",", 9): {"spec.object.web", alone + 9 + 9*16},
	} {
		require.Equal(t, c.want, Weigh(c.key, []byte(text)), text)
	}
	weights := NewWeights()
	long := []byte(`"` + strings.Repeat("a", 1<<20) + `"`)
	stored, err := bus.RecordBounds.Pack(long)
	require.NoError(t, err)
	require.Less(t, len(stored), 10<<10)
	require.Equal(t, long, weights.Take("spec.placement.web", stored))
	require.EqualValues(t, alone+2*len(long), weights.Of("spec.placement.web"))
	damaged := stored[:100]
	require.Equal(t, damaged, weights.Take("spec.placement.web", damaged), "what cannot be unpacked stays as it is")
	require.Positive(t, weights.Of("spec.placement.web"))
}

// Whatever is written, deleted, purged, listed anew or missed, and in whatever order it comes, the weights are those of what the mirror
// holds: of each kind and of all.
func TestTheWeightsAreThoseOfWhatIsKnown(t *testing.T) {
	keys := []string{subjects.TermKey}
	for i := range 4 {
		name := fmt.Sprint("web", i)
		keys = append(keys, subjects.OverrideSpecs.Key(name), subjects.Schedules.Key(name), subjects.Snapshots.Key(name+".1"), subjects.Users.Key(name))
	}
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // so that a failure comes again
		weights := NewWeights()
		m := NewMirror(func(string) {})
		m.Observe = func(key string, c Cell) { weights.Take(key, c.Value) }
		last := uint64(10)
		for range 20 {
			for range 10 {
				alter(random, m, keys[random.IntN(len(keys))], &last)
			}
			requireWeights(t, m, weights, seed)
		}
	}
}

// alter makes one change of a mirror.
func alter(random *rand.Rand, m *Mirror, key string, last *uint64) {
	sequence := *last - uint64(random.IntN(3)) // some are late
	switch random.IntN(12) {
	case 0:
		m.begin()
		m.opened(listing{last: *last})
	case 1:
		m.begin()
		m.opened(listing{last: *last / 2}) // it has lost writes
	case 2:
		m.listed()
	case 3:
		m.forget(key, sequence)
	case 4, 5:
		m.take(Message{Key: key, Sequence: sequence}) // deleted
	default:
		*last++
		value, _ := bus.RecordBounds.Pack([]byte(`{"a":"` + strings.Repeat("[,", random.IntN(1<<random.IntN(16))) + `"}`))
		m.message(Message{Key: key, Value: value, Sequence: sequence})
	}
}

func requireWeights(t *testing.T, m *Mirror, weights *Weights, seed uint64) {
	t.Helper()
	var all Weighed
	kinds := map[string]Weighed{}
	for key, c := range m.Snapshot() {
		text, err := bus.Unpack(c.Value)
		require.NoError(t, err)
		weight := Weigh(key, text)
		require.Equal(t, weight, weights.Of(key))
		sum := kinds[subjects.KindOf(key)]
		sum.Kind = subjects.KindOf(key)
		sum.Bytes, sum.Records = sum.Bytes+weight, sum.Records+1
		kinds[sum.Kind] = sum
		all.Bytes, all.Records = all.Bytes+weight, all.Records+1
	}
	require.Equal(t, all, weights.All(), "seed %d", seed)
	most := weights.Most(len(kinds) + 1)
	require.Len(t, most, len(kinds), "seed %d", seed)
	for i, sum := range most {
		require.Equal(t, kinds[sum.Kind], sum, "seed %d", seed)
		require.True(t, i == 0 || most[i-1].Bytes >= sum.Bytes, "the first with most")
	}
}

package watch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/klauspost/compress/gzip"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// heard counts how often each key of a cache was told of.
type heard struct {
	mu    sync.Mutex
	times map[string]int
}

func listen(c *watch.Cache) *heard {
	h := &heard{times: map[string]int{}}
	c.OnChange(func(key string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.times[key]++
	})
	return h
}

func (h *heard) of(key string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.times[key]
}

// together are n names of placements that fall in one slot.
func together(n int) []string {
	var names []string
	for i := 0; len(names) < n; i++ {
		if name := fmt.Sprintf("web-%d", i); subjects.ResultSlot(subjects.CommandPlacement, name) == 0 {
			names = append(names, name)
		}
	}
	return names
}

func webKey(name string) string {
	return subjects.ResultKey("berlin", subjects.CommandPlacement, name)
}

func resultIs(store *store.Store, name, uid string) func() error {
	return func() error {
		entry, ok := store.Results.Get(webKey(name))
		if !ok {
			return fmt.Errorf("no result of %s", name)
		}
		r, err := watch.Decode[api.PlacementResult](entry)
		if err == nil && r.UID != uid {
			err = fmt.Errorf("%s is %q, expected %q", name, r.UID, uid)
		}
		return err
	}
}

func slotSequence(t *testing.T, store *store.Store, slot int) uint64 {
	t.Helper()
	f := store.Conn.Fleet
	stream, err := store.Conn.JS.Stream(bustest.Context(t), f.BucketStream(subjects.Result))
	require.NoError(t, err)
	m, err := stream.GetLastMsgForSubject(bustest.Context(t), f.BucketSubject(subjects.Result, subjects.ResultSlotKey("berlin", slot)))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0
	}
	require.NoError(t, err)
	return m.Sequence
}

// Of a batch of which one result changed only that one is told of, and one that is dropped is gone, also
// for a hub that lists anew.
func TestResultsOfOneSlotChangeOneByOne(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	told := listen(leader.Results)
	agent := server.Agent(t, "berlin")
	names := together(3)
	for _, name := range names {
		require.NoError(t, agent.PutResult(bustest.Context(t), subjects.CommandPlacement, name, api.PlacementResult{UID: "1"}))
	}
	for _, name := range names {
		bustest.Eventually(t, resultIs(leader, name, "1"))
	}
	require.NoError(t, agent.PutResult(bustest.Context(t), subjects.CommandPlacement, names[1], api.PlacementResult{UID: "2"}))
	bustest.Eventually(t, resultIs(leader, names[1], "2"))
	require.Equal(t, []int{1, 2, 1}, []int{told.of(webKey(names[0])), told.of(webKey(names[1])), told.of(webKey(names[2]))})

	agent.DropResult(subjects.CommandPlacement, names[1])
	left := func(store *store.Store) func() error {
		return func() error {
			if keys := store.Results.Keys("berlin."); !slices.Equal(keys, []string{webKey(names[0]), webKey(names[2])}) {
				return fmt.Errorf("there are %v", keys)
			}
			return nil
		}
	}
	bustest.Eventually(t, left(leader))
	require.Equal(t, []string{"berlin"}, leader.ResultBatches.Members())
	server.Restart(t)
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		if !leader.Synced() {
			return errors.New("not synced")
		}
		return left(leader)()
	})
	require.Equal(t, []int{1, 3, 1}, []int{told.of(webKey(names[0])), told.of(webKey(names[1])), told.of(webKey(names[2]))})
}

// An agent that begins again keeps what it reported before and has not said anew, but for what nobody asks
// for, and writes nothing when it says the same.
func TestAnAgentThatBeginsAgainGoesOnWithItsSlots(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	names := together(3)
	first := server.Agent(t, "berlin")
	for _, name := range names {
		require.NoError(t, first.PutResult(bustest.Context(t), subjects.CommandPlacement, name, api.PlacementResult{UID: "1"}))
	}
	first.Close()
	before := slotSequence(t, store, 0)

	second := server.Agent(t, "berlin")
	require.NoError(t, second.PutResult(bustest.Context(t), subjects.CommandPlacement, names[0], api.PlacementResult{UID: "1"}))
	require.True(t, second.ResultTold(subjects.CommandPlacement, names[0]))
	require.Equal(t, before, slotSequence(t, store, 0), "it said what was there")
	second.KeepResults(subjects.CommandPlacement, func(name string) bool { return name != names[2] })
	require.NoError(t, second.PutResult(bustest.Context(t), subjects.CommandPlacement, names[0], api.PlacementResult{UID: "2"}))
	bustest.Eventually(t, resultIs(store, names[0], "2"))
	bustest.Eventually(t, resultIs(store, names[1], "1"))
	bustest.Eventually(t, func() error {
		if _, there := store.Results.Get(webKey(names[2])); there {
			return errors.New("what nobody asks for is there")
		}
		return nil
	})
}

// What is told while a slot is being written goes with its next write: a thousand results take few messages.
func TestResultsThatComeTogetherAreWrittenTogether(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	names := together(500)
	for _, name := range names {
		require.NoError(t, agent.TellResult(subjects.CommandPlacement, name, api.PlacementResult{UID: "1"}))
	}
	bustest.Eventually(t, func() error {
		if !agent.ResultTold(subjects.CommandPlacement, names[0]) {
			return errors.New("not told")
		}
		return nil
	})
	for _, name := range names {
		bustest.Eventually(t, resultIs(store, name, "1"))
	}
	require.Less(t, slotSequence(t, store, 0), uint64(len(names)/2))
}

// A slot that has more to hold than it may loses detail of its largest results, and no result.
func TestASlotThatIsTooFullLosesDetailAlone(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	names := together(120)
	for i, name := range names {
		r := api.PlacementResult{UID: name, Applied: "False", AppliedMessage: "short", Failed: 40, Total: 41}
		if i%2 == 0 {
			r.AppliedMessage = bustest.Noise(9_000)
		}
		require.NoError(t, agent.TellResult(subjects.CommandPlacement, name, r))
	}
	for i, name := range names {
		bustest.EventuallyIn(t, 30*time.Second, resultIs(store, name, name))
		entry, _ := store.Results.Get(webKey(name))
		r, err := watch.Decode[api.PlacementResult](entry)
		require.NoError(t, err)
		require.Equal(t, 40, r.Failed)
		if i%2 == 1 {
			require.Equal(t, "short", r.AppliedMessage)
		}
	}
	cut := 0
	for _, name := range names {
		if entry, _ := store.Results.Get(webKey(name)); bytes.Contains(entry.Value, []byte("its share holds")) {
			cut++
		}
	}
	require.Positive(t, cut)
	require.LessOrEqual(t, cut, len(names)/2)
}

// Poison in a slot is skipped and named: what else the slot holds is read, and no other slot is touched.
func TestPoisonInASlotIsSkippedAndNamed(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	names := together(2)
	var mu sync.Mutex
	var refused []string
	store.ResultBatches.OnRefusal(func(r watch.ResultRefusal) {
		mu.Lock()
		defer mu.Unlock()
		refused = append(refused, r.Member+" "+r.Key+": "+r.Err.Error())
	})
	agent := server.Agent(t, "berlin")
	other := server.Agent(t, "paris")
	require.NoError(t, other.PutResult(bustest.Context(t), subjects.CommandPlacement, names[0], api.PlacementResult{UID: "p"}))
	require.NoError(t, agent.PutResult(bustest.Context(t), subjects.CommandPlacement, names[0], api.PlacementResult{UID: "1"}))
	agent.Close()
	f := store.Conn.Fleet
	write := func(body []byte) {
		t.Helper()
		_, err := store.Conn.JS.Publish(bustest.Context(t), f.BucketSubject(subjects.Result, "berlin.0"), body)
		require.NoError(t, err)
	}
	one := func(kind, name, result string) api.BatchedResult {
		return api.BatchedResult{Kind: kind, Name: name, Result: json.RawMessage(result)}
	}
	batch := func(member string, results ...api.BatchedResult) []byte {
		text, err := json.Marshal(api.ResultBatch{Member: member, Results: results})
		require.NoError(t, err)
		return text
	}
	good := one("placement", names[1], `{"uid":"good"}`)
	many := make([]api.BatchedResult, bus.MaxResultsOfABatch+1)
	for i := range many {
		many[i] = one("placement", "x", "{}")
	}
	var bomb bytes.Buffer
	bomb.WriteByte('z')
	w := gzip.NewWriter(&bomb)
	_, err := w.Write(bytes.Repeat([]byte("{},"), 1<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for name, poison := range map[string]struct {
		body []byte
		says string
		good bool
	}{
		"no gzip":        {[]byte("zzzz"), "unpacking", false},
		"a bomb":         {bomb.Bytes(), "more than 1048576 bytes", false},
		"no JSON":        {[]byte("{"), "unexpected end", false},
		"another member": {batch("paris", good), `it says that it is of member "paris"`, false},
		"too many":       {batch("berlin", many...), "more than 1024 results", false},
		"wrong kind":     {batch("berlin", one("spec", "x", "{}"), good), `no kind of results "spec"`, true},
		"wrong slot":     {batch("berlin", good, one("upgrade", "a", "{}"), one("upgrade", "b", "{}"), one("upgrade", "c", "{}")), "belongs in slot", true},
		"twice":          {batch("berlin", good, one("placement", names[1], `{"uid":"bad"}`)), "is there twice", true},
		"deep":           {batch("berlin", good, one("placement", names[0], strings.Repeat("[", 70)+strings.Repeat("]", 70))), "nested more than", true},
		"large":          {batch("berlin", good, one("placement", names[0], `"`+strings.Repeat("x", bus.MaxResult)+`"`)), "at most 16384", true},
	} {
		mu.Lock()
		refused = nil
		mu.Unlock()
		write(batch("berlin", one("placement", names[0], `{"uid":"before"}`)))
		bustest.Eventually(t, resultIs(store, names[0], "before"))
		write(poison.body)
		bustest.Eventually(t, func() error {
			mu.Lock()
			defer mu.Unlock()
			if all := strings.Join(refused, "\n"); !strings.Contains(all, poison.says) || !strings.HasPrefix(all, "berlin berlin.0: message ") {
				return fmt.Errorf("%s: refused %q", name, all)
			}
			return nil
		})
		bustest.Eventually(t, func() error {
			if _, there := store.Results.Get(webKey(names[0])); there {
				return fmt.Errorf("%s: the result before is still shown", name)
			}
			if _, there := store.Results.Get(webKey(names[1])); there != poison.good {
				return fmt.Errorf("%s: the good one is shown: %v", name, there)
			}
			return nil
		})
	}
	require.Len(t, store.Results.Keys("paris."), 1)

	require.NoError(t, store.ResultBatches.PurgeMember(bustest.Context(t), "berlin"))
	require.Empty(t, store.Results.Keys("berlin."))
	require.Equal(t, []string{"paris"}, store.ResultBatches.Members())
}

// Of what a member may write there is no subject but its slots.
func TestAMemberHasNoSubjectsButItsSlots(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	nc, refusals := bustest.Raw(t, server, "berlin")
	f := store.Conn.Fleet
	for _, subject := range []string{
		f.BucketSubject(subjects.Result, "berlin.16"), f.BucketSubject(subjects.Result, "berlin.placement.web"),
		f.BucketSubject(subjects.Result, "berlin"), f.BucketSubject(subjects.Result, "berlin.0.more"),
		f.Prefix() + ".event.berlin.more", f.Prefix() + ".event.berlin.node.a.b", f.Prefix() + ".event.berlin.nodes.more",
	} {
		require.NoError(t, nc.Publish(subject, []byte("{}")))
		require.ErrorContains(t, bustest.Within(t, refusals, subject), "Permissions Violation for Publish", subject)
	}
}

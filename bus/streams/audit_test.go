package streams_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func messages(events []api.Audit) []string {
	out := []string{}
	for _, e := range events {
		out = append(out, e.Message)
	}
	return out
}

func TestAuditIsReadBack(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	for i := range 6 {
		object, member := "placement/ns/web", "berlin"
		if i%2 == 1 {
			object, member = "placement/other", "paris"
		}
		store.Audit.Record(api.Audit{Object: object, Reason: "Picked", Message: fmt.Sprint(i), Member: member})
	}
	c := server.Inspector(t)
	read := func(q streams.AuditQuery) []string {
		t.Helper()
		events, err := streams.ReadAudit(bustest.Context(t), c, q)
		require.NoError(t, err)
		return messages(events)
	}
	bustest.Eventually(t, func() error {
		if got := read(streams.AuditQuery{}); len(got) != 6 {
			return fmt.Errorf("events %v", got)
		}
		return nil
	})
	require.Equal(t, []string{"0", "1", "2", "3", "4", "5"}, read(streams.AuditQuery{}))
	require.Equal(t, []string{"4", "5"}, read(streams.AuditQuery{Limit: 2}))
	require.Equal(t, []string{"0", "2", "4"}, read(streams.AuditQuery{Object: "placement/ns/web"}))
	require.Equal(t, []string{"5"}, read(streams.AuditQuery{Member: "paris", Limit: 1}))
	require.Empty(t, read(streams.AuditQuery{Object: "member/berlin"}))
	require.Zero(t, store.Audit.Dropped())
}

// Older events are read page after page: each event once, whatever is asked for, and none that was told meanwhile.
func TestAuditIsReadBackwards(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	for i := range 9 {
		store.Audit.Record(api.Audit{Object: fmt.Sprintf("placement/p%d", i%2), Reason: "Picked", Message: fmt.Sprint(i), By: []string{"anna", "scheduler", "ben"}[i%3]})
	}
	c := server.Inspector(t)
	pages := func(q streams.AuditQuery) (pages [][]string) {
		t.Helper()
		for range 10 {
			past, err := streams.ReadPast(bustest.Context(t), c, q)
			require.NoError(t, err)
			var texts []string
			for i := range past.Events {
				texts = append(texts, past.Events[i].Message)
			}
			pages = append(pages, texts)
			if past.Older == 0 {
				return pages
			}
			q.Before = past.Older
		}
		t.Fatal("it never ends")
		return nil
	}
	bustest.Eventually(t, func() error {
		if got := pages(streams.AuditQuery{}); len(got) != 1 || len(got[0]) != 9 {
			return fmt.Errorf("events %v", got)
		}
		return nil
	})
	require.Equal(t, [][]string{{"5", "6", "7", "8"}, {"1", "2", "3", "4"}, {"0"}}, pages(streams.AuditQuery{Limit: 4}))
	require.Equal(t, [][]string{{"3", "6"}, {"0"}}, pages(streams.AuditQuery{Limit: 2, By: "anna"}))
	require.Equal(t, [][]string{{"5", "7"}, {"1", "3"}}, pages(streams.AuditQuery{Limit: 2, Object: "placement/p1"}))
	require.Equal(t, [][]string{nil}, pages(streams.AuditQuery{By: "nobody"}))
	require.Equal(t, [][]string{{"0", "1"}}, pages(streams.AuditQuery{Before: 3}))
}

func TestAuditEventsAreCut(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	store.Audit.Record(
		api.Audit{Object: "placement/web", Message: strings.Repeat("é\"", 1000)},
		api.Audit{Object: "nonsense", Message: "has no kind"},
		api.Audit{Object: "placement/" + strings.Repeat("w", 2000), Message: "does not fit even without its message"},
	)
	var events []api.Audit
	bustest.Eventually(t, func() (err error) {
		if events, err = streams.ReadAudit(bustest.Context(t), store.Conn, streams.AuditQuery{}); len(events) < 2 || store.Audit.Dropped() != 1 {
			return fmt.Errorf("%d events, %d dropped: %w", len(events), store.Audit.Dropped(), err)
		}
		return nil
	})
	require.Len(t, events, 2)
	require.True(t, strings.HasSuffix(events[0].Message, "…"))
	require.Regexp(t, "^placement/w{500,}…$", events[1].Object)
	text, err := json.Marshal(events[0])
	require.NoError(t, err)
	require.InDelta(t, bus.MaxAudit, len(text), 16)
	require.LessOrEqual(t, len(text), bus.MaxAudit)
}

// Whatever stands in an event of a person, however much of it and in whatever signs, the event is stored: what is too long says that it
// was cut, and what the person did is copied too, by the whole name of the object.
func TestNoEventOfAPersonIsTooLong(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	keepActs(t, server.Hub(t))
	fields := map[string]func(e *api.Audit, text string){
		"object":  func(e *api.Audit, text string) { e.Object = "object/ClusterRole/" + text },
		"name":    func(e *api.Audit, text string) { e.Object = "object/ClusterRole/" + text[:min(len(text), 252)] },
		"type":    func(e *api.Audit, text string) { e.Type = text },
		"reason":  func(e *api.Audit, text string) { e.Reason = text },
		"message": func(e *api.Audit, text string) { e.Message = text },
		"by":      func(e *api.Audit, text string) { e.By = text },
		"request": func(e *api.Audit, text string) { e.Request = text },
		"from":    func(e *api.Audit, text string) { e.From = text },
		"member":  func(e *api.Audit, text string) { e.Member = text },
		"spec":    func(e *api.Audit, text string) { e.Spec, _ = json.Marshal(text) },
		"no spec": func(e *api.Audit, text string) { e.Spec = json.RawMessage(text) },
		"picks": func(e *api.Audit, text string) {
			e.Picks = &api.Picks{Count: 1, Gained: []api.PickChange{{Reason: text, Members: []string{text, text}, Total: 2}}}
		},
		"all": func(e *api.Audit, text string) {
			*e = api.Audit{Object: "object/" + text, Type: text, Reason: text, Message: text, By: text, Request: text, From: text, Member: text, Spec: json.RawMessage(text)}
		},
	}
	signs := []string{"<", ">", "&", `"`, `\`, "\u2028", "\u2029", "\x00", "\x1b", "\n", "\x7f", "\xff", "\xc3", "\x80", "é", "😀", "x", "<\"\xff\u2028\\"}
	var told []string
	for field, put := range fields {
		for _, sign := range signs {
			for _, length := range []int{253, 3000} {
				what := fmt.Sprintf("%s %q %d", field, sign, length)
				e := api.Audit{Object: "object/ClusterRole/web", Type: "Normal", Reason: "Created", Message: what, By: "anna", Request: "r", From: "10.0.0.1"}
				put(&e, strings.Repeat(sign, length/len(sign)))
				told = append(told, what)
				store.Audit.Record(e)
			}
		}
	}
	var of, audited []string
	for _, name := range []string{subjects.Audit, subjects.Acts} {
		var texts [][]byte
		bustest.Eventually(t, func() error {
			texts, of = nil, nil
			err := streams.Each(bustest.Context(t), store.Conn, store.Conn.Fleet.Stream(name), jetstream.ConsumerConfig{}, func(m jetstream.Msg, _ *jetstream.MsgMetadata) {
				texts, of = append(texts, m.Data()), append(of, m.Subject())
			})
			if err != nil || len(texts) < len(told) {
				return fmt.Errorf("%s: %d of %d, %d dropped: %w", name, len(texts), len(told), store.Audit.Dropped(), err)
			}
			return nil
		})
		require.Zero(t, store.Audit.Dropped())
		require.Len(t, texts, len(told))
		for i, text := range texts {
			var e api.Audit
			require.LessOrEqual(t, len(text), bus.MaxAudit, told[i])
			require.LessOrEqual(t, len(of[i]), subjects.MostLength, told[i])
			require.NoError(t, json.Unmarshal(text, &e), told[i])
			require.NotEmpty(t, e.Request, told[i])
			require.True(t, strings.HasPrefix(e.Object, "object/"), "%s: %s", told[i], e.Object)
			requireWholeOrCut(t, told[i], &e)
			if audited != nil {
				require.Equal(t, strings.Replace(audited[i], ".audit.", ".act.", 1), of[i], told[i])
			}
		}
		audited = of
	}
	named, err := streams.ReadEvents(bustest.Context(t), store.Conn, streams.AuditQuery{Object: "object/ClusterRole/" + strings.Repeat("\x1b", 252)})
	require.NoError(t, err)
	require.NotEmpty(t, named.Events, "an event is found by the whole name of its object")
}

// requireWholeOrCut holds texts that were made of a repeated sign to being so long as they were, or saying that they were cut.
func requireWholeOrCut(t *testing.T, told string, e *api.Audit) {
	t.Helper()
	for _, text := range []string{e.Object, e.Type, e.Reason, e.Message, e.By, e.Request, e.From, e.Member} {
		if len(text) > 60 && !strings.HasSuffix(text, "…") {
			require.GreaterOrEqual(t, len(text), 250, told)
		}
	}
}

func TestAuditNeverBlocks(t *testing.T) {
	server := bustest.Start(t)
	audit := streams.NewAudit(server.Hub(t)) // nobody publishes
	for range 10_000 {
		audit.Record(api.Audit{Object: "placement/web"})
	}
	require.NotZero(t, audit.Dropped())
}

// An event of a person finds room behind any number of others. Where thousands of people's wait, nothing more is done for anybody.
func TestNoEventOfAPersonIsDropped(t *testing.T) {
	server := bustest.Start(t)
	audit := streams.NewAudit(server.Hub(t)) // nobody publishes
	anna := api.Caller{Name: "anna", Request: "r1"}.Audit(api.Audit{Object: "placement/web"})
	for range 10_000 {
		audit.Record(api.Audit{Object: "placement/web"})
	}
	dropped := audit.Dropped()
	for range 8192 {
		_, err := audit.Announce(anna)
		require.NoError(t, err)
	}
	_, err := audit.Announce(api.Audit{Object: "placement/web"}, anna)
	failure, refused := errors.AsType[*api.Failure](err)
	require.True(t, refused)
	require.Equal(t, api.CodeUnavailable, failure.Code)
	audit.Record(anna)
	require.Equal(t, dropped, audit.Dropped())
	_, err = audit.Announce(api.Audit{Object: "placement/web"})
	require.NoError(t, err, "of the hub's own doing nobody is refused anything")
	require.Equal(t, dropped+1, audit.Dropped())
}

// A server that does not take events is asked for longer to take one of a person than others.
func TestAnEventOfAPersonWaitsForTheServer(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	name := store.Conn.Fleet.Stream(subjects.Audit)
	stream, err := store.Conn.JS.Stream(bustest.Context(t), name)
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	require.NoError(t, store.Conn.JS.DeleteStream(bustest.Context(t), name))

	ofPeople, ofRooms := running(t, server), running(t, server)
	ofPeople.Record(api.Caller{Name: "anna", Request: "r1"}.Audit(api.Audit{Object: "placement/web", Message: "hers"}))
	ofPeople.Record(api.Audit{Object: "placement/web", Message: "after hers"})
	for range 3 {
		ofRooms.Record(api.Audit{Object: "placement/web", Message: "lost"})
	}
	bustest.Eventually(t, func() error {
		if n := ofRooms.Dropped(); n != 3 {
			return fmt.Errorf("%d dropped", n)
		}
		return nil
	})
	_, err = store.Conn.JS.CreateStream(bustest.Context(t), config)
	require.NoError(t, err)
	bustest.Eventually(t, func() error {
		events, err := streams.ReadAudit(bustest.Context(t), store.Conn, streams.AuditQuery{})
		if err != nil || len(events) < 2 {
			return fmt.Errorf("%d events: %w", len(events), err)
		}
		require.Equal(t, []string{"hers", "after hers"}, messages(events))
		return nil
	})
}

// running is an audit that publishes, and has little patience with a server.
func running(t *testing.T, server *bustest.Server) *streams.Audit {
	t.Helper()
	audit := streams.NewAudit(server.Hub(t))
	audit.SetPatience(50 * time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); audit.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return audit
}

func TestAnnouncedEventsStandBeforeWhatFollowsFromThem(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	made, err := store.Audit.Announce(api.Audit{Object: "placement/web", Message: "applied"}, api.Audit{Object: "placement/web", Message: "cut"})
	require.NoError(t, err)
	failed, err := store.Audit.Announce(api.Audit{Object: "placement/web", Message: "never made"})
	require.NoError(t, err)
	store.Audit.Record(api.Audit{Object: "placement/web", Message: "released"})
	failed(false)
	made(true)
	c := server.Inspector(t)
	bustest.Eventually(t, func() error {
		events, err := streams.ReadAudit(bustest.Context(t), c, streams.AuditQuery{})
		if err != nil || len(events) < 3 {
			return fmt.Errorf("%d events: %w", len(events), err)
		}
		require.Equal(t, []string{"applied", "cut", "released"}, messages(events))
		return nil
	})
}

// Rooms see a record before its writer learns that it was made: what they do is told after what they
// saw, and a write that was refused is not told of.
func TestAWriteIsToldBeforeWhatFollowsFromIt(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	key := subjects.Members.Key("berlin")
	effect := sync.OnceFunc(func() { leader.Audit.Record(api.Audit{Object: "member/berlin", Message: "effect"}) })
	store.TableOf[api.MemberRecord](leader.State, subjects.Members).OnChange(func(string) { effect() })
	cause := []api.Audit{{Object: "member/berlin", Message: "cause"}, {Object: "member/berlin", Message: "second cause"}}
	revisions, err := leader.WriteTold(bustest.Context(t), cause, store.Put(key, api.MemberRecord{Name: "berlin"}, 0))
	require.NoError(t, err)
	require.Equal(t, []uint64{leader.State.Revision(key)}, revisions)
	_, err = leader.WriteTold(bustest.Context(t), []api.Audit{{Object: "member/berlin", Message: "refused"}}, store.Put(key, api.MemberRecord{}, 0))
	require.ErrorIs(t, err, bus.ErrConflict)
	leader.Audit.Record(api.Audit{Object: "member/berlin", Message: "end"})
	c := server.Inspector(t)
	bustest.Eventually(t, func() error {
		events, err := streams.ReadAudit(bustest.Context(t), c, streams.AuditQuery{})
		if err != nil || len(events) < 4 {
			return fmt.Errorf("%d events: %w", len(events), err)
		}
		require.Equal(t, []string{"cause", "second cause", "effect", "end"}, messages(events))
		return nil
	})
}

// Who writes much waits until most of the events that wait are stored, or nothing is announced any more, and no longer than its context (H54).
func TestEventsEase(t *testing.T) {
	server := bustest.Start(t)
	c := server.Hub(t)
	server.Lead(t) // makes the streams
	audit := streams.NewAudit(c)
	require.NoError(t, audit.Ease(t.Context()), "nothing waits")
	settle, err := audit.Announce(api.Audit{Object: "placement/web", Message: "unsettled", Request: "r"})
	require.NoError(t, err)
	many := make([]api.Audit, 3000)
	for i := range many {
		many[i] = api.Audit{Object: "placement/web", Message: "one of many", Request: "r"}
	}
	audit.Record(many...)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, audit.Ease(over), context.Canceled, "nothing is stored yet")

	ctx, stop := context.WithCancel(t.Context())
	ended, eased := make(chan struct{}), make(chan error, 2)
	go func() { defer close(ended); audit.Run(ctx) }()
	go func() { eased <- audit.Ease(t.Context()) }()
	settle(true)
	require.NoError(t, bustest.Within(t, eased, "few events to wait"))
	stream, err := c.JS.Stream(bustest.Context(t), c.Fleet.Stream(subjects.Audit))
	require.NoError(t, err)
	require.GreaterOrEqual(t, stream.CachedInfo().State.Msgs, uint64(900))

	stop()
	<-ended
	later := streams.NewAudit(c)
	later.Record(many...)
	go func() { eased <- later.Ease(t.Context()) }()
	later.Run(ctx)
	require.NoError(t, bustest.Within(t, eased, "the end of what is announced"))
}

// A hub that stops does not wait for a write that was never settled.
func TestAuditStopsWithAnEventThatIsNotSettled(t *testing.T) {
	server := bustest.Start(t)
	audit := streams.NewAudit(server.Hub(t))
	_, err := audit.Announce(api.Audit{Object: "placement/web", Message: "unknown"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); audit.Run(ctx) }()
	cancel()
	<-ended
}

// Events are read with when they were stored, and with from when on there are all of them.
func TestThePastIsKeptFromATimeOn(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	picks := &api.Picks{Count: 2, Gained: []api.PickChange{{Members: []string{"berlin", "paris"}, Total: 2}}}
	for i := range 4 {
		store.Audit.Record(api.Audit{Object: "placement/web", Reason: "Picked", Message: fmt.Sprint(i), Picks: picks})
	}
	c := server.Inspector(t)
	var past streams.Past
	bustest.Eventually(t, func() error {
		var err error
		if past, err = streams.ReadPast(bustest.Context(t), c, streams.AuditQuery{Object: "placement/web", Member: "paris"}); err != nil || len(past.Events) != 4 {
			return fmt.Errorf("%d events, %w", len(past.Events), err)
		}
		return nil
	})
	require.True(t, past.KeptFrom.Before(past.Events[0].Stored), "nothing is missing")
	none, err := streams.ReadPast(bustest.Context(t), c, streams.AuditQuery{Object: "placement/web", Member: "oslo"})
	require.NoError(t, err)
	require.Empty(t, none.Events)
	few, err := streams.ReadPast(bustest.Context(t), c, streams.AuditQuery{Object: "placement/web", Limit: 2})
	require.NoError(t, err)
	require.Len(t, few.Events, 2)
	require.True(t, few.Events[0].Stored.Equal(few.KeptFrom), "what was before was left out")

	stream, err := store.Conn.JS.Stream(bustest.Context(t), store.Conn.Fleet.Stream(subjects.Audit))
	require.NoError(t, err)
	require.NoError(t, stream.DeleteMsg(bustest.Context(t), 1))
	aged, err := streams.ReadPast(bustest.Context(t), c, streams.AuditQuery{Object: "placement/web"})
	require.NoError(t, err)
	require.True(t, aged.Events[0].Stored.Equal(aged.KeptFrom))
}

// An event for which there is no room goes without its spec, then without names, before its message is cut.
func TestAnEventLosesWhatItCanDoWithout(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	long := strings.Repeat("m", 60)
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprint(long, i))
	}
	spec := json.RawMessage(`{"a":"` + strings.Repeat("s", 900) + `"}`)
	picks := &api.Picks{Count: 30, Gained: []api.PickChange{{Members: names, Total: 30}}, Lost: []api.PickChange{{Reason: "one", Total: 1}, {Reason: "two", Total: 2}}}
	store.Audit.Record(api.Audit{Object: "placement/web", Reason: "Created", Message: "whole", Spec: spec, Generation: 3})
	store.Audit.Record(api.Audit{Object: "placement/web", Reason: "MembersChanged", Message: "whole", Picks: picks})
	var events []api.Audit
	bustest.Eventually(t, func() error {
		var err error
		if events, err = streams.ReadAudit(bustest.Context(t), server.Inspector(t), streams.AuditQuery{}); len(events) != 2 {
			return fmt.Errorf("%d events, %w", len(events), err)
		}
		return nil
	})
	require.Equal(t, []string{"whole", "whole"}, messages(events))
	require.Nil(t, events[0].Spec)
	require.Equal(t, int64(3), events[0].Generation)
	require.Equal(t, &api.Picks{Count: 30, Gained: []api.PickChange{{Total: 30}}, Lost: []api.PickChange{{Total: 3}}}, events[1].Picks)
}

package member_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

// An agent that hears no hint, and whose next slot stays empty, finds what was stored whole, and its changes, when it looks
// by itself.
func TestAnIndexThatWasStoredWholeIsFoundWithoutAHint(t *testing.T) {
	server := bustest.Start(t)
	i := writtenFor(t, server)
	agent := server.Agent(t, "berlin")
	var index followed
	pursue(t, member.FollowerOptions{Hub: agent, Kind: subjects.CommandPlacement, Every: 20 * time.Millisecond, Index: &index})
	i.whole(1)
	i.change(2)
	i.reachedBy(&index)
	require.NoError(t, agent.Deafen())
	i.whole(3)
	i.reachedBy(&index)
	i.change(4)
	i.change(5)
	i.reachedBy(&index)
}

// An agent that heard hints before, and whose connection is cut while the index changes and is then stored whole anew, comes to the newest
// as soon as it is back: it takes the change, which nobody announced to it, and looks further.
func TestAnIndexThatWasStoredWholeIsFoundAfterACut(t *testing.T) {
	server := bustest.Start(t)
	i := writtenFor(t, server)
	proxy, agent := throughProxy(t, server)
	var index followed
	pursue(t, member.FollowerOptions{Hub: agent, Kind: subjects.CommandPlacement, Index: &index})
	i.whole(1)
	i.change(2)
	i.reachedBy(&index)
	proxy.HoldReplies()
	i.change(3)
	i.whole(4)
	proxy.Cut()
	i.reachedBy(&index)
}

// throughProxy connects the agent of berlin through a proxy.
func throughProxy(t *testing.T, server *bustest.Server) (*bustest.Proxy, *member.Conn) {
	t.Helper()
	proxy := bustest.NewProxy(t, server)
	options := server.AgentOptions(t, "berlin")
	options.URL = proxy.URL()
	agent, err := member.Connect(t.Context(), options, "berlin")
	require.NoError(t, err)
	t.Cleanup(agent.Close)
	return proxy, agent
}

// written is the index of berlin as a hub writes it.
type written struct {
	t     *testing.T
	store *store.Store
	head  streams.CommandHead
}

func writtenFor(t *testing.T, server *bustest.Server) *written {
	return &written{t: t, store: server.Lead(t), head: streams.CommandHead{Member: "berlin", Kind: subjects.CommandPlacement, To: server.SealingKey(t, "berlin")}}
}

func (w *written) whole(generation uint64) {
	w.t.Helper()
	w.head.Order = api.Order{Epoch: 1, Term: 1, Generation: generation}
	w.head.Position = api.IndexPosition{Base: w.head.Order}
	session := w.store.Keys.Session("berlin", w.head.To, w.head.Order)
	var err error
	w.head.Sequence, err = w.store.Commands.Publish(bustest.Context(w.t), w.head, api.PlacementCommand{Member: "berlin", Order: w.head.Order, Session: session}, w.head.Sequence)
	require.NoError(w.t, err)
}

func (w *written) change(generation uint64) {
	w.t.Helper()
	w.head.Order = api.Order{Epoch: 1, Term: 1, Generation: generation}
	w.head.Position.Number++
	session := w.store.Keys.Session("berlin", w.head.To, w.head.Position.Base)
	_, err := w.store.Commands.PublishChange(bustest.Context(w.t), w.head, session, api.PlacementDelta{Member: "berlin", Order: w.head.Order, Position: w.head.Position})
	require.NoError(w.t, err)
}

func (w *written) reachedBy(index *followed) {
	w.t.Helper()
	bustest.Eventually(w.t, func() error {
		found, _ := index.Held()
		if found.Position != w.head.Position {
			return fmt.Errorf("%s is held, %s is stored", found.Position, w.head.Position)
		}
		return nil
	})
}

// followed is an index of which only the position matters.
type followed struct {
	mu   sync.Mutex
	held member.Held
}

func (f *followed) Held() (member.Held, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held, len(f.held.Session) > 0
}

func (f *followed) Read(whole []byte) (member.Held, bool) {
	var command api.PlacementCommand
	err := json.Unmarshal(whole, &command)
	return member.Held{Position: api.IndexPosition{Base: command.Order}, Session: command.Session}, err == nil
}

func (f *followed) Take(_ context.Context, whole []byte, changes [][]byte, _ uint64) {
	next, _ := f.Held()
	if read, ok := f.Read(whole); ok {
		if read.Position.Base == next.Position.Base {
			return
		}
		next = read
	}
	next.Position.Number += len(changes)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = next
}

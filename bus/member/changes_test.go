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
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

// An agent that hears no hint, and whose next slot stays empty, finds what was stored whole, and its changes, when it looks
// by itself.
func TestAnIndexThatWasStoredWholeIsFoundWithoutAHint(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	var index followed
	pursue(t, member.FollowerOptions{Hub: agent, Kind: subjects.CommandPlacement, Every: 20 * time.Millisecond, Index: &index})
	head := streams.CommandHead{Member: "berlin", Kind: subjects.CommandPlacement, To: server.SealingKey(t, "berlin")}
	publish := func(generation uint64, whole bool) {
		t.Helper()
		var err error
		head.Order = api.Order{Epoch: 1, Term: 1, Generation: generation}
		if whole {
			head.Position = api.IndexPosition{Base: head.Order}
			session := store.Keys.Session("berlin", head.To, head.Order)
			head.Sequence, err = store.Commands.Publish(bustest.Context(t), head, api.PlacementCommand{Member: "berlin", Order: head.Order, Session: session}, head.Sequence)
		} else {
			head.Position.Number++
			session := store.Keys.Session("berlin", head.To, head.Position.Base)
			_, err = store.Commands.PublishChange(bustest.Context(t), head, session, api.PlacementDelta{Member: "berlin", Order: head.Order, Position: head.Position})
		}
		require.NoError(t, err)
	}
	reaches := func() {
		t.Helper()
		bustest.Eventually(t, func() error {
			found, _ := index.Held()
			if found.Position != head.Position {
				return fmt.Errorf("%s is held, %s is stored", found.Position, head.Position)
			}
			return nil
		})
	}
	publish(1, true)
	publish(2, false)
	reaches()
	require.NoError(t, agent.Deafen())
	publish(3, true)
	reaches()
	publish(4, false)
	publish(5, false)
	reaches()
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

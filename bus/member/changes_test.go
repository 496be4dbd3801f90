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
	var mu sync.Mutex
	var held member.Held
	take := func(position api.IndexPosition, session []byte) {
		mu.Lock()
		defer mu.Unlock()
		held = member.Held{Position: position, Session: session}
	}
	now := func() (member.Held, bool) {
		mu.Lock()
		defer mu.Unlock()
		return held, len(held.Session) > 0
	}
	pursue(t, member.FollowerOptions{
		Hub: agent, Kind: subjects.CommandPlacement, Every: 20 * time.Millisecond, Held: now,
		Take: func(_ context.Context, body []byte, _ uint64) {
			var whole api.PlacementCommand
			require.NoError(t, json.Unmarshal(body, &whole))
			if before, _ := now(); before.Position.Base != whole.Order {
				take(api.IndexPosition{Base: whole.Order}, whole.Session)
			}
		},
		TakeChange: func(_ context.Context, body []byte, _ uint64) {
			var change api.PlacementDelta
			require.NoError(t, json.Unmarshal(body, &change))
			before, _ := now()
			take(change.Position, before.Session)
		},
	})
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
			found, _ := now()
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

package bustest

import (
	"sync"
	"testing"

	"flotilla/bus"
	"flotilla/bus/member"
	"flotilla/core/api"

	"github.com/stretchr/testify/require"
)

// wallets are the keys of agents, by member, for as long as the server is there.
type wallets struct {
	mu    sync.Mutex
	known map[string]*member.Wallet
}

func (w *wallets) of(t testing.TB, name string) *member.Wallet {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if known, ok := w.known[name]; ok {
		return known
	}
	made, err := member.OpenWallet(member.Folder(t.TempDir()), Token(t, name))
	require.NoError(t, err)
	if w.known == nil {
		w.known = map[string]*member.Wallet{}
	}
	w.known[name] = made
	return made
}

// SealingKey is that of a member's agents that connect with AgentOptions.
func (s *Server) SealingKey(t testing.TB, member string) string {
	t.Helper()
	return s.wallets.of(t, member).SealingKey()
}

// Token is one of a hub with Keys that does not make credentials.
func Token(t testing.TB, member string) *api.Token {
	t.Helper()
	seed, _, err := bus.NewTokenKey()
	require.NoError(t, err)
	hub, err := bus.HubKey(Keys())
	require.NoError(t, err)
	return &api.Token{Fleet: Fleet, Member: member, Seed: seed, HubKey: hub}
}

package hubd

import (
	"context"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

// keepAccounts has servers that others run go by the accounts, also those that come later.
func (h *Hub) keepAccounts(ctx context.Context, s *store.Store) error {
	if h.accounts == nil {
		return nil
	}
	users, agents := store.Reads[api.User](s.State.As(subjects.Hubd), subjects.Users), store.Reads[api.Identity](s.State.As(subjects.Hubd), subjects.Identities)
	return h.accounts.Keep(ctx, func(account string) (refused []string) {
		switch account {
		case subjects.AccountPeople:
			for _, user := range users.All() {
				if user.Value.Revoked != nil && user.Value.Key != "" {
					refused = append(refused, user.Value.Key)
				}
			}
		case subjects.AccountAgents:
			for _, agent := range agents.All() {
				refused = append(refused, agent.Value.Former...)
			}
		}
		return refused
	})
}

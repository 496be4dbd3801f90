package salvage

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

// people lets no restore give anybody back what was taken from them since the backup: of a person whom state knows
// the record stays as it is, new ones too. Whom only the backup knows is revoked if servers refuse the key.
func (s *Salvage) people(records map[string][]byte) {
	prefix := subjects.Users.Prefix()
	for key, value := range records {
		var user api.User
		if !strings.HasPrefix(key, prefix) || json.Unmarshal(value, &user) != nil || user.Revoked != nil {
			continue
		}
		if s.options.Revoked != nil && s.options.Revoked(subjects.AccountPeople, user.Key) {
			user.Revoked = &metav1.Time{Time: s.store.Now().UTC()}
			if text, err := json.Marshal(&user); err == nil { // always
				records[key] = text
			}
		}
	}
	s.stay(prefix, records)
	s.sessions(records)
}

// sessions lets no restore bring back a link, a session or a token that was used or ended since the backup.
func (s *Salvage) sessions(records map[string][]byte) {
	prefix := subjects.Sessions.Prefix()
	maps.DeleteFunc(records, func(key string, _ []byte) bool { return strings.HasPrefix(key, prefix) })
	s.stay(prefix, records)
}

// stay lets what state knows below a prefix stay as it is.
func (s *Salvage) stay(prefix string, records map[string][]byte) {
	for _, key := range s.store.State.Keys(prefix) {
		if value, _, known := s.store.State.Raw(key); known {
			records[key] = value
		}
	}
}

// withCaller refuses who was revoked, as far as what is left of state says, also where servers do not know it.
func (s *Salvage) withCaller(handler bus.Handler) bus.Handler {
	users := store.Reads[api.User](s.store.State.As(subjects.Salvage), subjects.Users)
	return func(ctx context.Context, by api.Caller, body []byte) (any, error) {
		if user, _, known := users.Get(by.Name); known && user.Refuses(by) {
			return nil, &api.Failure{Code: api.CodeRefused, Message: fmt.Sprintf("these credentials of %s were revoked", by.Name)}
		}
		return handler(ctx, by, body)
	}
}

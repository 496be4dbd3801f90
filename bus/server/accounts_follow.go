package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/jwt/v2"
)

// follow makes what crosses the border of an account, and what its users may do, that of the address book of this
// build. Limits that others set stay, as do revocations and keys that they added. It says whether that changed anything.
func (r *operator) follow(claims *jwt.AccountClaims) (changed bool, err error) {
	all := r.accountClaims()
	at := slices.IndexFunc(all, func(c *jwt.AccountClaims) bool { return c.Subject == claims.Subject })
	if at < 0 {
		return false, fmt.Errorf("there is no account %s", claims.Subject)
	}
	// As servers have it: signing sorts and fills in.
	token, err := all[at].Encode(r.keys["operatorSigning"])
	if err != nil {
		return false, err
	}
	wanted, err := jwt.DecodeAccountClaims(token)
	if err != nil {
		return false, err
	}
	if !sameAs(claims.Exports, wanted.Exports) || !sameAs(claims.Imports, wanted.Imports) {
		claims.Exports, claims.Imports, changed = wanted.Exports, wanted.Imports, true
	}
	connections, subscriptions := bound(&claims.Limits.Conn, wanted.Limits.Conn), bound(&claims.Limits.Subs, wanted.Limits.Subs)
	changed = changed || connections || subscriptions
	for _, key := range slices.Sorted(maps.Keys(wanted.SigningKeys)) {
		if !sameText(claims.SigningKeys[key], wanted.SigningKeys[key]) {
			claims.SigningKeys[key], changed = wanted.SigningKeys[key], true
		}
	}
	return changed, nil
}

// bound limits what nobody has limited, and says whether it did.
func bound(limit *int64, most int64) bool {
	if *limit != jwt.NoLimit || most == jwt.NoLimit {
		return false
	}
	*limit = most
	return true
}

// sameAs compares lists whatever their order.
func sameAs[T any](a, b []T) bool {
	return slices.Equal(texts(a), texts(b))
}

func texts[T any](list []T) []string {
	out := make([]string, len(list))
	for i := range list {
		text, _ := json.Marshal(list[i]) // claims were JSON
		out[i] = string(text)
	}
	slices.Sort(out)
	return out
}

func sameText(a, b any) bool { return slices.Equal(texts([]any{a}), texts([]any{b})) }

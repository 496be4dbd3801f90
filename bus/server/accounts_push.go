package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"flotilla/bus"
	"flotilla/subjects"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
)

// How long answers of servers are waited for: until none came for a while.
const (
	firstAnswer = 5 * time.Second
	nextAnswer  = 500 * time.Millisecond
)

// connect connects as who changes accounts.
func (a *Accounts) connect(more ...nats.Option) (*bus.Conn, error) {
	o := a.reach
	o.Creds, o.CredsText, o.Server = a.claimsCreds(), nil, nil
	return o.Connect("flotilla-hub/"+subjects.ClaimsUser,
		append(more, nats.Timeout(firstAnswer), nats.CustomInboxPrefix(subjects.Inbox(subjects.ClaimsUser)))...)
}

// push adds a key to those that the account of a name refuses, on the claims that the servers have.
func (a *Accounts) push(account, key string) error {
	conn, err := a.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	return a.settle(conn.NC, account, []string{key}, false)
}

// tell signs claims anew and has all servers go by them.
func (a *Accounts) tell(nc *nats.Conn, account string, claims *jwt.AccountClaims) error {
	waitOut(claims.IssuedAt)
	token, err := claims.Encode(a.realm.keys["operatorSigning"])
	if err != nil {
		return fmt.Errorf("account %s: %w", account, err)
	}
	a.reach.Log.Info().Str("account", account).Int("refused", len(claims.Revocations)).Msg("servers are told of an account")
	return hand(nc, token)
}

// hand gives all servers the token of an account.
func hand(nc *nats.Conn, token string) error {
	answers, err := gather(nc, subjects.PushAccount, []byte(token))
	if err != nil {
		return err
	}
	return taken(answers)
}

// settle has all servers go by the claims of an account that are the newest among them, as the address book has them
// and with keys that it refuses. Where all that answer do already they are told anyhow if told says so.
//
// A server that takes claims cuts the connections of refused keys among those that it has registered, and it registers
// a connection a moment after it has let it in. So it is told twice, by claims that it does not have yet.
func (a *Accounts) settle(nc *nats.Conn, account string, refused []string, told bool) error {
	changed, err := a.round(nc, account, refused, told)
	if changed && err == nil {
		_, err = a.round(nc, account, refused, true)
	}
	return err
}

// round is settle, once. It says whether servers did not go by the claims before.
func (a *Accounts) round(nc *nats.Conn, account string, refused []string, told bool) (changed bool, err error) {
	claims, token, same, err := lookUp(nc, a.keyOf(account))
	if err != nil {
		return false, err
	}
	if changed, err = a.realm.follow(claims); err != nil {
		return false, err
	}
	changed = changed || !same
	for _, key := range refused {
		if _, there := claims.Revocations[key]; !there {
			claims.Revoke(key)
			changed = true
		}
	}
	switch {
	case changed || told && len(claims.Revocations) > 0:
		err = a.tell(nc, account, claims)
	case told:
		err = hand(nc, token)
	}
	return changed, err
}

// waitOut waits until another second than that of claims: of two of one second servers do not know the newer one.
func waitOut(second int64) {
	if wait := time.Until(time.Unix(second+1, 0)); wait > 0 && wait <= 2*time.Second {
		<-time.After(wait)
	}
}

// lookUp is the newest of the claims that servers have of an account, with the keys that any of them refuses; same
// says that all of them have the same, which is token.
func lookUp(nc *nats.Conn, account string) (newest *jwt.AccountClaims, token string, same bool, err error) {
	answers, err := gather(nc, subjects.LookUpAccount(account), nil)
	if err != nil {
		return nil, "", false, err
	}
	refused := jwt.RevocationList{}
	same = true
	for _, answer := range answers {
		claims, err := jwt.DecodeAccountClaims(string(answer))
		if err != nil {
			same = false // servers that do not have it answer nothing
			continue
		}
		for key, at := range claims.Revocations {
			refused[key] = max(refused[key], at)
		}
		same = same && (token == "" || token == string(answer))
		if newest == nil || claims.IssuedAt > newest.IssuedAt {
			newest, token = claims, string(answer)
		}
	}
	if newest == nil {
		return nil, "", false, fmt.Errorf("no server has account %s: they need the accounts.conf of this folder, and a resolver of type full", account)
	}
	newest.Revocations = refused
	return newest, token, same, nil
}

// taken reads what servers say to claims.
func taken(answers [][]byte) error {
	var faults []error
	for _, text := range answers {
		var answer struct {
			Server struct {
				Name string `json:"name"`
			} `json:"server"`
			Error struct {
				Description string `json:"description"`
			} `json:"error"`
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			faults = append(faults, fmt.Errorf("the answer of a server: %w", err))
		} else if answer.Error.Description != "" {
			faults = append(faults, fmt.Errorf("server %s: %s", answer.Server.Name, answer.Error.Description))
		}
	}
	return errors.Join(faults...)
}

// gather asks all servers and returns what they answer, one at least.
func gather(nc *nats.Conn, subject string, request []byte) ([][]byte, error) {
	inbox := nc.NewInbox()
	heard, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = heard.Unsubscribe() }()
	if err := nc.PublishRequest(subject, inbox, request); err != nil {
		return nil, err
	}
	var answers [][]byte
	for patience := firstAnswer; ; patience = nextAnswer {
		answer, err := heard.NextMsg(patience)
		switch {
		case err == nil && answer.Header.Get("Status") != bus.StatusNoResponders:
			answers = append(answers, answer.Data)
		case len(answers) > 0:
			return answers, nil
		case err == nil || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders):
			return nil, fmt.Errorf("no server answers on %s: they need a resolver of type full", subject)
		default:
			return nil, err
		}
	}
}

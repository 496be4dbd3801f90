package bus

import (
	"errors"
	"fmt"

	"flotilla/core/seal"
	"flotilla/subjects"

	"github.com/nats-io/nkeys"
)

// ErrNotOfHub says that a command is not what the hub sealed for this member.
var ErrNotOfHub = errors.New("it is not sealed by the hub for this member")

// curveOf is the hub's own curve key, which stays for as long as the fleet lives.
func curveOf(keys *seal.Keyring) (nkeys.KeyPair, error) {
	seed, err := nkeys.EncodeSeed(nkeys.PrefixByteCurve, keys.Seed())
	if err != nil {
		return nil, fmt.Errorf("the hub's own key: %w", err)
	}
	return nkeys.FromCurveSeed(seed)
}

// HubKey is the public curve key (X…) of the hub that holds the keys: members know by it what the hub sealed.
func HubKey(keys *seal.Keyring) (string, error) {
	curve, err := curveOf(keys)
	if err != nil {
		return "", err
	}
	return curve.PublicKey()
}

// sealTo seals a command to a public curve key, under which alone it can be opened, and as the hub's.
func (c *Commands) sealTo(value []byte, key string) ([]byte, error) {
	if key == "" {
		return value, nil
	}
	return c.curve.Seal(value, key)
}

// opened is a stored command of a kind as the hub packed it. An index that is not sealed to this agent, by the hub
// that made its token, is ErrNotOfHub.
func (a *AgentConn) opened(kind string, stored []byte) ([]byte, error) {
	switch {
	case kind != subjects.CommandPlacement:
		return stored, nil
	case a.wallet == nil:
		return nil, fmt.Errorf("%w: the agent registered no key; `flotilla member enrol %s` makes a token for --token", ErrNotOfHub, a.member)
	}
	return a.wallet.openIndex(stored)
}

// openIndex opens what the hub sealed to any key of the wallet: while a token is traded there are two.
func (w *Wallet) openIndex(sealed []byte) ([]byte, error) {
	w.mu.Lock()
	held, next := w.held, w.next
	w.mu.Unlock()
	for _, p := range []*papers{held, next} {
		if p == nil || p.HubKey == "" {
			continue
		}
		if value, err := p.sealing.Open(sealed, p.HubKey); err == nil {
			return value, nil
		}
	}
	return nil, fmt.Errorf("%w; after a loss of the hub's secrets enrol anew, `flotilla member enrol %s`", ErrNotOfHub, w.Member())
}

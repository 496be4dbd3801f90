package bus

import (
	"errors"
	"fmt"

	"flotilla/core/api"
	"flotilla/core/seal"

	"github.com/nats-io/nkeys"
)

// ErrNotOfHub says that a command is not what the hub sealed for this member.
var ErrNotOfHub = errors.New("it is not sealed by the hub for this member")

// CurveOf is the hub's own curve key, which stays for as long as the fleet lives.
func CurveOf(keys *seal.Keyring) (nkeys.KeyPair, error) {
	seed, err := nkeys.EncodeSeed(nkeys.PrefixByteCurve, keys.Seed())
	if err != nil {
		return nil, fmt.Errorf("the hub's own key: %w", err)
	}
	return nkeys.FromCurveSeed(seed)
}

// HubKey is the public curve key (X…) of the hub that holds the keys: members know by it what the hub sealed.
func HubKey(keys *seal.Keyring) (string, error) {
	curve, err := CurveOf(keys)
	if err != nil {
		return "", err
	}
	return curve.PublicKey()
}

// OpenChange returns a change of a member's index that the hub sealed for a position, with the session key of its base.
// ErrNotOfHub.
func OpenChange(member string, session []byte, position api.IndexPosition, sealed []byte) ([]byte, error) {
	body, err := seal.Open(seal.Change(member, session, position), sealed, MaxCommand)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotOfHub, err)
	}
	return body, nil
}

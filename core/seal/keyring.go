package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"flotilla/core/api"
)

// KeyBytes is the length of every secret and key.
const KeyBytes = 32

// What one secret is used for, so that no use tells anything of another.
const (
	useDigest = "flotilla digest\x00"
	useKey    = "flotilla content key\x00"
	usePlace  = "flotilla content place\x00"
	useName   = "flotilla name of a secret\x00"
	useNonce  = "flotilla nonce\x00"
	useSeed   = "flotilla hub seed\x00"
	useBackup = "flotilla backup\x00"
	useChange = "flotilla changes of an index\x00"

	useForward = "flotilla forwarded request\x00"
)

// Keyring holds the secrets that content is sealed with. It is not changed once made.
type Keyring struct {
	// Digests is what digests are keyed with. It stays as it is for as long as the fleet lives, so that a
	// rotation of the others changes no digest, and nothing is applied anew.
	Digests []byte
	// Content are the secrets that content was sealed with; the first one seals, all of them open.
	Content [][]byte
}

// NewKeyring makes one with secrets of its own.
func NewKeyring(random io.Reader) (*Keyring, error) {
	k := &Keyring{Digests: make([]byte, KeyBytes), Content: [][]byte{make([]byte, KeyBytes)}}
	for _, secret := range [][]byte{k.Digests, k.Content[0]} {
		if _, err := io.ReadFull(random, secret); err != nil {
			return nil, fmt.Errorf("making secrets: %w", err)
		}
	}
	return k, nil
}

// Check says what is wrong with the secrets, without showing any.
func (k *Keyring) Check() error {
	if len(k.Digests) != KeyBytes {
		return fmt.Errorf("digests: found %d bytes, expected %d", len(k.Digests), KeyBytes)
	}
	if len(k.Content) == 0 {
		return errors.New("content: found no secret, expected one or more")
	}
	for i, secret := range k.Content {
		if len(secret) != KeyBytes {
			return fmt.Errorf("content[%d]: found %d bytes, expected %d", i, len(secret), KeyBytes)
		}
		if slices.ContainsFunc(k.Content[:i], func(other []byte) bool { return hmac.Equal(other, secret) }) {
			return fmt.Errorf("content[%d]: found a secret twice, expected each once", i)
		}
	}
	return nil
}

// Digest is that of a body: 64 hexadecimal digits that only who holds the secrets can compute.
func (k *Keyring) Digest(body []byte) string { return hex.EncodeToString(k.Sum(body)) }

// Sum is the digest of a body, KeyBytes long.
func (k *Keyring) Sum(body []byte) []byte {
	sum := sha256.Sum256(body)
	return derive(k.Digests, useDigest, sum[:])
}

// Session is the key for changes of the index of a member that was stored whole at a base, sealed to a key.
func (k *Keyring) Session(member, to string, base api.Order) []byte {
	return derive(k.Content[0], useChange, []byte(member+" "+to+" "+base.String()))
}

// Change is what a change of a member's index is sealed for: it can be opened with the key of its base, by who expects
// it for that member and in that position.
func Change(member string, session []byte, position api.IndexPosition) api.Piece {
	return api.Piece{At: member + " " + position.String(), Key: session}
}

// Forward is what one message between hubs is sealed for; two have never the same name.
func (k *Keyring) Forward(name string) api.Piece {
	return api.Piece{At: name, Key: derive(k.Digests, useForward, []byte(name))}
}

// Piece is where the body of a digest lies, and its key, as it is sealed now.
func (k *Keyring) Piece(digest string) api.Piece { return pieceOf(k.Content[0], digest) }

// Pieces are where the body of a digest may lie, sealed now or before a rotation.
func (k *Keyring) Pieces(digest string) []api.Piece {
	pieces := make([]api.Piece, len(k.Content))
	for i, secret := range k.Content {
		pieces[i] = pieceOf(secret, digest)
	}
	return pieces
}

func pieceOf(secret []byte, digest string) api.Piece {
	return api.Piece{At: hex.EncodeToString(derive(secret, usePlace, []byte(digest))), Key: derive(secret, useKey, []byte(digest))}
}

// Name is what a secret is called where it must not be shown: 12 hexadecimal digits.
func Name(secret []byte) string { return hex.EncodeToString(derive(secret, useName, nil)[:6]) }

// Sealing is the name of the secret that content is sealed with now.
func (k *Keyring) Sealing() string { return Name(k.Content[0]) }

// Seed is what the hub's own key pair is made of. A rotation does not change it: members know its public part.
func (k *Keyring) Seed() []byte { return derive(k.Digests, useSeed, nil) }

func derive(secret []byte, use string, of []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(use))
	mac.Write(of)
	return mac.Sum(nil)
}

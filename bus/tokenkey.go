package bus

import (
	"github.com/nats-io/nkeys"
)

// NewTokenKey makes the key of a token, for hubs that sign no credentials.
func NewTokenKey() (seed, key string, err error) {
	user, err := nkeys.CreateUser()
	if err != nil {
		return "", "", err
	}
	if key, err = user.PublicKey(); err != nil {
		return "", "", err
	}
	text, err := user.Seed()
	return string(text), key, err
}

package streams

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/seal"
)

// Errors about secrets; a hub does not compete with either.
var (
	// ErrSecrets: this hub does not hold what the fleet's content is sealed with.
	ErrSecrets = errors.New("the secrets are not those of this fleet")
	// ErrOlderState: the stored state is of a build that did not seal content, or stored it otherwise.
	ErrOlderState = errors.New("the stored state is of an older build")
)

// StartAnew says how to leave state of an older build behind.
const StartAnew = "run the older hub once more and save what people applied with `flotilla get -o yaml`, " +
	"start this one on an empty data folder (or another --fleet), and `flotilla apply` what was saved"

// Sealing is what the record layout says of secrets.
func Sealing(keys *seal.Keyring) api.Sealing {
	record := api.Sealing{Digests: seal.Name(keys.Digests)}
	for _, secret := range keys.Content {
		record.Content = append(record.Content, seal.Name(secret))
	}
	return record
}

// SealingInUse is what the record layout says while content is sealed with secrets of another record too: those stay
// named until everything was sealed anew.
func SealingInUse(found *api.Sealing, keys *seal.Keyring) api.Sealing {
	record := Sealing(keys)
	record.Content = record.Content[:1]
	for _, name := range found.Content {
		if name != record.Content[0] {
			record.Content = append(record.Content, name)
		}
	}
	return record
}

// CheckSealing says whether secrets are those that a record tells of: the same for digests, and at least all that
// content is sealed with. ErrSecrets.
func CheckSealing(record *api.Sealing, keys *seal.Keyring) error {
	mine := Sealing(keys)
	if record.Digests != mine.Digests {
		return fmt.Errorf("%w: its digests are made with secret %s, this hub holds %s: give it the secrets of the hub that began the fleet",
			ErrSecrets, record.Digests, mine.Digests)
	}
	var lacking []string
	for _, name := range record.Content {
		if !slices.Contains(mine.Content, name) {
			lacking = append(lacking, name)
		}
	}
	if len(lacking) > 0 {
		return fmt.Errorf("%w: content is sealed with secret %s, which this hub does not hold: give it the secrets of the hub that led last",
			ErrSecrets, strings.Join(lacking, ", "))
	}
	return nil
}

// CheckSecrets refuses secrets that are not the fleet's, and state that is not sealed, or not as this build reads it.
func CheckSecrets(found *api.Layout, keys *seal.Keyring) error {
	switch {
	case found.Step == 0: // nothing is stored yet
		return nil
	case found.Sealing.Digests == "":
		return fmt.Errorf("%w, which did not seal content: %s", ErrOlderState, StartAnew)
	case found.Format < api.StateFormat:
		return fmt.Errorf("%w, which stored content in format %d, this one reads %d: %s", ErrOlderState, found.Format, api.StateFormat, StartAnew)
	}
	return CheckSealing(&found.Sealing, keys)
}

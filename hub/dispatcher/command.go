package dispatcher

import (
	"encoding/json"
	"fmt"

	"flotilla/core/api"
	"flotilla/subjects"
)

// command is what an address should hold, before it has an order.
type command struct {
	// empty commands need not be sent to whom nothing was ever sent.
	empty bool
	// lasting ones stay when their member has left.
	lasting bool
	digest  string
	// to is the public curve key that it is sealed to; empty: it is not.
	to string
	// ordered is the message to store.
	ordered func(api.Order) any
}

// wanted is the command of an address as the records have it now.
func (d *Dispatcher) wanted(to address) (command, error) {
	switch to.kind {
	case subjects.CommandUpgrade:
		return d.upgrades(to.member)
	case subjects.CommandDisruption:
		return d.disruptions(to.member)
	}
	return d.placements(to.member)
}

func (d *Dispatcher) placements(member string) (command, error) {
	// What the queue has yet to take over is taken over now: a command must not say again what was before.
	for _, placement := range d.index.behind(member, func(name string) uint64 { return d.store.State.Revision(d.releases.Key(name)) }) {
		_ = d.follow(placement) // the queue tells of what cannot be read
	}
	message := api.PlacementCommand{
		Header: api.Header{Kind: api.KindPlacementCommand, Level: d.options.Level}, Member: member, Entries: d.index.entries(member),
	}
	for i := range message.Entries {
		if entry := &message.Entries[i]; entry.Work != "" && !entry.Withdrawn {
			entry.Piece = d.store.Keys.Piece(entry.Work)
		}
	}
	to, err := d.sealingKey(member)
	if err != nil {
		return command{}, err
	}
	digest, err := d.digestOf([]any{to, message})
	return command{empty: len(message.Entries) == 0, digest: digest, to: to, ordered: func(o api.Order) any {
		message.Order = o
		return message
	}}, err
}

func (d *Dispatcher) upgrades(member string) (command, error) {
	message := api.UpgradeCommand{
		Header: api.Header{Kind: api.KindUpgradeCommand, Level: d.options.Level}, Member: member, Operation: d.operations.of(member),
	}
	if message.Operation == nil {
		if _, err := d.runs.FindAll(); err != nil {
			return command{}, err // it may command one: an upgrade that runs is not taken back
		}
	}
	digest, err := d.digestOf(message)
	return command{empty: message.Operation == nil, digest: digest, ordered: func(o api.Order) any {
		message.Order = o
		return message
	}}, err
}

// sealingKey is the key that a member's index is sealed to, empty where its agent made none. A record that cannot be
// read is no reason to send an index in clear.
func (d *Dispatcher) sealingKey(member string) (string, error) {
	identity, _, _, err := d.identities.Find(member)
	return identity.SealingKey, err
}

// digestOf is the keyed digest of a command that has no order yet.
func (d *Dispatcher) digestOf(message any) (string, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return "", fmt.Errorf("encoding a command: %w", err)
	}
	return d.store.Keys.Digest(body), nil
}

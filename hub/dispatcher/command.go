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
	// ordered is the message to store; nil for an index.
	ordered func(api.Order) any
	// index is what there is of one.
	index view
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

// digestOf is the keyed digest of a command that has no order yet.
func (d *Dispatcher) digestOf(message any) (string, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return "", fmt.Errorf("encoding a command: %w", err)
	}
	return d.store.Keys.Digest(body), nil
}

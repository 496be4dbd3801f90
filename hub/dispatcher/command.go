package dispatcher

import (
	"encoding/json"
	"fmt"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"
)

// command is what an address should hold, before it has an order.
type command struct {
	// empty commands need not be sent to whom nothing was ever sent.
	empty  bool
	digest string
	// ordered is the message to store.
	ordered func(api.Order) any
}

// wanted is the command of an address as the records have it now.
func (d *Dispatcher) wanted(to address) (command, error) {
	header := api.Header{Level: d.options.Level}
	if to.kind == subjects.CommandUpgrade {
		header.Kind = api.KindUpgradeCommand
		message := api.UpgradeCommand{Header: header, Member: to.member, Operation: d.operations.of(to.member)}
		digest, err := digestOf(message)
		return command{empty: message.Operation == nil, digest: digest, ordered: func(o api.Order) any {
			message.Order = o
			return message
		}}, err
	}
	header.Kind = api.KindPlacementCommand
	message := api.PlacementCommand{Header: header, Member: to.member, Entries: d.index.entries(to.member)}
	digest, err := digestOf(message)
	return command{empty: len(message.Entries) == 0, digest: digest, ordered: func(o api.Order) any {
		message.Order = o
		return message
	}}, err
}

// digestOf is the digest of a command that has no order yet.
func digestOf(message any) (string, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return "", fmt.Errorf("encoding a command: %w", err)
	}
	return bus.Digest(body), nil
}

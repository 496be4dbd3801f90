package upgrader

import (
	"context"
	"errors"
	"fmt"

	"flotilla/agent/disk"
)

// none says that the hub has no command though the disk wants an upgrade.
func (u *Upgrader) none() {
	if r, ok := u.ledger.wanted(); ok && r.Result == nil && r.Started.IsZero() && !u.ledger.heard() {
		u.setTrouble(fmt.Sprintf("the hub wants no upgrade of member %s, and the agent's disk wants operation %s: it does not begin before the hub has given a command", u.o.Member, r.Operation.ID))
	}
}

// take takes the stored command over when it is newer.
func (u *Upgrader) take(_ context.Context, body []byte, sequence uint64) {
	changed, err := u.ledger.accept(body, u.o.Hub.Now())
	switch {
	case errors.Is(err, disk.ErrOlder):
		u.o.Log.Warn().Err(err).Uint64("sequence", sequence).Msg("the stored upgrade command is not followed")
	case err != nil:
		u.o.Log.Error().Err(err).Uint64("sequence", sequence).Msg("the stored upgrade command is not followed")
		u.setTrouble(err.Error())
	default:
		u.setTrouble("")
	}
	if changed {
		u.wait()
		u.inventory.refresh(false)
		u.work.Add(operations)
	}
}

package upgrader

import (
	"context"
	"errors"

	"flotilla/agent/disk"
)

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

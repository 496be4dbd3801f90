package salvage

import (
	"context"
	"encoding/json"

	"flotilla/bus"
	"flotilla/bus/store"
	"flotilla/core/api"
)

// Whole are the verbs of a hub that leads. stand is called when a restore begins: the hub then is to stop what it
// does, and to run a Salvage.
func Whole(store *store.Store, stand func()) map[string]bus.Handler {
	return map[string]bus.Handler{
		api.VerbBackup: newBackups(store).answer,
		api.VerbRestore: func(_ context.Context, _ api.Caller, body []byte) (any, error) {
			var r api.RestoreRequest
			if err := json.Unmarshal(body, &r); err != nil {
				return nil, unreadable(err)
			}
			if r.AcceptLoss {
				return nil, &api.Failure{Code: api.CodeRefused, Message: "state is whole: nothing was lost that could be accepted", Next: "flotilla status"}
			}
			if err := mayRestore(store, &r); err != nil {
				return nil, err
			}
			stand()
			return nil, &api.Failure{Code: api.CodeUnavailable, Message: "the hub stops leading for a restore: ask again"}
		},
	}
}

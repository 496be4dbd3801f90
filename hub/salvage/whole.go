package salvage

import (
	"context"

	"flotilla/bus"
	"flotilla/core/api"
)

// Whole are the verbs of a hub that leads.
func Whole() map[string]bus.Handler {
	return map[string]bus.Handler{api.VerbRestore: whole}
}

func whole(context.Context, api.Caller, []byte) (any, error) {
	return nil, &api.Failure{Code: api.CodeRefused, Message: "state is whole: nothing was lost that could be accepted", Next: "flotilla status"}
}

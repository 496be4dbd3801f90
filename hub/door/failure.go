package door

import (
	"errors"

	"flotilla/bus"
	"flotilla/core/api"
)

func unavailable(err error) *api.Failure {
	return &api.Failure{Code: api.CodeUnavailable, Message: "the hub is not ready: " + err.Error(), Next: "flotilla status"}
}

// translate turns errors of the bus into failures that a client can act on.
func translate(err error) error {
	var failure *api.Failure
	switch {
	case errors.As(err, &failure):
		return failure
	case errors.Is(err, bus.ErrDeposed), errors.Is(err, bus.ErrNotSynced), errors.Is(err, bus.ErrConflict):
		return unavailable(err)
	case errors.Is(err, bus.ErrTooLarge):
		return &api.Failure{Code: api.CodeTooLarge, Message: err.Error()}
	}
	return err
}

package door

import (
	"errors"
	"fmt"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/strict"
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

// refusal is every fault of a request in one failure. What kind of faults there are decides its code. What to
// type next only the client knows, who knows the files.
type refusal struct {
	faults strict.Faults
	// tooLarge counts faults that are not about the form of a document.
	tooLarge int
}

func (r *refusal) failure(documents int) *api.Failure {
	if len(r.faults) == 0 {
		return nil
	}
	code := api.CodeInvalid
	if len(r.faults) == r.tooLarge {
		code = api.CodeTooLarge
	}
	return &api.Failure{
		Code: code, Faults: r.faults,
		Message: fmt.Sprintf("nothing was applied: %s in %s", api.Counted(len(r.faults), "fault"), api.Counted(documents, "document")),
	}
}

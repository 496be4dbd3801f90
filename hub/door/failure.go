package door

import (
	"errors"
	"fmt"
	"strings"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/phrase"
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
		Message: fmt.Sprintf("nothing was applied: %s in %s", phrase.Count(len(r.faults), "fault"), phrase.Count(documents, "document")),
	}
}

// rejection is why a draft must not be committed.
type rejection struct {
	refused  refusal
	conflict strict.Faults
	// refusals are rules about upgrades that the request breaks.
	refusals []*api.Refusal
	// crowded is why members are not admitted.
	crowded *api.Failure
}

// failure says why the draft must not be committed, nil when it may.
func (r *rejection) failure(documents int) *api.Failure {
	if failure := r.refused.failure(documents); failure != nil {
		return failure
	}
	if r.crowded != nil {
		return r.crowded
	}
	if len(r.refusals) > 0 {
		return refusedUpgrades(r.refusals)
	}
	if len(r.conflict) == 0 {
		return nil
	}
	return &api.Failure{
		Code: api.CodeConflict, Faults: r.conflict,
		Message: "nothing was applied: " + phrase.Count(len(r.conflict), "object") + " changed since read",
		Next:    "flotilla get " + r.conflict[0].Object + " -o yaml",
	}
}

// refusedUpgrades is the failure of a request that breaks rules about upgrades: the first one gives the
// code and the next command, all are told.
func refusedUpgrades(refusals []*api.Refusal) *api.Failure {
	failure := refusals[0].Failure()
	messages := []string{failure.Message}
	for _, other := range refusals[1:] {
		more := other.Failure()
		messages = append(messages, more.Message)
		failure.Faults = append(failure.Faults, more.Faults...)
	}
	failure.Message = "nothing was applied: " + strings.Join(messages, "; ")
	return failure
}

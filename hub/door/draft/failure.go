package draft

import (
	"fmt"
	"strings"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/strict"
)

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
	// foreign is what makes sets collide.
	foreign strict.Faults
	// taken are objects that were to be created and exist, absent those that were to be there and are not.
	taken, absent strict.Faults
	// refusals are rules about upgrades that the request breaks.
	refusals []*api.Refusal
	// crowded is why members are not admitted.
	crowded *api.Failure
}

// Failure says why the draft must not be committed, nil when it may.
func (r *rejection) Failure(documents int) *api.Failure {
	if failure := r.refused.failure(documents); failure != nil {
		return failure
	}
	if r.crowded != nil {
		return r.crowded
	}
	if len(r.refusals) > 0 {
		return refusedUpgrades(r.refusals)
	}
	if len(r.foreign) > 0 {
		return &api.Failure{
			Code: api.CodeInvalid, Faults: r.foreign, Next: "flotilla apply --help",
			Message: "nothing was applied: " + phrase.Count(len(r.foreign), "object") + " in the way of the set",
		}
	}
	if failure := r.unmet(); failure != nil {
		return failure
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

// unmet says that objects exist, or do not, against what was asked for.
func (r *rejection) unmet() *api.Failure {
	code, what, faults := api.CodeConflict, "of what exists already: ", r.taken
	if len(r.absent) > 0 {
		code, what, faults = api.CodeNotFound, "of what does not exist: ", r.absent
	}
	if len(faults) == 0 {
		return nil
	}
	names := make([]string, len(faults))
	for i := range faults {
		names[i] = faults[i].Object
	}
	return &api.Failure{Code: code, Faults: faults, Message: "nothing was applied, because " + what + phrase.List(names, 3)}
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

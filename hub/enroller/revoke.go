package enroller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/enrolment"
	"flotilla/subjects"
)

// revocation is what was decided about an agent.
type revocation struct {
	member    string
	unchanged bool
	// keys are those that servers are to refuse, the newest last.
	keys []string
}

// revoking answers who revokes an agent, once servers refuse it and what it stored is removed. It may be asked again,
// where that could not be done.
func (e *Enroller) revoking() bus.Handler {
	decided := verb(e, e.revoke)
	return func(ctx context.Context, by api.Caller, body []byte) (any, error) {
		answer, err := decided(ctx, by, body)
		done, ok := answer.(*revocation)
		if err != nil || !ok {
			return nil, err
		}
		left := e.cut(done)
		if err := e.cuts.free(ctx, done.member); err != nil && left == nil {
			left = &api.Failure{
				Code: api.CodeInternal, Message: "its agent is refused, and what it stored is still there: " + err.Error(),
				Next: "flotilla member revoke " + done.member,
			}
		}
		return &api.MemberRevokeResponse{Unchanged: done.unchanged, Left: left}, nil
	}
}

// revoke decides; the lock is held.
func (e *Enroller) revoke(ctx context.Context, request *api.MemberRevokeRequest) (*revocation, error) {
	if err := subjects.CheckLabel("member", request.Name); err != nil {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: err.Error()}
	}
	record, revision, found, err := e.records.Find(request.Name)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, e.noAgent(request.Name)
	}
	if other := another(&record, request.Key); other != nil {
		return nil, other
	}
	next, changed := enrolment.Revoke(record, request.By.Name, e.store.Now())
	done := &revocation{member: request.Name, unchanged: !changed, keys: next.Former}
	if !changed {
		return done, nil
	}
	if record.Key != "" {
		done.keys = []string{record.Key}
	}
	told := request.By.Audit(api.Audit{
		Object: subjects.KindMember + "/" + request.Name, Member: request.Name, Type: "Normal", Reason: enrolment.ReasonRevoked,
		Message: enrolment.Refused(request.Name),
	})
	if _, err := e.store.WriteTold(ctx, []api.Audit{told}, e.records.Put(request.Name, &next, revision)); err != nil {
		return nil, err
	}
	e.wait(request.Name, nil)
	return done, nil
}

// another says that an agent holds another key than somebody saw; nil where it does not, or that one was refused meanwhile.
func another(record *api.Identity, seen *string) *api.Failure {
	if seen == nil || record.Key == *seen || record.Key == "" && slices.Contains(record.Former, *seen) {
		return nil
	}
	is, was := "no key", "none"
	if record.Key != "" {
		is = "key " + record.Key + " since " + record.Enrolled.UTC().Format(time.RFC3339)
	}
	if *seen != "" {
		was = *seen
	}
	return &api.Failure{
		Code: api.CodePrecondition, Next: "flotilla describe member " + record.Name,
		Message: fmt.Sprintf("nothing was done: the agent of %s changed since you looked: it holds %s; it was %s", record.Name, is, was),
	}
}

// noAgent says that there is nothing to revoke that the hub knows of.
func (e *Enroller) noAgent(member string) *api.Failure {
	failure := &api.Failure{
		Code: api.CodeNotFound, Message: fmt.Sprintf("no agent of member %s is enrolled, and no token was made for it", member), Next: "flotilla get members",
	}
	if e.options.Issuer == nil {
		failure.Message += "; who made its credentials revokes them"
		failure.Next = bus.RevokeCommandOf(subjects.AccountAgents, member)
	}
	return failure
}

// cut has servers refuse keys, or says which they go on to take, and what to type then.
func (e *Enroller) cut(done *revocation) *api.Failure {
	if e.options.Issuer == nil {
		return &api.Failure{
			Code: api.CodeInternal, Next: bus.RevokeCommandOf(subjects.AccountAgents, done.member),
			Message: fmt.Sprintf("the hub answers the agent of member %s no more; its servers go on to take its credentials, which the hub did not make", done.member),
		}
	}
	for _, key := range done.keys {
		err := error(&bus.NotRevokedError{Account: subjects.AccountAgents, Key: key, Why: "the hub has no key of their operator"})
		if e.options.Revoke != nil {
			err = e.options.Revoke(subjects.AccountAgents, key)
		}
		if err == nil {
			continue
		}
		again, goesOn := "flotilla member revoke "+done.member, "; the hub tries again"
		if elsewhere, ok := errors.AsType[*bus.NotRevokedError](err); ok {
			again, goesOn = bus.RevokeCommand(elsewhere.Account, elsewhere.Key), ""
		}
		return &api.Failure{
			Code: api.CodeInternal, Next: again,
			Message: fmt.Sprintf("the hub gives key %s of member %s nothing more, and its servers do not know yet: %v%s", key, done.member, err, goesOn),
		}
	}
	return nil
}

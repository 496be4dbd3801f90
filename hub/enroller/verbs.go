package enroller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/enrolment"
	"flotilla/subjects"
)

// Verbs are what people ask about identities of members, for the door's service.
func (e *Enroller) Verbs() map[string]bus.Handler {
	return map[string]bus.Handler{api.VerbEnrol: verb(e, e.enrol), api.VerbMemberRevoke: e.revoking()}
}

// verb wraps what changes a record: under the lock, and decided again when the record changed meanwhile.
func verb[Q, R any](e *Enroller, decide func(context.Context, *Q) (*R, error)) bus.Handler {
	return func(ctx context.Context, by api.Caller, body []byte) (any, error) {
		var request Q
		if err := api.ReadRequest(by, body, &request); err != nil {
			return nil, err
		}
		if !e.store.State.Synced() {
			return nil, unavailable(bus.ErrNotSynced)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		for try := 1; ; try++ {
			answer, err := decide(ctx, &request)
			switch {
			case err == nil:
				return answer, nil
			case errors.Is(err, bus.ErrConflict) && try < tries:
			case errors.Is(err, bus.ErrConflict), errors.Is(err, bus.ErrDeposed):
				return nil, unavailable(err)
			default:
				return nil, err
			}
		}
	}
}

func unavailable(err error) *api.Failure {
	return &api.Failure{Code: api.CodeUnavailable, Message: "the hub is not ready: " + err.Error(), Next: "flotilla status"}
}

// enrol makes a token for a member.
func (e *Enroller) enrol(ctx context.Context, request *api.EnrolRequest) (*api.EnrolResponse, error) {
	life := cmp.Or(request.Life.Duration, api.TokenLife)
	if err := errors.Join(subjects.CheckLabel("member", request.Name), enrolment.CheckLife(life)); err != nil {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: err.Error()}
	}
	if request.DryRun {
		return &api.EnrolResponse{Token: e.leads(request.Name)}, nil
	}
	record, revision, _, err := e.records.Find(request.Name)
	if err != nil {
		return nil, err
	}
	token, key, err := e.token(request.Name, life)
	if err != nil {
		return nil, fmt.Errorf("enrolling %s: %w", request.Name, err)
	}
	now := e.store.Now().UTC().Truncate(time.Second)
	issued := api.IssuedToken{Key: key, Made: metav1.NewTime(now), Ends: metav1.NewTime(now.Add(life)), By: request.By.Name}
	told := request.By.Audit(api.Audit{
		Object: subjects.KindMember + "/" + request.Name, Member: request.Name, Type: "Normal", Reason: "TokenMade",
		Message: "a token with which its agent enrols once, until " + issued.Ends.UTC().Format(time.RFC3339),
	})
	next := enrolment.Issue(record, request.Name, issued)
	if _, err := e.store.WriteTold(ctx, []api.Audit{told}, e.records.Put(request.Name, &next, revision)); err != nil {
		return nil, err
	}
	return &api.EnrolResponse{Token: token, Ends: issued.Ends}, nil
}

// leads says whose agent a token brings where; it has no key yet.
func (e *Enroller) leads(member string) api.Token {
	return api.Token{Fleet: e.store.Conn.Fleet.Name, Member: member, URL: e.options.URL}
}

func (e *Enroller) token(member string, life time.Duration) (token api.Token, key string, err error) {
	token = e.leads(member)
	if token.HubKey, err = bus.HubKey(e.store.Keys); err != nil {
		return token, "", err
	}
	if e.options.CA != nil {
		text, err := e.options.CA()
		if err != nil {
			return token, "", err
		}
		token.CA = string(text)
	}
	if e.options.Issuer == nil {
		token.Seed, key, err = bus.NewTokenKey()
		return token, key, err
	}
	token.Seed, key, token.Credentials, err = e.options.Issuer.Token(member, life)
	return token, key, err
}

package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"reflect"

	"flotilla/core/api"
)

// asked are the verbs of a service by who may ask for them.
type asked struct {
	verbs  map[string]Handler // of people
	ofHubs map[string]Handler
}

// handler is that of a verb for somebody.
func (a *asked) handler(by api.Caller, verb string) (Handler, error) {
	if h := a.ofHubs[verb]; h != nil {
		return h, nil
	}
	h := a.verbs[verb]
	switch needed := api.NeededFor(verb); {
	case !by.Role.Covers(needed):
		return nil, api.Forbidden(by, needed, verb)
	case h == nil:
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("verb %q: expected one that this hub knows", verb)}
	}
	return h, nil
}

// Ask has a verb of people, or one of hubs, answered in this process, on behalf of somebody whom the caller vouches for, as
// a request that came over NATS would be. The value is what the handler answers. A refusal is an *api.Failure. The end of ctx ends what only reads;
// what changes something goes on, unless it has not begun.
func (s *Service) Ask(ctx context.Context, by api.Caller, verb string, body []byte) (any, error) {
	if s.leads != nil && !s.leads() || !s.serving.Open() {
		return nil, notLeading()
	}
	defer s.serving.Leave()
	value, err := s.work(ctx, by, verb, body)
	if err != nil {
		return nil, failureOf(err)
	}
	return value, nil
}

// work answers a request that was counted in.
func (s *Service) work(ctx context.Context, by api.Caller, verb string, body []byte) (value any, err error) {
	handler, err := s.handler(by, verb)
	if err != nil {
		return nil, err
	}
	if err := requestBounds.Check(body); err != nil {
		return nil, unreadable(err)
	}
	by.Verb, by.Request = verb, cmp.Or(by.Request, rand.Text())
	if err := api.CheckRequestID(by.Request); err != nil {
		return nil, unreadable(err)
	}
	waiting, over := s.serving.Within(ctx)
	defer over()
	leave, err := s.places.Enter(waiting, verb, by.Name)
	if err != nil {
		return nil, &api.Failure{Code: api.CodeUnavailable, Message: "the hub was busy until nobody waited for the answer any more: ask again"}
	}
	defer leave()
	if !repeatable(verb) {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, end := s.serving.Within(ctx)
	defer end()
	defer s.stumbled(verb, &err)
	value, err = handler(context.WithValue(ctx, place{}, leave), by, body)
	return value, ended(ctx, err)
}

// repeatable says that a verb may be asked again where nobody knows whether it was answered: it changes nothing.
func repeatable(verb string) bool {
	gives := verb == api.VerbWeb || verb == api.VerbToken
	return verb == api.VerbSession || !gives && api.NeededFor(verb) == api.RoleViewer
}

// Deliver puts what a verb answered into what answer points to (nil: ignored), as it is where the types allow it, which
// is then not to be changed; else by way of JSON.
func Deliver(value, answer any) error {
	if answer == nil {
		return nil
	}
	into, from := reflect.ValueOf(answer).Elem(), reflect.ValueOf(value)
	if from.IsValid() && from.Kind() == reflect.Pointer && !from.IsNil() && from.Type().Elem().AssignableTo(into.Type()) {
		from = from.Elem()
	}
	if from.IsValid() && from.Type().AssignableTo(into.Type()) {
		into.Set(from)
		return nil
	}
	text, err := Encode(value)
	if err != nil {
		return fmt.Errorf("rendering the answer: %w", err)
	}
	return json.Unmarshal(text, answer)
}

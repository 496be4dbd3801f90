package hubd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/hub/door"
)

// entrance is the door as the page and the Kubernetes API have it: this hub's own while it answers, else that of the hub that leads.
type entrance struct {
	hub   *Hub
	other *bus.Forwarder
}

func (h *Hub) entrance() *entrance { return &entrance{hub: h, other: bus.NewForwarder(h.conn, h.keys)} }

// Ask has a verb answered on behalf of somebody. Once ctx has ended this hub's own door says that it is unavailable, which is no sign
// that another hub leads: other asks none then.
func (e *entrance) Ask(ctx context.Context, by api.Caller, verb string, question, answer any) error {
	body, err := bus.Encode(question)
	if err != nil {
		return fmt.Errorf("request %s: %w", verb, err)
	}
	if own := e.hub.door(); own != nil {
		value, err := own.Ask(ctx, by, verb, body)
		if err == nil {
			return bus.Deliver(value, answer)
		}
		if !isFailure(err, api.CodeUnavailable) { // or another hub may lead already
			return err
		}
	}
	text, err := e.other.Ask(ctx, by, verb, body)
	switch {
	case isFailure(err, api.CodeUnavailable):
		return e.unavailable(err)
	case err != nil || answer == nil:
		return err
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("reading the answer to %s: %w", verb, err)
	}
	return nil
}

// unavailable is why no hub answers, as far as this one knows.
func (e *entrance) unavailable(err error) error {
	if failure := door.NoRoom(e.hub.warden.room()); failure != nil {
		return failure
	}
	return err
}

func isFailure(err error, code string) bool {
	failure, is := errors.AsType[*api.Failure](err)
	return is && failure.Code == code
}

// askAsHub has a verb of hubs answered.
func (e *entrance) askAsHub(ctx context.Context, verb string, question, answer any) error {
	err := e.Ask(ctx, api.Caller{}, verb, question, answer)
	if isFailure(err, api.CodeNoEntry) {
		return fmt.Errorf("%w: %w", api.ErrNoEntry, err)
	}
	return err
}

// Enter begins a session with a link.
func (e *entrance) Enter(ctx context.Context, link, address string) (session string, err error) {
	var answer api.EnterResponse
	err = e.askAsHub(ctx, api.VerbEnter, api.EnterRequest{Link: link, Address: address}, &answer)
	return answer.Session, err
}

// Session says whose a session of the page is.
func (e *entrance) Session(ctx context.Context, session string) (api.Person, error) {
	return e.person(ctx, api.SessionRequest{Session: session})
}

// Token says whose a token for the Kubernetes API is.
func (e *entrance) Token(ctx context.Context, token string) (api.Person, error) {
	return e.person(ctx, api.SessionRequest{Session: token, Of: api.SecretOfToken})
}

func (e *entrance) person(ctx context.Context, secret api.SessionRequest) (api.Person, error) {
	var answer api.SessionResponse
	if err := e.askAsHub(ctx, api.VerbSession, secret, &answer); err != nil {
		return api.Person{}, err
	}
	return api.Person{Name: answer.Name, Role: answer.Role, Ends: answer.Ends.Time, Key: answer.Key}, nil
}

// Leave ends a session.
func (e *entrance) Leave(ctx context.Context, session string) error {
	return e.askAsHub(ctx, api.VerbLeave, api.SessionRequest{Session: session}, nil)
}

// Link makes a link to the page for somebody that holds for a while, on the hub that leads. A refusal is an *api.Failure.
func (h *Hub) Link(ctx context.Context, by api.Caller, life time.Duration) (*api.WebResponse, error) {
	own := h.opened(ctx)
	if own == nil {
		return nil, &api.Failure{Code: api.CodeUnavailable, Message: "this hub does not lead: ask the one that does", Next: "flotilla web"}
	}
	return own.Link(ctx, by, life)
}

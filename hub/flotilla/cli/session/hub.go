package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus"
	"flotilla/core/api"
)

// busHub is a hub reached over NATS.
type busHub struct {
	conn    *bus.Conn
	timeout time.Duration
}

// dialPause is between two tries to connect.
const dialPause = 500 * time.Millisecond

// dialHub connects. A server that is not there is tried again only by who said for how long.
func dialHub(ctx context.Context, c Connection) (Hub, error) {
	patience, over := context.WithTimeout(ctx, c.Timeout)
	defer over()
	for {
		conn, err := bus.ConnectClient(ctx, bus.Options{
			Fleet:   c.Fleet,
			URL:     c.URL,
			Creds:   c.Creds,
			CA:      c.CA,
			Context: c.Context,
			Version: api.Version,
			Log:     zerolog.Nop(),
		})
		switch {
		case err == nil:
			return &busHub{conn: conn, timeout: c.Timeout}, nil
		case !c.Patient || !errors.Is(err, bus.ErrUnreachable) || patience.Err() != nil || !Pause(ctx, dialPause):
			return nil, notConnected(err, c.Fleet)
		}
	}
}

// Call sends one request and decodes the answer.
func (h *busHub) Call(ctx context.Context, verb string, request, response any) error {
	err := bus.Request(ctx, h.conn, verb, request, response, bus.RequestOptions{Total: h.timeout})
	switch {
	case errors.Is(err, context.Canceled):
		return interrupted(verb, h.conn.URL())
	case errors.Is(err, bus.ErrUnreachable), errors.Is(err, bus.ErrDenied):
		return notConnected(err, h.conn.Fleet.Name)
	}
	return err
}

// URL is where the hub was reached.
func (h *busHub) URL() string { return h.conn.URL() }

// Close ends the connection.
func (h *busHub) Close() { h.conn.Close() }

// notConnected tells a hub that is away from flags, variables or credentials that are wrong.
func notConnected(err error, fleet string) *Failure {
	switch {
	case errors.Is(err, bus.ErrSetup):
		return &Failure{
			Code: ExitUsage, Next: "flotilla --help",
			Message: err.Error() + "; mend --url, --creds, --context or --fleet, or NATS_URL, NATS_CREDS, NATS_CONTEXT or FLOTILLA_FLEET",
		}
	case errors.Is(err, bus.ErrDenied):
		return &Failure{
			Code: ExitUsage, Next: "flotilla --help",
			Message: err.Error() + "; name credentials of a person of fleet " + fleet + " with --creds <data>/operator.creds (NATS_CREDS), or another fleet with --fleet",
		}
	}
	return &Failure{
		Code:    ExitUnreachable,
		Message: err.Error() + "; name a running hub with --url and --creds (NATS_URL, NATS_CREDS), or start one",
		Next:    "go run ./hub --dev",
	}
}

// interrupted says what a person did not wait for.
func interrupted(verb, url string) *Failure {
	message := "interrupted while waiting for the answer to " + verb + " from " + url
	if slices.Contains([]string{
		api.VerbApply, api.VerbDelete, api.VerbPatch, api.VerbAdmit, api.VerbEnrol, api.VerbDeleteNode,
		api.VerbRolloutUndo, api.VerbRolloutPause, api.VerbRolloutResume, api.VerbRolloutRestart, api.VerbFreeze, api.VerbUnfreeze, api.VerbApproveWithdrawal,
	}, verb) {
		message += ": it may have been done, or not"
	}
	return &Failure{Code: ExitPartial, Message: message}
}

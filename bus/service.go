package bus

import (
	"context"
	"time"
)

// ServiceOptions describe the hub's service.
type ServiceOptions struct {
	// Version is semver; Replica goes into the service's metadata.
	Version, Replica string
	// Workers is how many requests run at once, 32 when 0; Pending how many more may wait per verb,
	// 1024 when 0.
	Workers, Pending int
}

// Handler answers one request with a value that is sent as JSON. A returned *api.Failure is sent as
// it is, any other error as CodeInternal.
type Handler func(ctx context.Context, body []byte) (any, error)

// Service is the running micro service flotilla-hub.
type Service struct{}

// Serve answers verbs on flotilla.<fleet>.api.<verb> until Stop; ctx is handed to handlers.
func Serve(ctx context.Context, c *Conn, o ServiceOptions, verbs map[string]Handler) (*Service, error) {
	return nil, errUnbuilt
}

// Stop drains: no new request is taken, running ones are answered, then it returns.
func (s *Service) Stop() {}

// RequestOptions tune Request. The zero value is for the command line client.
type RequestOptions struct {
	// Total bounds all tries (45 s), Try one of them (10 s).
	Total, Try time.Duration
}

// Request sends request as JSON to a verb and decodes the answer into response (nil: ignored). It
// sends the same payload again on time-outs, no responders and CodeUnavailable. A refusal is an
// *api.Failure (errors.As); a hub that never answered is ErrUnreachable.
func Request(ctx context.Context, c *Conn, verb string, request, response any, o RequestOptions) error {
	return errUnbuilt
}

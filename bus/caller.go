package bus

import (
	"fmt"

	"flotilla/bus/said"
	"flotilla/core/api"

	"github.com/nats-io/nats.go/micro"
)

// caller is who sent a request: its subject says so, which servers let only them publish to.
func (s *Service) caller(r micro.Request) (api.Caller, error) {
	role, name, verb, ok := s.conn.Fleet.ParseAPI(r.Subject())
	if !ok {
		return api.Caller{}, &api.Failure{
			Code: api.CodeRefused, Message: "subject " + r.Subject() + ": expected that of a request by a person whose role covers the verb",
			Next: "flotilla whoami",
		}
	}
	by := api.Caller{Name: name, Role: role, Verb: verb, Request: r.Headers().Get(HeaderRequest)}
	if err := fits(by); err != nil {
		return by, err
	}
	info, ok := said.ByRequest(r)
	if !ok {
		return by, &api.Failure{
			Code: api.CodeInvalid, Message: "request " + by.Verb + ": found a header with lines that hide others, expected lines that end with CR LF, and 15 values at most",
			Next: "ask with flotilla, or with a client library of NATS",
		}
	}
	by.Key, by.Address = said.Who(info)
	return by, nil
}

// fits refuses callers whose names or request ids are longer than an event of what they do has room for.
func fits(by api.Caller) error {
	failure := &api.Failure{Code: api.CodeInvalid, Next: "flotilla --help"}
	switch err := api.CheckRequestID(by.Request); {
	case by.Request == "":
		failure.Message = "request " + by.Verb + " without the header " + HeaderRequest + ": expected an id of the sender's"
	case err != nil:
		failure.Message = "request " + by.Verb + ", header " + HeaderRequest + ": " + err.Error()
	case len(by.Name) > api.MaxUserName:
		failure.Message = fmt.Sprintf("request %s by a name of %d characters: expected at most %d", by.Verb, len(by.Name), api.MaxUserName)
	default:
		return nil
	}
	return failure
}

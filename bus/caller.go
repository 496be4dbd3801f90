package bus

import (
	"encoding/json"
	"net"

	"flotilla/core/api"

	"github.com/nats-io/nats.go/micro"
)

// headerInfo is what a server says of who sends a request through an import that shares it.
const headerInfo = "Nats-Request-Info"

// caller is who sent a request: its subject says so, which servers let only them publish to.
func (s *Service) caller(r micro.Request) (api.Caller, error) {
	role, name, verb, ok := s.conn.Fleet.ParseAPI(r.Subject())
	if !ok {
		return api.Caller{}, &api.Failure{
			Code: api.CodeRefused, Message: "subject " + r.Subject() + ": expected that of a request by a person whose role covers the verb",
			Next: "flotilla whoami",
		}
	}
	by := api.Caller{Name: name, Role: role, Request: r.Headers().Get(HeaderRequest)}
	if by.Request == "" {
		return by, &api.Failure{
			Code: api.CodeInvalid, Message: "request " + verb + " without the header " + HeaderRequest + ": expected an id of the sender's",
			Next: "flotilla --help",
		}
	}
	by.Key, by.Address = told(r.Headers().Get(headerInfo))
	return by, nil
}

// told is the user's key and the address in what the server says; empty where it says nothing.
func told(info string) (key, address string) {
	var said struct {
		User string `json:"user"`
		Host string `json:"host"`
	}
	if json.Unmarshal([]byte(info), &said) != nil {
		return "", ""
	}
	if net.ParseIP(said.Host) == nil {
		said.Host = "" // a connection within the hub's process
	}
	return said.User, said.Host
}

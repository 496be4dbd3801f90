package resource

import "flotilla/hub/flotilla/cli/session"

// Client reads and changes objects of the hub, as the flags that many commands share say.
type Client struct {
	*session.Session
	Namespace string
	Member    string // that nodes are of, "" for all
	// ShowSecrets asks for values of Secrets.
	ShowSecrets bool
}

// New is a client of a session.
func New(s *session.Session) *Client { return &Client{Session: s} }

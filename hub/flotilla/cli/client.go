package cli

// Client reads and changes objects of the hub, as the flags that many commands share say.
type Client struct {
	*Session
	namespace string
	member    string // that nodes are of, "" for all
	// showSecrets asks for values of Secrets.
	showSecrets bool
}

// NewClient is a client of a session.
func NewClient(s *Session) *Client { return &Client{Session: s} }

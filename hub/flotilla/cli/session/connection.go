package session

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
)

// Connection says which hub to talk to. Empty fields fall back to the environment, then to the
// defaults of NATS.
type Connection struct {
	URL     string // NATS_URL
	Creds   string // NATS_CREDS, path of a .creds file
	Context string // NATS_CONTEXT, name of a context of the nats command
	CA      string // NATS_CA, path of the authority of the servers' certificates
	Fleet   string // FLOTILLA_FLEET
	Timeout time.Duration
	// Patient says that the timeout was asked for: a server that does not listen is tried again too.
	Patient bool
	flags   *pflag.FlagSet
}

// AddFlags adds the flags that say which hub to talk to.
func (c *Connection) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.URL, "url", "", "NATS server of the hub (default $NATS_URL)")
	flags.StringVar(&c.Creds, "creds", "", "credentials file (default $NATS_CREDS)")
	flags.StringVar(&c.Context, "context", "", "context of the nats command line (default $NATS_CONTEXT)")
	flags.StringVar(&c.CA, "tls-ca", "", "authority of the servers' certificates, PEM (default $NATS_CA)")
	flags.StringVar(&c.Fleet, "fleet", "", `name of the fleet (default $FLOTILLA_FLEET, then "default")`)
	flags.DurationVar(&c.Timeout, "request-timeout", 45*time.Second, "how long to try one request again while no hub answers; when given, connecting too")
	c.flags = flags
}

func (c *Connection) withEnvironment(getenv func(string) string) Connection {
	all := Connection{
		URL:     c.URL,
		Creds:   c.Creds,
		CA:      c.CA,
		Context: cmp.Or(c.Context, getenv("NATS_CONTEXT")),
		Fleet:   cmp.Or(c.Fleet, getenv("FLOTILLA_FLEET"), "default"),
		Timeout: c.Timeout,
		Patient: c.flags != nil && c.flags.Changed("request-timeout"),
	}
	// A context that a flag names wins over the environment.
	if c.Context == "" {
		all.CA = cmp.Or(c.CA, getenv("NATS_CA"))
		all.URL, all.Creds = cmp.Or(c.URL, getenv("NATS_URL")), cmp.Or(c.Creds, getenv("NATS_CREDS"))
	}
	return all
}

// Configured says whether any hub was named, by flag or by environment.
func (c *Connection) Configured(getenv func(string) string) bool {
	all := c.withEnvironment(getenv)
	return cmp.Or(all.URL, all.Creds, all.Context) != ""
}

// Variable is one of the environment of a process.
type Variable struct{ Name, Value string }

// Variables have a process that is started anywhere, whatever its environment is, talk to the same hub.
func (a *Session) Variables() ([]Variable, error) {
	c := a.Connection.withEnvironment(a.Getenv)
	for _, file := range []*string{&c.Creds, &c.CA} {
		if *file == "" {
			continue
		}
		full, err := filepath.Abs(*file)
		if err != nil {
			return nil, err
		}
		*file = full
	}
	return []Variable{{"NATS_URL", c.URL}, {"NATS_CREDS", c.Creds}, {"NATS_CONTEXT", c.Context}, {"NATS_CA", c.CA}, {"FLOTILLA_FLEET", c.Fleet}}, nil
}

// Hub answers requests of the service api.<verb>. Errors are *api.Failure when a hub refused, and
// *Failure with ExitUnreachable when none answered.
type Hub interface {
	Call(ctx context.Context, verb string, request, response any) error
	Close()
}

package bus

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/nats-io/nats.go"
)

// endpoint is where to connect and as whom, after options, environment and context were read.
type endpoint struct {
	url         string
	from        string // where the URL came from, for errors
	auth        []nats.Option
	inboxPrefix string
	domain      string
}

// resolve finds the endpoint. What is given explicitly wins over the environment, which wins over a
// context that the environment names; a context that is named explicitly wins over the environment.
func (o Options) resolve() (endpoint, error) {
	if o.Server != nil {
		return endpoint{
			url: o.Server.URL(), from: "embedded",
			auth: append(credsOf(o.CredsText), nats.InProcessServer(o.Server.nats)),
		}, nil
	}
	env := o.getenv
	where, from, creds := o.URL, "given", o.Creds
	if o.Context == "" {
		if where == "" {
			where, from = env("NATS_URL"), "NATS_URL"
		}
		creds = cmp.Or(creds, env("NATS_CREDS"))
	}
	var e endpoint
	if name := cmp.Or(o.Context, env("NATS_CONTEXT")); name != "" {
		var err error
		if e, err = loadContext(name, env); err != nil {
			return e, err
		}
	}
	if where != "" {
		e.url, e.from = where, from
	}
	if e.url == "" {
		e.url, e.from = nats.DefaultURL, "the default"
	}
	if len(o.CredsText) > 0 || creds == "" {
		e.auth = append(e.auth, credsOf(o.CredsText)...)
		return e, nil
	}
	option, err := credsFile(creds)
	e.auth = append(e.auth, option)
	return e, err
}

// shown is the URL without passwords, for people.
func (e endpoint) shown() string {
	servers := strings.Split(e.url, ",")
	for i, server := range servers {
		if at, err := url.Parse(strings.TrimSpace(server)); err == nil {
			servers[i] = at.Redacted()
		}
	}
	return strings.Join(servers, ",")
}

// String is the URL that the options lead to, without passwords, and what named it.
func (o Options) String() string {
	e, err := o.resolve()
	if err != nil {
		return err.Error()
	}
	return e.shown() + " (" + e.from + ")"
}

func (o Options) getenv(name string) string {
	if o.Getenv != nil {
		return o.Getenv(name)
	}
	return os.Getenv(name)
}

func credsOf(text []byte) []nats.Option {
	if len(text) == 0 {
		return nil
	}
	return []nats.Option{nats.UserCredentialBytes(text)}
}

func credsFile(path string) (nats.Option, error) {
	_, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("credentials %s: no such file; the hub keeps those of its operator in <data>/operator.creds, "+
			"and a member's agent gets its own with `flotilla member enrol NAME > NAME.creds`", path)
	case err != nil:
		return nil, fmt.Errorf("credentials: %w", err)
	}
	return nats.UserCredentials(path), nil
}

func readCreds(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	return text, nil
}

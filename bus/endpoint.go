package bus

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"flotilla/configs/files"
	"flotilla/configs/private"

	"github.com/nats-io/nats.go"
)

// endpoint is where to connect and as whom, after options, environment and context were read.
type endpoint struct {
	url         string
	from        string // where the URL came from, for errors
	auth        []nats.Option
	holder      holder // of credentials, where they are a .creds file or its text
	user        string // where there are no credentials but a user
	inboxPrefix string
	domain      string
}

// resolve finds the endpoint. What is given explicitly wins over the environment, which wins over a
// context that the environment names; a context that is named explicitly wins over the environment.
func (o Options) resolve(guard func(path string) error) (endpoint, error) {
	if o.Server != nil {
		e := endpoint{
			url: nats.DefaultURL, from: "embedded", // within the process, without TLS
			auth: append(credsOf(o.CredsText), nats.InProcessServer(o.Server)),
		}
		e.holder, _ = holderOf(o.CredsText)
		return e, nil
	}
	env := o.getenv
	if o.ByWallet() {
		return o.resolveWallet(env)
	}
	where, from, creds, ca := o.URL, "given", o.Creds, o.CA
	if o.Context == "" {
		if where == "" {
			where, from = env("NATS_URL"), "NATS_URL"
		}
		creds, ca = cmp.Or(creds, env("NATS_CREDS")), cmp.Or(ca, env("NATS_CA"))
	}
	var e endpoint
	if name := cmp.Or(o.Context, env("NATS_CONTEXT")); name != "" {
		var err error
		if e, err = loadContext(name, env, guard); err != nil {
			return e, err
		}
	}
	if where != "" {
		e.url, e.from = where, from
	}
	if e.url == "" {
		e.url, e.from = nats.DefaultURL, "the default"
	}
	if err := CheckURL(e.url, e.from); err != nil {
		return e, err
	}
	if ca != "" {
		if err := checkCA(ca); err != nil {
			return e, err
		}
		e.auth = append(e.auth, nats.RootCAs(ca))
	}
	if len(o.CredsText) > 0 {
		e.auth = append(e.auth, credsOf(o.CredsText)...)
		e.holder, _ = holderOf(o.CredsText) // the server says what is wrong with them
		return e, nil
	}
	if creds == "" {
		return e, nil
	}
	if err := guard(creds); err != nil {
		return e, err
	}
	found, err := credsFile(creds)
	e.auth, e.holder = append(e.auth, found.auth), found.holder
	return e, err
}

// guard refuses a file of keys that others may read.
func guard(path string) error {
	if err := private.Check(path); errors.Is(err, private.ErrExposed) {
		return fmt.Errorf("%w: credentials: %w", ErrSetup, err)
	}
	return nil // whoever reads it says what else is wrong
}

// spared refuses no file: those of people are as their shell made them, > NAME.creds is how they were told to make theirs.
func spared(string) error { return nil }

// ByWallet says that the wallet is what the connection proves with who it is.
func (o Options) ByWallet() bool {
	return o.Wallet != nil && o.Wallet.Brings() && len(o.CredsText) == 0 && o.Creds == "" && o.Context == "" && o.Server == nil
}

// resolveWallet finds the endpoint of an agent that was enrolled: where its token said unless that is given.
func (o Options) resolveWallet(env func(string) string) (endpoint, error) {
	member, told, authority := o.Wallet.Where()
	e := endpoint{url: told, from: "the token", holder: holder{name: member, agent: true}, auth: []nats.Option{o.Wallet.Auth()}}
	switch {
	case o.URL != "":
		e.url, e.from = o.URL, "given"
	case told == "":
		e.url, e.from = cmp.Or(env("NATS_URL"), nats.DefaultURL), "NATS_URL or the default"
	}
	if err := CheckURL(e.url, e.from); err != nil {
		return e, err
	}
	if ca := cmp.Or(o.CA, env("NATS_CA")); ca != "" && (o.CA != "" || authority == nil) {
		e.auth = append(e.auth, nats.RootCAs(ca))
		return e, checkCA(ca)
	}
	if authority != nil {
		e.auth = append(e.auth, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authority}))
	}
	return e, nil
}

// CheckURL finds what no server can be reached by, in a URL or several with commas between; from names where it is of.
func CheckURL(where, from string) error {
	for server := range strings.SplitSeq(where, ",") {
		server = strings.TrimSpace(server)
		if !strings.Contains(server, "://") {
			server = "nats://" + server
		}
		at, err := url.Parse(server)
		if err != nil || at.Hostname() == "" {
			return fmt.Errorf("%w: URL %q (%s): expected nats://HOST:PORT, several separated by commas", ErrSetup, where, from)
		}
		if !slices.Contains([]string{"nats", "tls", "ws", "wss"}, at.Scheme) {
			return fmt.Errorf("%w: URL %q (%s): found scheme %q, expected nats, tls, ws or wss", ErrSetup, redacted(where), from, at.Scheme)
		}
	}
	return nil
}

// shown is the URL without passwords, for people.
func (e endpoint) shown() string { return redacted(e.url) }

func redacted(where string) string {
	servers := strings.Split(where, ",")
	for i, server := range servers {
		if at, err := url.Parse(strings.TrimSpace(server)); err == nil {
			servers[i] = at.Redacted()
		}
	}
	return strings.Join(servers, ",")
}

// String is the URL that the options lead to, without passwords, and what named it.
func (o Options) String() string {
	e, err := o.resolve(spared)
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

func readCreds(path string) ([]byte, error) {
	text, err := files.Read(path, files.Small)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	return text, nil
}

// checkCA finds out in time, and in words, that a file names no authority.
func checkCA(path string) error {
	text, err := files.Read(path, files.Small)
	if err != nil {
		return fmt.Errorf("%w: --tls-ca: %w", ErrSetup, err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return fmt.Errorf("%w: --tls-ca %s: found no certificate in it, expected one in PEM, as a hub keeps it in <data>/tls/ca.pem", ErrSetup, path)
	}
	return nil
}

package bus

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"flotilla/configs/files"

	"github.com/nats-io/nats.go"
)

// natsContext is a context file of the NATS tools, ~/.config/nats/context/<name>.json (NATS ADR-21).
type natsContext struct {
	URL         string `json:"url"`
	Token       string `json:"token"`
	User        string `json:"user"`
	Password    string `json:"password"`
	Creds       string `json:"creds"`
	NKey        string `json:"nkey"`
	Cert        string `json:"cert"`
	Key         string `json:"key"`
	CA          string `json:"ca"`
	TLSFirst    bool   `json:"tls_first"`
	NSC         string `json:"nsc"`
	SocksProxy  string `json:"socks_proxy"`
	InboxPrefix string `json:"inbox_prefix"`
	Domain      string `json:"jetstream_domain"`
}

// loadContext reads a context; guard judges files that hold keys.
func loadContext(name string, env func(string) string, guard func(path string) error) (endpoint, error) {
	var e endpoint
	home := env("HOME")
	dir := filepath.Join(cmp.Or(env("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "nats", "context")
	path := filepath.Join(dir, name+".json")
	text, err := files.Read(path, files.Small)
	if errors.Is(err, os.ErrNotExist) {
		return e, fmt.Errorf("%w: NATS context %q: no file %s; contexts there: %s", ErrSetup, name, path, listContexts(dir))
	}
	if err != nil {
		return e, fmt.Errorf("%w: NATS context %q: %w", ErrSetup, name, err)
	}
	var c natsContext
	if err := json.Unmarshal(text, &c); err != nil {
		return e, fmt.Errorf("%w: NATS context %q in %s: %w", ErrSetup, name, path, err)
	}
	e = endpoint{url: c.URL, from: "context " + name, user: c.User, inboxPrefix: c.InboxPrefix, domain: c.Domain}
	if e.auth, e.holder, err = c.options(home, guard); err != nil {
		return e, fmt.Errorf("%w: NATS context %q in %s: %w", ErrSetup, name, path, err)
	}
	return e, nil
}

func listContexts(dir string) string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	if len(files) == 0 {
		return "none"
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".json")
	}
	return strings.Join(files, ", ")
}

// checkFiles refuses files that are too long, which the library would read without a bound, and files of keys that guard refuses.
func (c natsContext) checkFiles(file func(string) string, guard func(path string) error) error {
	for name, path := range map[string]string{"nkey": c.NKey, "cert": c.Cert, "key": c.Key, "ca": c.CA} {
		if path == "" {
			continue
		}
		if _, err := files.Read(file(path), files.Small); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, path := range []string{c.Creds, c.NKey, c.Key} {
		if path == "" {
			continue
		}
		if err := guard(file(path)); err != nil {
			return err
		}
	}
	return nil
}

func (c natsContext) options(home string, guard func(path string) error) (options []nats.Option, of holder, err error) {
	if c.NSC != "" || c.SocksProxy != "" {
		return nil, of, errors.New("nsc and socks_proxy are not supported; set creds, and connect directly")
	}
	file := func(path string) string {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			return filepath.Join(home, rest)
		}
		return path
	}
	if err := c.checkFiles(file, guard); err != nil {
		return nil, of, err
	}
	if c.Creds != "" {
		found, err := credsFile(file(c.Creds))
		if err != nil {
			return nil, of, err
		}
		of = found.holder
		options = append(options, found.auth)
	}
	if c.NKey != "" {
		option, err := nats.NkeyOptionFromSeed(file(c.NKey))
		if err != nil {
			return nil, of, fmt.Errorf("nkey: %w", err)
		}
		options = append(options, option)
	}
	if c.User != "" {
		options = append(options, nats.UserInfo(c.User, c.Password))
	}
	if c.Token != "" {
		options = append(options, nats.Token(c.Token))
	}
	if c.Cert != "" {
		options = append(options, nats.ClientCert(file(c.Cert), file(c.Key)))
	}
	if c.CA != "" {
		options = append(options, nats.RootCAs(file(c.CA)))
	}
	if c.TLSFirst {
		options = append(options, nats.TLSHandshakeFirst())
	}
	return options, of, nil
}

package outside

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"flotilla/configs"
)

// Expansion puts variables of the environment into texts of the configuration and collects what is wrong.
type Expansion struct {
	Getenv func(string) string
	// At is where what is expanded stands.
	At      string
	missing []error
	secrets []string
}

// Err names every variable that is not set, with its place; it never holds a value.
func (e *Expansion) Err() error { return errors.Join(e.missing...) }

// Secrets are the values that were put in since they were asked for last.
func (e *Expansion) Secrets() []string {
	found := e.secrets
	e.secrets = nil
	return found
}

// Text expands a text that stands under a path.
func (e *Expansion) Text(path, text string) string {
	expanded, missing := configs.Expand(text, func(name string) string {
		value := e.Getenv(name)
		e.secrets = append(e.secrets, value)
		return value
	})
	for _, name := range missing {
		e.missing = append(e.missing, fmt.Errorf("%s.%s: found ${%s}, which is not set; set it in the environment of the hub", e.At, path, name))
	}
	return expanded
}

// URL expands an address; host is what may be shown of it.
func (e *Expansion) URL(path, text string) (expanded, host string) {
	before := len(e.missing)
	expanded = e.Text(path, text)
	at, err := url.Parse(expanded)
	if len(e.missing) == before && (err != nil || at.Host == "" || !strings.HasPrefix(at.Scheme, "http")) {
		e.missing = append(e.missing, fmt.Errorf("%s.%s: found no http or https URL once its variables are in place", e.At, path))
	}
	if err == nil {
		host = at.Host
	}
	return expanded, host
}

// Map expands the values of headers or of an environment, in the order of their names.
func (e *Expansion) Map(path string, values map[string]string) map[string]string {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out[name] = e.Text(fmt.Sprintf("%s[%q]", path, name), values[name])
	}
	return out
}

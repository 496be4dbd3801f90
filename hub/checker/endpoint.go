package checker

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"flotilla/configs"
	"flotilla/hub/outside"
)

// turns is how many questions one address, or one command, is asked at once.
const turns = 4

// Endpoints are what may be asked, with their variables in place.
type Endpoints struct {
	prometheus, webhooks map[string]*endpoint
	commands             map[string]*program
}

// source is what addresses and commands have in common.
type source struct {
	turn    chan struct{}
	secrets []string
}

type endpoint struct {
	source
	url, host string
	headers   map[string]string
	client    *outside.Client
}

type program struct {
	source
	argv, environment []string
}

// EndpointsOf puts the variables of the environment into a configuration that is valid. The error names every variable
// that is not set, with its place; it never holds a value.
func EndpointsOf(config *configs.Checks, getenv func(string) string) (*Endpoints, error) {
	x := outside.Expansion{Getenv: getenv}
	all := &Endpoints{commands: map[string]*program{}}
	all.prometheus = endpoints(&x, "checks.prometheus", config.Prometheus)
	all.webhooks = endpoints(&x, "checks.webhooks", config.Webhooks)
	for i := range config.Commands {
		c := &config.Commands[i]
		x.At = fmt.Sprintf("checks.commands[%d]", i)
		p := &program{argv: c.Argv}
		values := x.Map("environment", c.Environment)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			p.environment = append(p.environment, name+"="+values[name])
		}
		p.source = newSource(&x, values)
		all.commands[c.Name] = p
	}
	return all, x.Err()
}

func endpoints(x *outside.Expansion, at string, list []configs.CheckEndpoint) map[string]*endpoint {
	out := map[string]*endpoint{}
	for i := range list {
		x.At = fmt.Sprintf("%s[%d]", at, i)
		e := &endpoint{client: outside.NewClient()}
		e.url, e.host = x.URL("url", list[i].URL)
		e.headers = x.Map("headers", list[i].Headers)
		e.source = newSource(x, e.headers)
		out[list[i].Name] = e
	}
	return out
}

// newSource keeps what must not be shown: values of variables, of headers and of the environment.
func newSource(x *outside.Expansion, values map[string]string) source {
	s := source{turn: make(chan struct{}, turns)}
	for _, text := range slices.Concat(x.Secrets(), slices.Collect(maps.Values(values))) {
		for _, part := range append(strings.Fields(text), text) {
			if len(part) >= leastSecret && !slices.Contains(s.secrets, part) {
				s.secrets = append(s.secrets, part)
			}
		}
	}
	slices.SortFunc(s.secrets, func(a, b string) int { return len(b) - len(a) })
	return s
}

const (
	// leastSecret is how long a text is at least to be hidden: shorter ones are in every other word.
	leastSecret = 6
	// shownBytes is how much of what was answered is shown.
	shownBytes = 200
)

// hide is a text of an answer for people: without secrets, on one line, cut.
func (s *source) hide(text string) string {
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, "***")
		if quoted, err := json.Marshal(secret); err == nil {
			text = strings.ReplaceAll(text, strings.Trim(string(quoted), `"`), "***")
		}
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > shownBytes {
		text = strings.ToValidUTF8(text[:shownBytes], "") + " …"
	}
	return text
}

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"flotilla/core/liveness"
	"flotilla/tests/e2e/lab"
)

const (
	// missing is a permission as hub and agent name it, refusal as the API server does.
	missing = "get widgets.example.com in namespace gadgets"
	refusal = `cannot get resource "widgets" in API group "example.com" in the namespace "gadgets"`
	// tries and mostTries are how often what is refused is asked for: again, and not again and again.
	tries, mostTries = 4, 16
)

// refusedRead is that request.
var refusedRead = lab.Request{User: agentUser, Verb: "get", Resource: "widgets", Code: 403}

// lacksAPermission places an object of a kind that no role of the agent names: what is missing is told once, wherever a
// person looks, and asked for less and less often. Then a role of docs/members.md gives it, and the agent goes on.
func (f *fleet) lacksAPermission(c *lab.Cluster, member string) {
	f.Helper()
	p := f.place(f.TB, "gadgets")
	before := count{c, len(requests(f, c))}
	kubectl(f, c, "apply", "-f", f.file("widgets.yaml", widgets("example.com")))
	kubectl(f, c, "wait", "--for=condition=Established", "--timeout=1m", "crd", "widgets.example.com")
	p.apply(byClient, []string{widget("example.com")})
	p.until(func(context.Context) error {
		if asked := before.of(f, agentUser); among(asked, refusedRead) < tries {
			return fmt.Errorf("%d requests, of which %d were refused", len(asked), among(asked, refusedRead))
		}
		return nil
	})
	for _, look := range [][]string{{"status"}, {"describe", "member", member}, {"events", "member/" + member}} {
		p.until(p.tells(missing, look...))
	}
	p.until(p.tells(refusal, "describe", "placement", p.name))
	require.Contains(f, f.run("status"), liveness.ReasonForbidden)
	require.Equal(f, 1, strings.Count(f.run("events", "member/"+member), liveness.ReasonForbidden), "it is told once")

	kubectl(f, c, "apply", "-f", f.file("places.yaml", f.placesWidgets()))
	p.available()
	refused := slices.DeleteFunc(before.of(f, agentUser), func(r lab.Request) bool { return r.Code != 403 })
	require.LessOrEqual(f, len(refused), mostTries, "%v", refused)
	f.run("delete", "placement", p.name, "--wait", "--timeout=2m")
	kubectl(f, c, "delete", "-f", f.path("places.yaml"), "-f", f.path("widgets.yaml"))
}

func among(all []lab.Request, one lab.Request) (times int) {
	for _, r := range all {
		if r == one {
			times++
		}
	}
	return times
}

// tells is an error until a command prints a text.
func (f *fleet) tells(text string, words ...string) func(context.Context) error {
	return func(context.Context) error {
		said, err := f.try(words...)
		if err == nil && !strings.Contains(said, text) {
			err = errors.New(said)
		}
		return err
	}
}

// file writes one beside what else the fleet has.
func (f *fleet) file(name, text string) string {
	f.Helper()
	require.NoError(f, os.WriteFile(f.path(name), []byte(text), 0o600))
	return f.path(name)
}

// placesWidgets is the role that docs/members.md shows.
func (f *fleet) placesWidgets() string {
	f.Helper()
	text, err := os.ReadFile("../../docs/members.md")
	require.NoError(f, err)
	shown := regexp.MustCompile("(?s)```yaml\n(.*?name: flotilla-places-widgets.*?)```").FindSubmatch(text)
	require.NotNil(f, shown)
	return string(shown[1])
}

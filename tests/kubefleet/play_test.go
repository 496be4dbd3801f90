package kubefleet

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/hub/dev"
)

// player plays an example, as it is or mistaken.
type player struct {
	fleet    *dev.Fleet
	c        *example
	mistaken bool
}

// again is what the names of an example get when it is applied with its mistake.
const again = "-again"

// document is a file of the example as it is to be applied.
func (p *player) document(t *testing.T, file string) string {
	t.Helper()
	text, there := p.c.documents[file]
	require.True(t, there, "there is no %s", file)
	if !p.mistaken {
		return text
	}
	if file == p.c.mistake.file {
		text = strings.Replace(text, p.c.mistake.right, p.c.mistake.wrong, 1)
	}
	return p.named(text)
}

func (p *player) named(text string) string {
	if !p.mistaken {
		return text
	}
	return strings.ReplaceAll(text, p.c.names, p.c.names+again)
}

// play runs the commands and holds what comes of them to what stands in the example.
func (p *player) play(t *testing.T) (all []string) {
	t.Helper()
	begins := 0
	for i := range p.c.commands {
		c := &p.c.commands[i]
		if *update {
			all = append(all, p.settled(t, c.line))
			continue
		}
		p.requires(t, i, c.want)
		all = append(all, c.want)
		if p.applies(i) {
			begins = i + 1
		} else if i+1 == len(p.c.commands) || p.applies(i+1) {
			p.together(t, begins, i)
		}
	}
	return all
}

// together wants all that is shown after an apply to be so at once: what is not there yet may come still.
func (p *player) together(t *testing.T, first, last int) {
	t.Helper()
	eventually(t, func() error {
		for i := first; i <= last; i++ {
			c := &p.c.commands[i]
			if came := p.run(t, c.line); came != c.want {
				return fmt.Errorf("%d: $ %s\n%s\nexpected still\n%s", i+1, c.line, came, c.want)
			}
		}
		return nil
	})
}

// playWrong runs the commands with the mistake until something else comes of one, and returns which, from 1, and what.
func (p *player) playWrong(t *testing.T, right []string) (at int, wrong string) {
	t.Helper()
	if !*update {
		at, wrong = p.c.mistake.at, p.c.mistake.want
		require.NotEqual(t, right[at-1], wrong, "the mistake makes no difference")
		for i := range at - 1 {
			p.requires(t, i, right[i])
		}
		p.requires(t, at-1, wrong)
		return at, wrong
	}
	for i := range p.c.commands {
		came := p.settled(t, p.c.commands[i].line)
		if told := p.applies(i) && accepted(came) && accepted(right[i]); came != right[i] && !told {
			return i + 1, came
		}
	}
	require.Fail(t, "nothing shows the mistake")
	return 0, ""
}

// requires wants something to come of a command, at once of an apply and within patience of others.
func (p *player) requires(t *testing.T, i int, want string) {
	t.Helper()
	line := p.c.commands[i].line
	if p.applies(i) {
		if came := p.run(t, line); !p.mistaken || !accepted(want) || !accepted(came) {
			require.Equal(t, want, came, "%d: $ %s", i+1, line)
		}
		return
	}
	eventually(t, func() error {
		if came := p.run(t, line); came != want {
			return fmt.Errorf("%d: $ %s\n%s\nexpected\n%s", i+1, line, came, want)
		}
		return nil
	})
}

func (p *player) applies(i int) bool { return strings.HasPrefix(p.c.commands[i].line, "apply ") }

// accepted says that documents were not refused: whatever was said of them, a mistake has to show in what comes of them.
func accepted(came string) bool { return !strings.HasPrefix(came, "refused: ") }

// settled is what comes of a command once it has been the same for a while.
func (p *player) settled(t *testing.T, line string) string {
	t.Helper()
	last := p.run(t, line)
	if strings.HasPrefix(line, "apply ") {
		return last
	}
	same := 0
	eventually(t, func() error {
		now := p.run(t, line)
		if same++; now != last {
			last, same = now, 0
		}
		if same < 30 {
			return fmt.Errorf("it changes still:\n%s", now)
		}
		return nil
	})
	return last
}

// eventually asks less often than bustest.Eventually: all examples ask at once.
func eventually(t *testing.T, cond func() error) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := cond()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			require.NoError(t, err)
		case <-tick.C:
		}
	}
}

// run runs one command, and says what came of it by the names of the example as it is.
func (p *player) run(t *testing.T, line string) string {
	t.Helper()
	words := strings.Fields(p.named(line))
	var out string
	switch words[0] {
	case "apply":
		out = apply(t, p.fleet, words[1], p.document(t, words[1]))
	case "show":
		out = p.show(t, words[1], words[2])
	case "held":
		out = p.held(words[1], words[2], words[3:])
	default:
		require.Fail(t, "unknown command", line)
	}
	out = strings.ReplaceAll(out, p.c.names+again, p.c.names)
	for _, m := range masks {
		out = m.pattern.ReplaceAllString(out, m.with)
	}
	return strings.TrimRight(out, "\n")
}

// masks replace what differs from run to run.
var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
}

// show is the status of an object.
func (p *player) show(t *testing.T, kind, name string) string {
	t.Helper()
	namespace, name := split(name)
	request := api.GetRequest{APIVersion: api.GroupPlacement + "/v1beta1", Kind: kind, Namespace: namespace, Name: name}
	var shown struct {
		Status map[string]any `json:"status"`
	}
	var raw json.RawMessage
	if err := bus.Request(t.Context(), p.fleet.Client, api.VerbGet, request, &raw, bus.RequestOptions{}); err != nil {
		return err.Error()
	}
	require.NoError(t, json.Unmarshal(raw, &shown))
	return statusText(shown.Status)
}

// held is what each member holds of an object: the fields of it that are asked for.
func (p *player) held(kind, name string, paths []string) string {
	namespace, name := split(name)
	var out strings.Builder
	for _, member := range members {
		var found *unstructured.Unstructured
		for _, object := range p.fleet.Agent(member).Memory().Objects() {
			if object.GetKind() == kind && object.GetNamespace() == namespace && object.GetName() == name {
				found = object
			}
		}
		fmt.Fprintf(&out, "%s: %s\n", member, fieldsText(found, paths))
	}
	return out.String()
}

// split reads "name" or "namespace/name".
func split(key string) (namespace, name string) {
	if before, after, found := strings.Cut(key, "/"); found {
		return before, after
	}
	return "", key
}

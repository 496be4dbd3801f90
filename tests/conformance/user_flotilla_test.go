package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
)

// folder holds the files of one case as its user has them.
type folder struct {
	t    *testing.T
	path string
}

func newFolder(t *testing.T) folder { return folder{t, t.TempDir()} }

// write puts objects into a file as kubectl get -o yaml prints several of them.
func (f folder) write(name string, objects ...any) {
	f.t.Helper()
	if len(objects) == 0 {
		return
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	require.NoError(f.t, err)
	require.NoError(f.t, os.WriteFile(filepath.Join(f.path, name), text, 0o600))
}

// flotilla types a command about the folder, without a hub, and returns its exit code and what it prints.
func (f folder) flotilla(args ...string) (code int, out, errs string) {
	f.t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Main(f.t.Context(), append(args, "-f", f.path), session.Environment{
		Out: &stdout, Err: &stderr,
		Getenv: func(string) string { return "" },
		Now:    func() time.Time { return recordingTime },
		Dial: func(context.Context, session.Connection) (session.Hub, error) {
			return nil, &session.Failure{Code: session.ExitUnreachable, Message: "no hub here"}
		},
	})
	return code, stdout.String(), stderr.String()
}

// answer types a command that prints JSON and reads it; a refusal comes back as a text.
func (f folder) answer(into any, args ...string) (refusal string) {
	f.t.Helper()
	code, out, errs := f.flotilla(append(args, "-o", "json")...)
	if code != session.ExitDone && code != session.ExitDifferent {
		return fmt.Sprintf("exit %d: %s", code, errs)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		return fmt.Sprintf("what it prints is no JSON of its form: %v: %s", err, out)
	}
	return ""
}

// telling is how one case went that a user told the commands.
type telling struct {
	outcome
	// aside says which rule sets the case aside, unsayable why a user cannot say it; both are judged from the
	// case's input.
	aside, unsayable string
}

// tellEach tells every case.
func tellEach[T any, P named[T]](cases []T, tell func(P) telling) []telling {
	out := make([]telling, len(cases))
	for i := range cases {
		out[i] = guardedTelling(P(&cases[i]).name(), func() telling { return tell(&cases[i]) })
	}
	return out
}

// guardedTelling tells one case. Where that panics, the case has failed and the others are told all the same.
func guardedTelling(id string, tell func() telling) (told telling) {
	defer func() {
		if fault := recover(); fault != nil {
			told = telling{outcome: outcome{id: id, differences: []string{panicText(fault)}}}
		}
	}()
	return tell()
}

// mostUnsayable is the percentage of the cases, beside those set aside, that need not be sayable.
const mostUnsayable = 3

// reportTellings prints how a recording went and fails for every case that disagrees, when decisions explain
// more cases than they may, and when too many cannot be said.
func reportTellings(t *testing.T, recording, command string, all []telling, granted grants) {
	t.Helper()
	require.NotEmpty(t, all)
	agree, outcomes := 0, []outcome{}
	aside, unsayable := map[string]int{}, []string{}
	for i := range all {
		one := &all[i]
		if one.aside != "" {
			aside[one.aside]++
			continue
		}
		outcomes = append(outcomes, one.outcome)
		switch {
		case len(one.differences) == 0:
			agree++
		case one.decision != "":
		case one.unsayable != "":
			unsayable = append(unsayable, fmt.Sprintf("%s (%s)", one.id, one.unsayable))
		default:
			t.Errorf("%s case %s through %s:\n  %s", recording, one.id, command, strings.Join(one.differences, "\n  "))
		}
	}
	line := fmt.Sprintf("%s: %d cases told to %s, %d agree", recording, len(outcomes), command, agree)
	for decision, cases := range explained(outcomes) {
		line += fmt.Sprintf(", %d by decision (%s %s)", len(cases), decision, strings.Join(cases, " "))
	}
	for rule, n := range aside {
		line += fmt.Sprintf(", %d set aside (%s)", n, rule)
	}
	slices.Sort(unsayable)
	if len(unsayable) > 0 {
		line += fmt.Sprintf(", %d cannot be said: %s", len(unsayable), strings.Join(unsayable, ", "))
	}
	fmt.Println(line)
	for _, text := range granted.bound(outcomes) {
		t.Errorf("%s through %s: %s", recording, command, text)
	}
	require.LessOrEqual(t, len(unsayable)*100, mostUnsayable*len(outcomes), "more than %d %% cannot be said", mostUnsayable)
}

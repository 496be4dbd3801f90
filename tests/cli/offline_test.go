package cli_test

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"time"

	"flotilla/hub/flotilla/cli/session"
)

// TestOffline runs the scripts that need no hub. No environment variable names one; a command that
// asks for a hub all the same is told that none is there.
func TestOffline(t *testing.T) {
	runScripts(t, "offline", func(*testing.T) *runner { return &runner{env: offlineEnvironment(), alone: true, mask: maskDigests} })
}

// maskDigests hides digests of values of Secrets: keys are made for each command.
func maskDigests(text string) string {
	return digestOfValue.ReplaceAllString(text, "digest:0123456789abcdef")
}

var digestOfValue = regexp.MustCompile(`digest:[0-9a-f]{16}`)

func offlineEnvironment() session.Environment {
	return session.Environment{
		Getenv: func(string) string { return "" },
		Now:    func() time.Time { return time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC) },
		Dial: func(context.Context, session.Connection) (session.Hub, error) {
			return nil, &session.Failure{Code: session.ExitUnreachable, Message: "no hub here", Next: "go run ./hub --dev"}
		},
		Edit: func(context.Context, string) error { return errors.New("no editor here") },
	}
}

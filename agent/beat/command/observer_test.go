package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// script is an observer of a shell script.
func script(t *testing.T, text string) *Observer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "observe")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
	o, err := New(Options{
		Member: "berlin", Command: []string{path, "a b"}, Environment: map[string]string{"SITE": "east"}, Interval: time.Hour, Timeout: 20 * time.Second,
		Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	return o
}

func TestWhatACommandPrintsAreProperties(t *testing.T) {
	o := script(t, `printf '{"example.com/racks": "12", "example.com/site": "%s %s %s"}' "$SITE" "$FLOTILLA_MEMBER" "$1"`)
	o.look(t.Context())
	require.Empty(t, o.Trouble())
	require.Equal(t, map[string]string{"example.com/racks": "12", "example.com/site": "east berlin a b"}, o.Properties())
}

// What a command fails to say stays what it was, and what is wrong is said.
func TestACommandThatFailsChangesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "said")
	o := script(t, "cat "+file+" || exit 3")
	say := func(text string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		o.look(t.Context())
	}
	say(`{"example.com/racks": "12"}`)
	many := `{"x0": "1"`
	for n := range mostProperties {
		many += fmt.Sprintf(`, "x%d": "1"`, n+1)
	}
	for said, want := range map[string]string{
		`{"example.com/racks": 12}`: "expected an object of texts",
		`null`:                      "expected an object of texts",
		``:                          "expected an object of texts",
		`{"a b": "1"}`:              `the property "a b", expected`,
		many + "}":                  "101 properties, expected at most 100",
		`{"x": "\u001b[2J"}`:        `a value of 4 bytes for "x", expected at most 256 that can be printed`,
		`{"x": "` + strings.Repeat("x", 300) + `"}`: `a value of 300 bytes for "x"`,
		strings.Repeat("x", 70<<10):                 "printed more than 65536 bytes",
	} {
		say(said)
		require.Contains(t, o.Trouble(), want)
		require.Equal(t, map[string]string{"example.com/racks": "12"}, o.Properties())
	}
	require.NoError(t, os.Remove(file))
	o.look(t.Context())
	require.Contains(t, o.Trouble(), "ended with exit code 3: cat: ")
	say(`{}`)
	require.Empty(t, o.Trouble())
	require.Empty(t, o.Properties())
}

func TestACommandThatHangsIsEnded(t *testing.T) {
	o := script(t, "sleep 1000")
	o.command.Timeout = 50 * time.Millisecond
	o.look(t.Context())
	require.Contains(t, o.Trouble(), "took longer than 50ms and was ended with all it had started")
}

func TestACommandThatIsNotThereIsSaid(t *testing.T) {
	_, err := New(Options{Command: []string{"/nothing/here"}})
	require.ErrorContains(t, err, `observe.exec.command: the command "/nothing/here" cannot be run`)
}

package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/clitest"
	"flotilla/hub/flotilla/cli/session"

	"github.com/stretchr/testify/require"
)

// Whatever a command prints of a file goes through one place.
func TestWhatCommandsPrintIsEscaped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: \"Dep\\e[2Jloyment\"\nmetadata: {name: \"a\\u202eb\", namespace: shop}\n"), 0o600))
	var out, problems bytes.Buffer
	code := Main(t.Context(), []string{"apply", "--dry-run=client", "-f", file}, session.Environment{Out: &out, Err: &problems})
	require.NotZero(t, code)
	require.NotContains(t, out.String()+problems.String(), "\x1b")
	require.NotContains(t, out.String()+problems.String(), "\u202e")
}

// What a format of -o prints on a terminal is escaped as tables are, in all of its forms; a program is given it as it is.
func TestEveryFormatIsEscapedOnATerminal(t *testing.T) {
	const value = "a\x1b[31mb\u202ec"
	hub := clitest.Answering{api.VerbGet: func(any) (any, error) {
		return map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "shop", "annotations": map[string]any{"note": value}},
		}, nil
	}}
	for _, format := range []string{
		"", "wide", "json", "yaml", "name", "jsonpath={.metadata.annotations.note}", "go-template={{.metadata.annotations.note}}",
		"custom-columns=NAME:.metadata.name,NOTE:.metadata.annotations.note",
	} {
		for _, given := range []struct{ terminal, paged bool }{{true, false}, {false, true}, {false, false}} {
			var out bytes.Buffer
			args := []string{"get", "cm", "a", "-n", "shop", "-o", format, "--color=auto"}
			if given.paged {
				args[len(args)-1] = "--color=always"
			}
			code := Main(t.Context(), args, session.Environment{
				Out: &out, Err: &out, Terminal: given.terminal, Now: func() time.Time { return clitest.Now }, Getenv: func(string) string { return "" },
				Dial: func(context.Context, session.Connection) (session.Hub, error) { return hub, nil },
			})
			require.Equal(t, session.ExitDone, code, out.String())
			want := value
			if given.terminal || given.paged {
				want = `a\u001b[31mb\u202ec`
				require.NotContains(t, out.String(), "\x1b", format)
				require.NotContains(t, out.String(), "\u202e", format)
			}
			if strings.Contains(format, "note") {
				require.Contains(t, out.String(), want, format)
			}
		}
	}
}

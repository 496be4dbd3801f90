package tests

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/tests/elsewhen"
	"flotilla/tests/planted"
)

// flotilla types a command as the first admin.
func (s *slice) flotilla(args ...string) (code int, said string) {
	s.t.Helper()
	var out bytes.Buffer
	env := session.OSEnvironment(elsewhen.Now)
	env.Out, env.Err, env.In = &out, &out, strings.NewReader("")
	server := s.fleet.Hub.Server()
	code = cli.Main(s.t.Context(), append([]string{"--fleet", "test", "--url", server.URL(), "--creds", server.OperatorCreds()}, args...), env)
	return code, out.String()
}

// A backup gives who finds it nothing of what people applied, and no name of it: neither of what is sealed on the disk of
// a server, nor of records, which are not. What was changed in it, or is missing at its end, is refused whole.
func TestABackupTellsNothingAndIsRefusedUnlessWhole(t *testing.T) {
	s := newSlice(t, "berlin")
	p := planted.New()
	name := planted.Of(strings.ToLower(planted.New().Text))
	s.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n---\n" + plantedSecret(p) + "---\n" + strings.ReplaceAll(placedEverywhere("web"), "name: web}\nspec", "name: "+name.Text+
		", annotations: {note: "+p.Text+"}}\nspec"))
	s.converges(name.Text, 1, "1")
	dir := t.TempDir()
	path := filepath.Join(dir, "fleet.backup")
	code, said := s.flotilla("backup", path)
	require.Zero(t, code, said)
	inspector := connected(t, s, s.fleet.Hub.Server().InspectorCreds())
	for _, value := range []*planted.Value{p, name} {
		found, _ := value.Messages(t, inspector)
		require.NotEmpty(t, found, "records are readable where the server keeps them")
		found, seen := value.Files(t, dir)
		require.Equal(t, 1, seen)
		require.Empty(t, found)
	}

	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	s.apply(fmt.Sprintf(toFailOver, "late", pickAll, ""))
	for what, change := range map[string]func([]byte) []byte{
		"a byte turned over in the middle": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"the last byte is missing":         func(b []byte) []byte { return b[:len(b)-1] },
		"the second half is missing":       func(b []byte) []byte { return b[:len(b)/2] },
		"something follows":                func(b []byte) []byte { return append(b, b...) },
	} {
		require.NoError(t, os.WriteFile(path, change(bytes.Clone(whole)), 0o600))
		code, said = s.flotilla("restore", path, "--replace")
		require.Equal(t, session.ExitPartial, code, what)
		require.Contains(t, said, path+": not a whole backup: ", what)
		require.Contains(t, said, "; nothing was changed", what)
	}
	s.converges("late", 1, "1")
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	code, said = s.flotilla("restore", path, "--replace")
	require.Zero(t, code, said)
	s.converges(name.Text, 1, "1")
	code, said = s.flotilla("get", "crp", "late")
	require.Equal(t, session.ExitDifferent, code, said)
}

// tryToRestore restores pages as they are.
func (s *slice) tryToRestore(head api.BackupHead, pages []api.BackupPage) error {
	s.t.Helper()
	session, err := s.begin(head, true)
	require.NoError(s.t, err)
	steps := []api.RestoreRequest{{Session: session, Step: api.RestoreCommit}}
	for i := range pages {
		steps = slices.Insert(steps, i, api.RestoreRequest{Session: session, Step: api.RestorePage, Page: &pages[i]})
	}
	for i := range steps {
		if err := bus.Request(s.t.Context(), s.fleet.Client, api.VerbRestore, steps[i], nil, bus.RequestOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// Pages that somebody took out, put elsewhere or took from another backup are refused by the hub, who alone can tell.
func TestPagesOfABackupStandInTheirPlace(t *testing.T) {
	s := newSlice(t)
	noise := make([]byte, 450<<10) // three fill more than a page
	_, err := rand.Read(noise)
	require.NoError(t, err)
	for n := range 6 {
		noise[0] = byte(n)
		s.apply(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: noise-%d, namespace: default}\nbinaryData: {noise: %s}\n",
			n, base64.StdEncoding.EncodeToString(noise)))
	}
	head, pages := s.backup()
	require.Greater(t, len(pages), 2)
	_, foreign := s.backup()
	last := pages[len(pages)-1]
	for what, wrong := range map[string][]api.BackupPage{
		"one is missing":     slices.Concat(pages[:1], pages[2:]),
		"one of another":     slices.Concat(pages[:1], foreign[1:2], pages[2:]),
		"the last is gone":   pages[:len(pages)-1],
		"nothing but a last": {{Sealed: last.Sealed}},
		"none":               nil,
	} {
		require.ErrorContains(t, s.tryToRestore(head, wrong), "nothing was changed", what)
	}
	require.NoError(t, s.tryToRestore(head, pages))
}

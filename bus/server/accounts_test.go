package server_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/server"
	"flotilla/subjects"
)

// accounts are those of a new folder.
func accounts(t *testing.T) (dir string, files []server.AccountsFile) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "made", "accounts")
	files, err := server.MakeAccounts(dir, "shop")
	require.NoError(t, err)
	return dir, files
}

func TestFilesOfAccountsAreNamedAndForTheirOwner(t *testing.T) {
	dir, files := accounts(t)
	var named, found []string
	for _, f := range files {
		named = append(named, f.Path)
		require.NotEmpty(t, f.For)
		require.NotEmpty(t, f.Holds)
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, path)
		if !entry.IsDir() {
			below, err := filepath.Rel(dir, path)
			require.NoError(t, err)
			found = append(found, below)
		}
		return nil
	}))
	slices.Sort(named)
	require.Equal(t, found, named)
	left, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing is left over")
}

// Servers get no key, and hubs none that lies offline.
func TestKeysOfAccountsAreWhereTheyAreNeeded(t *testing.T) {
	dir, _ := accounts(t)
	conf, err := os.ReadFile(filepath.Join(dir, "accounts.conf"))
	require.NoError(t, err)
	hubs, err := os.ReadFile(filepath.Join(dir, "keys.json"))
	require.NoError(t, err)
	offline, err := filepath.Glob(filepath.Join(dir, "offline", "*.nk"))
	require.NoError(t, err)
	require.Len(t, offline, 5)
	for _, path := range offline {
		seed, err := os.ReadFile(path)
		require.NoError(t, err)
		pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(seed))))
		require.NoError(t, err)
		public, err := pair.PublicKey()
		require.NoError(t, err)
		require.NotContains(t, string(hubs), strings.TrimSpace(string(seed)), path)
		require.Contains(t, string(hubs), public, path)
	}
	for _, prefix := range []string{`"SO`, `"SA`, `"SU`, " SO", " SA", " SU"} {
		require.NotContains(t, string(conf), prefix)
	}
	require.NotContains(t, string(hubs), `"SU`, "keys of users stand in their creds files alone")
	for _, name := range []string{"hub.creds", "claims.creds", "inspector.creds", "operator.creds"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		token, err := jwt.ParseDecoratedJWT(text)
		require.NoError(t, err)
		require.Less(t, len(token), 3<<10, name)
	}
}

func TestAccountsAreNeverOverwritten(t *testing.T) {
	dir, _ := accounts(t)
	before, err := os.ReadFile(filepath.Join(dir, "keys.json"))
	require.NoError(t, err)
	_, err = server.MakeAccounts(dir, "shop")
	require.ErrorContains(t, err, "found "+filepath.Join(dir, "accounts.conf")+", expected an empty folder or none")
	after, err := os.ReadFile(filepath.Join(dir, "keys.json"))
	require.NoError(t, err)
	require.Equal(t, before, after)
	_, err = server.MakeAccounts(t.TempDir(), "shop")
	require.NoError(t, err, "an empty folder will do")
	_, err = server.MakeAccounts(filepath.Join(t.TempDir(), "a"), "Not a label")
	require.ErrorContains(t, err, "expected a DNS label")
	_, err = server.MakeAccounts("/dev/null/x", "shop")
	require.ErrorContains(t, err, "making accounts: ")
}

func TestAccountsThatAreNotThoseOfTheFleet(t *testing.T) {
	dir, _ := accounts(t)
	for want, of := range map[string]struct{ dir, fleet string }{
		`found those of fleet "shop", expected those of fleet "default"`: {dir: dir},
		"there is no keys.json in it; `hub accounts --out ":              {dir: filepath.Dir(dir), fleet: "shop"},
	} {
		_, err := server.OpenAccounts(of.dir, bus.Options{Fleet: of.fleet})
		require.ErrorIs(t, err, bus.ErrSetup)
		require.ErrorContains(t, err, want)
	}
	keys := filepath.Join(dir, "keys.json")
	for text, want := range map[string]string{
		"{":                 "unexpected end of JSON input",
		`{"fleet": "shop"}`: "another version made the folder",
	} {
		require.NoError(t, os.WriteFile(keys, []byte(text), 0o600))
		_, err := server.OpenAccounts(dir, bus.Options{Fleet: "shop"})
		require.ErrorContains(t, err, want)
	}
}

// A hub that was not given what changes accounts says what is missing, and what whoever has it types.
func TestKeysAreRevokedOnlyWithAllThatTakes(t *testing.T) {
	const key = "UB4MRPVCRDB5YBPLUPCZ3YWEQFZFPWCZH6WJKTPXPQEN2PMTSWQ4YDW5"
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err := user.PublicKey()
	require.NoError(t, err)
	for missing, without := range map[string]func(dir string){
		"claims.creds is not in ": func(dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "claims.creds"))) },
		"has no seed as operatorSigning": func(dir string) {
			path := filepath.Join(dir, "keys.json")
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			_, rest, found := strings.Cut(string(text), `"operatorSigning": "`)
			require.True(t, found)
			seed, _, _ := strings.Cut(rest, `"`)
			pair, err := nkeys.FromSeed([]byte(seed))
			require.NoError(t, err)
			signing, err := pair.PublicKey()
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), seed, signing, 1)), 0o600))
		},
	} {
		dir, _ := accounts(t)
		without(dir)
		a, err := server.OpenAccounts(dir, bus.Options{Fleet: "shop"})
		require.NoError(t, err)
		err = a.Revoke(subjects.AccountPeople, public)
		var left *bus.NotRevokedError
		require.ErrorAs(t, err, &left)
		require.ErrorContains(t, err, missing)
		require.Equal(t, "nsc revocations add-user --account PEOPLE --user-public-key "+public+" && nsc push --account PEOPLE", bus.RevokeCommand(left.Account, left.Key))
		require.ErrorContains(t, a.Revoke("NOBODY", public), `there is no account "NOBODY"`)
		require.ErrorContains(t, a.Revoke(subjects.AccountPeople, key), "begins with U")
	}
}

// Agents cannot have servers keep what nobody answers for as long as servers do unless they are told.
func TestServersForgetTheWayBackSoon(t *testing.T) {
	dir, _ := accounts(t)
	conf, err := os.ReadFile(filepath.Join(dir, "accounts.conf"))
	require.NoError(t, err)
	within := map[string]time.Duration{}
	for word := range strings.FieldsSeq(string(conf)) {
		claims, err := jwt.DecodeAccountClaims(word)
		if err != nil || claims.Name != subjects.AccountHub {
			continue
		}
		for _, e := range claims.Exports {
			within[string(e.Subject)] = e.ResponseThreshold
		}
	}
	f := subjects.Fleet{Name: "shop"}
	for _, e := range f.Exports() {
		wanted := 15 * time.Second
		switch {
		case e.Subject == f.Enrolment("*"):
			wanted = 45 * time.Second
		case e.Stream:
			wanted = 0
		}
		require.Contains(t, within, e.Subject)
		require.Equal(t, wanted, within[e.Subject], e.Name)
	}
}

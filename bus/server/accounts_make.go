package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flotilla/subjects"
)

// Files of a folder of accounts, beside those that an embedded server has too.
const (
	accountsConfFile = "accounts.conf"
	claimsCredsFile  = "claims.creds"
	offlineFolder    = "offline"
)

// AccountsFile is a file that MakeAccounts wrote.
type AccountsFile struct {
	Path  string // below the folder
	For   string // who needs it
	Holds string
}

// accountKeys are what a hub needs of a folder of accounts.
type accountKeys struct {
	Fleet string `json:"fleet"`
	seeds
}

// MakeAccounts makes an operator with the accounts of a fleet for NATS servers that others run, and writes what
// servers, hubs and people need of them into a folder, which must be missing or empty. All files are for their owner
// only. The folder is there as a whole or not at all.
func MakeAccounts(dir, fleet string) ([]AccountsFile, error) {
	if err := subjects.CheckLabel("fleet", fleet); err != nil {
		return nil, err
	}
	var files []AccountsFile
	err := makeFolder(dir, func(dir string) (err error) {
		files, err = writeAccounts(dir, subjects.Fleet{Name: fleet})
		return err
	})
	return files, err
}

// makeFolder has a folder written that is missing or empty: it is there as a whole or not at all.
func makeFolder(dir string, write func(dir string) error) error {
	held, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("making accounts: %w", err)
	}
	if len(held) > 0 {
		return fmt.Errorf("making accounts: found %s, expected an empty folder or none: keys are never overwritten", filepath.Join(dir, held[0].Name()))
	}
	whole := filepath.Clean(dir) + ".next"
	if err := os.MkdirAll(whole, 0o700); err != nil {
		return fmt.Errorf("making accounts: %w", err)
	}
	defer func() { _ = os.RemoveAll(whole) }()
	if err = write(whole); err == nil {
		_ = os.Remove(dir) // an empty one
		err = os.Rename(whole, filepath.Clean(dir))
	}
	if err != nil {
		return fmt.Errorf("making accounts: %w", err)
	}
	return nil
}

func writeAccounts(dir string, fleet subjects.Fleet) ([]AccountsFile, error) {
	s, err := newSeeds()
	if err != nil {
		return nil, err
	}
	r, err := newRealm(s, fleet)
	if err != nil {
		return nil, err
	}
	if err := r.sign(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(dir, offlineFolder), 0o700); err != nil {
		return nil, err
	}
	offline, err := r.putAway(dir, s)
	if err != nil {
		return nil, err
	}
	keys, err := json.MarshalIndent(accountKeys{Fleet: fleet.Name, seeds: *s}, "", "  ")
	if err != nil {
		return nil, err
	}
	for _, write := range []func() error{
		func() error { return writePrivate(filepath.Join(dir, accountsConfFile), r.accountsConf()) },
		func() error { return writePrivate(filepath.Join(dir, keysFile), keys) },
		func() error { return r.writeUsers(dir) },
		func() error {
			return r.writeCreds(filepath.Join(dir, claimsCredsFile), "system", "claimsUser", subjects.ClaimsUser, subjects.ClaimsPermissions())
		},
		func() error { return r.writeFirstPerson(filepath.Join(dir, operatorCredsFile)) },
	} {
		if err := write(); err != nil {
			return nil, err
		}
	}
	return append([]AccountsFile{
		{accountsConfFile, "servers", "the operator and its accounts, signed: every server includes it; no secret"},
		{keysFile, "hubs", "the keys that sign credentials and revocations"},
		{hubCredsFile, "hubs", "the credentials of hubs"},
		{claimsCredsFile, "hubs", "the credentials in account SYS by which revocations reach the servers"},
		{operatorCredsFile, "people", "the credentials of the first admin, for the command line"},
		{inspectorFile, "people", "credentials for the tools of NATS, which read everything"},
	}, offline...), nil
}

// putAway writes the keys that nobody needs to run a fleet, and leaves their public parts in the seeds. Beside them
// stay those of users, which stand in their creds files too.
func (r *operator) putAway(dir string, s *seeds) ([]AccountsFile, error) {
	var files []AccountsFile
	held := s.byName()
	for _, of := range []struct{ key, name string }{
		{"operator", "operator"},
		{"hub", subjects.AccountHub},
		{"agents", subjects.AccountAgents},
		{"people", subjects.AccountPeople},
		{"system", subjects.AccountSystem},
	} {
		path := filepath.Join(offlineFolder, of.name+".nk")
		if err := writePrivate(filepath.Join(dir, path), []byte(*held[of.key]+"\n")); err != nil {
			return nil, err
		}
		files = append(files, AccountsFile{path, "nobody", "the key of " + of.name + ": take it off this machine; `nsc import keys` reads it"})
	}
	for _, name := range []string{"operator", "hub", "agents", "people", "system", "hubUser", "inspector", "claimsUser", "firstPerson"} {
		*held[name] = r.public(name)
	}
	return files, nil
}

// accountsConf is what every server includes in its configuration.
func (r *operator) accountsConf() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Made by `hub accounts` for fleet %s.\noperator: %s\nsystem_account: %s\nresolver_preload: {\n",
		r.fleet.Name, r.operator, r.public("system"))
	for _, claims := range slices.Backward(r.accountClaims()) {
		fmt.Fprintf(&b, "  # %s\n  %s: %s\n", claims.Name, claims.Subject, r.accounts[claims.Subject])
	}
	// Links of leaf nodes let names of JetStream pass in accounts that have an empty default domain alone.
	fmt.Fprintf(&b, "}\ndefault_js_domain: { %s: \"\" }\n", r.public("agents"))
	return []byte(b.String())
}

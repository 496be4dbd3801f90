package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"flotilla/bus"
	"flotilla/configs/private"
	"flotilla/subjects"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// Files of the folder of a leaf node.
const (
	leafAgentsCreds = "agents.creds"
	leafClaimsCreds = "claims.creds"
	remotesConfFile = "remotes.conf"
)

// maxLeafCreds is how long the credentials of a link may be: servers take lines of 64 KiB from each other.
const maxLeafCreds = 56 << 10

// Leaf is a NATS server at an edge, beside members whose agents connect to it instead of to the servers of the fleet.
type Leaf struct {
	// Name of the server, a DNS label.
	Name string
	// URLs of the leaf node ports of the servers of the fleet, "nats://n1:7422".
	URLs []string
	// Members are the only ones for whom the leaf node may speak.
	Members []string
}

// MakeLeaf writes what a leaf node needs into a folder, which must be missing or empty: the accounts, the links to the
// servers, and credentials for them, which let nothing pass but what the agents of its members may do. It takes the
// keys of AGENTS and SYS from the folder offline of the accounts.
func MakeLeaf(accounts, dir string, leaf Leaf) ([]AccountsFile, error) {
	if err := leaf.check(); err != nil {
		return nil, err
	}
	keys, err := readAccountKeys(accounts)
	if err != nil {
		return nil, err
	}
	for account, key := range map[string]*string{subjects.AccountAgents: &keys.Agents, subjects.AccountSystem: &keys.System} {
		seed, err := private.Read(filepath.Join(accounts, offlineFolder, account+".nk"), maxKeys)
		if err != nil {
			return nil, fmt.Errorf("making a leaf node takes the key of account %s, put it back for as long: %w", account, err)
		}
		*key = strings.TrimSpace(string(seed))
	}
	r, err := newRealm(&keys.seeds, subjects.Fleet{Name: keys.Fleet})
	if err != nil {
		return nil, fmt.Errorf("accounts %s: %w", accounts, err)
	}
	conf, err := os.ReadFile(filepath.Join(accounts, accountsConfFile))
	if err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	return leafFiles, makeFolder(dir, func(dir string) error { return r.writeLeaf(dir, conf, leaf) })
}

var leafFiles = []AccountsFile{
	{accountsConfFile, "servers", "the operator and its accounts, signed; no secret"},
	{remotesConfFile, "servers", "the links to the servers of the fleet: the leaf node includes it"},
	{leafAgentsCreds, "servers", "the credentials by which the leaf node speaks for its members"},
	{leafClaimsCreds, "servers", "the credentials in account SYS by which the leaf node hears of revocations"},
}

func (l Leaf) check() error {
	faults := []error{subjects.CheckLabel("leaf node", l.Name)}
	if len(l.URLs) == 0 {
		faults = append(faults, errors.New("found no URL, expected that of the leaf node port of each server: --url nats://n1:7422"))
	}
	for _, url := range l.URLs {
		faults = append(faults, bus.CheckURL(url, "--url"))
	}
	if len(l.Members) == 0 {
		faults = append(faults, errors.New("found no member, expected those whose agents connect to the leaf node: --member oslo"))
	}
	for _, member := range l.Members {
		faults = append(faults, subjects.CheckLabel("member", member))
	}
	return errors.Join(faults...)
}

func (r *operator) writeLeaf(dir string, accounts []byte, leaf Leaf) error {
	var agents subjects.Permissions
	for _, member := range leaf.Members {
		p := r.fleet.AgentPermissions(member)
		agents.Publish, agents.Subscribe = append(agents.Publish, p.Publish...), append(agents.Subscribe, p.Subscribe...)
	}
	for _, of := range []struct {
		file, account string
		may           subjects.Permissions
	}{{leafAgentsCreds, "agents", agents}, {leafClaimsCreds, "system", subjects.LeafPermissions(leaf.Name)}} {
		if err := r.writeLink(filepath.Join(dir, of.file), of.account, leaf.Name, of.may); err != nil {
			return err
		}
	}
	if err := writePrivate(filepath.Join(dir, accountsConfFile), accounts); err != nil {
		return err
	}
	return writePrivate(filepath.Join(dir, remotesConfFile), r.remotes(leaf))
}

// writeLink writes the credentials of one link of a leaf node.
func (r *operator) writeLink(path, account, leaf string, may subjects.Permissions) error {
	user, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	public, err := user.PublicKey()
	if err != nil {
		return err
	}
	claims := jwt.NewUserClaims(public)
	claims.Name = subjects.LeafPrefix + leaf
	claims.AllowedConnectionTypes.Add(jwt.ConnectionTypeLeafnode)
	permit(&claims.Permissions, may)
	token, err := claims.Encode(r.keys[account])
	if err != nil {
		return fmt.Errorf("signing the link of leaf node %s: %w", leaf, err)
	}
	if len(token) > maxLeafCreds {
		return fmt.Errorf("the members of leaf node %s are too many for one: its credentials take %d bytes, expected at most %d; share them among several",
			leaf, len(token), maxLeafCreds)
	}
	text, err := credsText(token, user)
	if err != nil {
		return err
	}
	return writePrivate(path, text)
}

// remotes is the part of the configuration that differs from leaf node to leaf node.
func (r *operator) remotes(leaf Leaf) []byte {
	var urls []string
	for _, url := range leaf.URLs {
		urls = append(urls, strconv.Quote(url))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Made by `hub accounts leaf` for members %s of fleet %s.\nserver_name: %s\nleafnodes {\n  reconnect: 2\n  remotes: [\n",
		strings.Join(leaf.Members, ", "), r.fleet.Name, leaf.Name)
	for _, link := range []struct{ account, creds string }{{"agents", leafAgentsCreds}, {"system", leafClaimsCreds}} {
		fmt.Fprintf(&b, "    { urls: [%s], account: %s, credentials: %s }\n", strings.Join(urls, ", "), r.public(link.account), link.creds)
	}
	b.WriteString("  ]\n}\n")
	return []byte(b.String())
}

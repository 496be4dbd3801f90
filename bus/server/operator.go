package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flotilla/configs/private"
	"flotilla/subjects"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

const (
	keysFile          = "keys.json"
	operatorCredsFile = "operator.creds"
	hubCredsFile      = "hub.creds"
	inspectorFile     = "inspector.creds"
)

// maxKeys is how many bytes a file of keys may have.
const maxKeys = 64 << 10

// seeds are the private keys of an operator and its accounts, as kept in <dir>/keys.json; a public key stands where
// the private one is kept elsewhere.
type seeds struct {
	// Operator vouches for OperatorSigning, which signs the accounts.
	Operator        string `json:"operator"`
	OperatorSigning string `json:"operatorSigning"`
	System          string `json:"system"`
	Hub             string `json:"hub"`
	Agents          string `json:"agents"`
	// Signing, Joining and Enrolling sign the users of account AGENTS, one for each role, and nothing else.
	Signing   string `json:"signing"`
	Joining   string `json:"joining"`
	Enrolling string `json:"enrolling"`
	// HubUser and Inspector are users of account HUB, ClaimsUser one of SYS.
	HubUser    string `json:"hubUser"`
	Inspector  string `json:"inspector"`
	ClaimsUser string `json:"claimsUser"`
	// People is the account of people, PeopleSigning what signs them, and FirstPerson the first of them.
	People        string `json:"people"`
	PeopleSigning string `json:"peopleSigning"`
	FirstPerson   string `json:"firstPerson"`
}

// operator is an operator with its accounts. Keys are made once and kept; the documents that an embedded server goes by
// are signed anew at each start, so that they follow the address book.
type operator struct {
	fleet    subjects.Fleet
	keys     map[string]nkeys.KeyPair // by field of seeds
	operator string                   // signed claims
	accounts map[string]string        // signed claims by public key
	revoked  *revocations
	most     map[string]int // connections that all users of an account may hold together, by its name
}

// connectionsOfServers is how many connections servers of NATS take unless they are told otherwise.
const connectionsOfServers = 64 << 10

// sharesOf are what accounts may hold of so many connections. A sixteenth is left for hubs, and for who has not said yet whose they are.
func sharesOf(connections int) map[string]int {
	return map[string]int{subjects.AccountAgents: connections / 4 * 3, subjects.AccountPeople: connections / 16 * 3}
}

// roleKeys are the keys that sign agents' credentials, by role.
var roleKeys = map[string]string{
	subjects.RoleEnrolling: "enrolling", subjects.RoleJoining: "joining", subjects.RoleAgent: "signing",
}

// openRealm is that of a data directory, whose server takes so many connections.
func openRealm(dir string, fleet subjects.Fleet, connections int) (*operator, error) {
	s, err := loadSeeds(filepath.Join(dir, keysFile))
	if err != nil {
		return nil, err
	}
	r, err := newRealm(s, fleet)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, keysFile), err)
	}
	if err := private.Check(filepath.Join(dir, hubCredsFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if r.revoked, err = loadRevocations(filepath.Join(dir, revocationsFile)); err != nil {
		return nil, err
	}
	r.most = sharesOf(connections)
	if err := r.sign(); err != nil {
		return nil, fmt.Errorf("signing the accounts: %w", err)
	}
	if err := r.writeUsers(dir); err != nil {
		return nil, err
	}
	return r, r.writeFirstPerson(filepath.Join(dir, operatorCredsFile))
}

// newRealm reads keys; nothing is signed yet.
func newRealm(s *seeds, fleet subjects.Fleet) (*operator, error) {
	r := &operator{
		fleet: fleet, keys: map[string]nkeys.KeyPair{}, accounts: map[string]string{}, revoked: &revocations{}, most: sharesOf(connectionsOfServers),
	}
	for name, text := range s.byName() {
		read := nkeys.FromPublicKey
		if *text == "" {
			return nil, fmt.Errorf("there is no key %s: another version made the folder, make a new one", name)
		}
		if strings.HasPrefix(*text, "S") { // so do private keys alone
			read = func(seed string) (nkeys.KeyPair, error) { return nkeys.FromSeed([]byte(seed)) }
		}
		var err error
		if r.keys[name], err = read(*text); err != nil {
			return nil, fmt.Errorf("key %s: %w", name, err)
		}
	}
	return r, nil
}

// writeUsers writes the creds files of the users of account HUB.
func (r *operator) writeUsers(dir string) error {
	if err := r.writeCreds(filepath.Join(dir, hubCredsFile), "hub", "hubUser", subjects.HubUser, r.fleet.HubPermissions()); err != nil {
		return err
	}
	return r.writeCreds(filepath.Join(dir, inspectorFile), "hub", "inspector", subjects.InspectorUser, r.fleet.InspectorPermissions())
}

func (s *seeds) byName() map[string]*string {
	return map[string]*string{
		"operator": &s.Operator, "operatorSigning": &s.OperatorSigning, "system": &s.System, "hub": &s.Hub, "agents": &s.Agents,
		"signing": &s.Signing, "joining": &s.Joining, "enrolling": &s.Enrolling, "hubUser": &s.HubUser, "inspector": &s.Inspector,
		"claimsUser": &s.ClaimsUser,
		"people":     &s.People, "peopleSigning": &s.PeopleSigning, "firstPerson": &s.FirstPerson,
	}
}

// loadSeeds reads the keys, or makes and keeps them when there are none.
func loadSeeds(path string) (*seeds, error) {
	s := &seeds{}
	text, err := private.Read(path, maxKeys)
	switch {
	case err == nil:
		if err := json.Unmarshal(text, s); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		return s, nil
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	if s, err = newSeeds(); err != nil {
		return nil, err
	}
	if text, err = json.MarshalIndent(s, "", "  "); err != nil {
		return nil, err
	}
	return s, writePrivate(path, text)
}

func newSeeds() (*seeds, error) {
	s := &seeds{}
	for name, seed := range s.byName() {
		var err error
		if *seed, err = newSeed(name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func newSeed(name string) (string, error) {
	create := nkeys.CreateAccount
	switch name {
	case "operator", "operatorSigning":
		create = nkeys.CreateOperator
	case "hubUser", "inspector", "claimsUser", "firstPerson":
		create = nkeys.CreateUser
	}
	pair, err := create()
	if err != nil {
		return "", err
	}
	seed, err := pair.Seed()
	return string(seed), err
}

func (r *operator) public(name string) string {
	key, _ := r.keys[name].PublicKey() // there always is one
	return key
}

func (r *operator) sign() error {
	operator := jwt.NewOperatorClaims(r.public("operator"))
	operator.Name = "flotilla"
	operator.SystemAccount = r.public("system")
	operator.SigningKeys.Add(r.public("operatorSigning"))
	var err error
	if r.operator, err = operator.Encode(r.keys["operator"]); err != nil {
		return err
	}
	for _, claims := range r.accountClaims() {
		if r.accounts[claims.Subject], err = r.signAccount(claims); err != nil {
			return err
		}
	}
	return nil
}

// accountClaims are the accounts as the address book has them now.
func (r *operator) accountClaims() []*jwt.AccountClaims {
	return []*jwt.AccountClaims{r.systemAccount(), r.hubAccount(), r.agentsAccount(), r.peopleAccount()}
}

// signAccount signs the claims of an account with the keys that it has revoked.
func (r *operator) signAccount(claims *jwt.AccountClaims) (string, error) {
	claims.Revocations = r.revoked.of(claims.Name)
	token, err := claims.Encode(r.keys["operatorSigning"])
	if err != nil {
		return "", fmt.Errorf("account %s: %w", claims.Name, err)
	}
	return token, nil
}

func (r *operator) systemAccount() *jwt.AccountClaims {
	a := jwt.NewAccountClaims(r.public("system"))
	a.Name = subjects.AccountSystem
	return a
}

func (r *operator) hubAccount() *jwt.AccountClaims {
	a := jwt.NewAccountClaims(r.public("hub"))
	a.Name = subjects.AccountHub
	a.Limits.JetStreamLimits = jwt.JetStreamLimits{
		MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit,
		MaxAckPending: jwt.NoLimit, MemoryMaxStreamBytes: jwt.NoLimit, DiskMaxStreamBytes: jwt.NoLimit,
	}
	for _, e := range slices.Concat(r.fleet.Exports(), r.fleet.PeopleExports()) {
		a.Exports.Add(&jwt.Export{Name: e.Name, Subject: jwt.Subject(e.Subject), Type: exportType(e), ResponseThreshold: e.Within})
	}
	return a
}

func (r *operator) agentsAccount() *jwt.AccountClaims {
	a := jwt.NewAccountClaims(r.public("agents"))
	a.Name = subjects.AccountAgents
	a.Limits.Conn = int64(r.most[subjects.AccountAgents])
	for _, e := range r.fleet.Exports() {
		a.Imports.Add(&jwt.Import{
			Name: e.Name, Account: r.public("hub"), Type: exportType(e), Share: e.Tells,
			Subject: jwt.Subject(e.Subject), LocalSubject: jwt.RenamingSubject(cmp.Or(e.As, e.Subject)),
		})
	}
	for _, role := range subjects.AgentRoles() {
		scope := jwt.NewUserScope()
		scope.Key = r.public(roleKeys[role])
		scope.Role = role
		scope.Template.Subs = AgentSubscriptions
		scope.Template.AllowedConnectionTypes = clients()
		permit(&scope.Template.Permissions, r.fleet.RolePermissions(role, subjects.AgentTemplate))
		a.SigningKeys.AddScopedSigner(scope)
	}
	return a
}

// clients are the ways in which agents and people connect. As a leaf node nobody would hold a user to anything that clients are held to.
func clients() jwt.StringList {
	return jwt.StringList{jwt.ConnectionTypeStandard, jwt.ConnectionTypeWebsocket, jwt.ConnectionTypeInProcess}
}

func exportType(e subjects.Export) jwt.ExportType {
	if e.Stream {
		return jwt.Stream
	}
	return jwt.Service
}

func permit(to *jwt.Permissions, p subjects.Permissions) {
	to.Pub.Allow.Add(p.Publish...)
	to.Sub.Allow.Add(p.Subscribe...)
}

// writeCreds signs a user with the key of an account and writes its creds file.
func (r *operator) writeCreds(path, account, key, user string, p subjects.Permissions) error {
	text, err := r.credsOf(account, key, user, p)
	if err != nil {
		return err
	}
	return writePrivate(path, text)
}

// credsOf is the text of the creds file of a user.
func (r *operator) credsOf(account, key, user string, p subjects.Permissions) ([]byte, error) {
	claims := jwt.NewUserClaims(r.public(key))
	claims.Name = user
	permit(&claims.Permissions, p)
	token, err := claims.Encode(r.keys[account])
	if err != nil {
		return nil, fmt.Errorf("signing user %s: %w", user, err)
	}
	return credsText(token, r.keys[key])
}

// accountNames are the names of the accounts by their public keys.
func (r *operator) accountNames() map[string]string {
	names := map[string]string{}
	for _, claims := range r.accountClaims() {
		names[claims.Subject] = claims.Name
	}
	return names
}

func (r *operator) issuer() *Issuer {
	keys := map[string]nkeys.KeyPair{}
	for role, name := range roleKeys {
		keys[role] = r.keys[name]
	}
	return &Issuer{account: r.public("agents"), keys: keys}
}

func credsText(token string, user nkeys.KeyPair) ([]byte, error) {
	seed, err := user.Seed()
	if err != nil {
		return nil, err
	}
	return jwt.FormatUserConfig(token, seed)
}

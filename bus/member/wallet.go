package member

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/core/api"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// What a wallet keeps in its vault. What is being enrolled takes the place of what was once the hub agreed.
const (
	walletFile    = "identity.json"
	enrollingFile = "identity.enrolling.json"
)

// Wallet is how the agent of a member proves who it is: keys that it made itself and that never leave its vault,
// and the credentials that the hub gave for them.
type Wallet struct {
	vault Vault

	mu   sync.Mutex
	held *papers // nil before the first enrolment
	// next are those of a token that was not traded yet, nil when there is none.
	next     *papers
	token    api.Token
	tokenKey nkeys.KeyPair
	// shown is what the connection was made with last, and refused says that the servers did not take it.
	shown   presented
	refused bool
	serial  int64
}

// papers are what a wallet keeps.
type papers struct {
	Fleet  string `json:"fleet"`
	Member string `json:"member"`
	URL    string `json:"url,omitempty"`
	CA     string `json:"ca,omitempty"`
	// Token is the public key of the token that the keys were made for.
	Token string `json:"token"`
	// Seed and SealingSeed are the keys of the agent.
	Seed        string `json:"seed"`
	SealingSeed string `json:"sealingSeed"`
	// Credentials are for work, of a role; Returning asks for others.
	Credentials string `json:"credentials,omitempty"`
	Returning   string `json:"returning,omitempty"`
	Role        string `json:"role,omitempty"`
	// HubKey is the public curve key of the hub that made the token.
	HubKey string `json:"hubKey,omitempty"`

	key, sealing nkeys.KeyPair
	// issued and ends are those of Credentials, by the clock of machines; zero is never.
	issued, ends time.Time
}

// Enrolled is the member whose agent a hub agreed to and kept that in a vault; empty when there is none.
func Enrolled(vault Vault) (member string, err error) {
	p, err := readPapers(vault, walletFile)
	if err != nil || p == nil {
		return "", err
	}
	return p.Member, nil
}

// OpenWallet opens the wallet in the vault of an agent. With a token that it does not know it makes keys for it;
// nil when there is neither a token nor anything in the vault.
func OpenWallet(vault Vault, token *api.Token) (*Wallet, error) {
	w := &Wallet{vault: vault}
	var err error
	if w.held, err = readPapers(vault, walletFile); err != nil {
		return nil, err
	}
	if err := w.clear(); err != nil {
		return nil, err
	}
	if token != nil {
		if err := w.take(*token); err != nil {
			return nil, err
		}
	}
	if w.held == nil && w.next == nil {
		return nil, nil
	}
	return w, nil
}

// clear removes keys of a token that was traded, which a kill left behind.
func (w *Wallet) clear() error {
	left, err := readPapers(w.vault, enrollingFile)
	if err != nil || left == nil || w.held == nil || left.Token != w.held.Token {
		return err
	}
	return w.vault.Remove(enrollingFile)
}

// take prepares to trade a token, with the keys that were made for it before, if any: then an answer was lost.
func (w *Wallet) take(token api.Token) error {
	user, err := nkeys.FromSeed([]byte(token.Seed))
	if err != nil {
		return fmt.Errorf("the token is damaged: %w", err)
	}
	public, err := user.PublicKey()
	if err != nil {
		return fmt.Errorf("the token is damaged: %w", err)
	}
	if w.held != nil && w.held.Token == public {
		return nil // it was traded
	}
	if w.held != nil && w.held.Member != token.Member {
		return fmt.Errorf("%w: %s is that of member %s and the token of member %s: give each its own with --data", bus.ErrSetup, w.vault, w.held.Member, token.Member)
	}
	if w.next, err = readPapers(w.vault, enrollingFile); err != nil {
		return err
	}
	w.token, w.tokenKey = token, user
	if w.next != nil && w.next.Token == public {
		return nil
	}
	if w.next, err = newPapers(token, public); err != nil {
		return err
	}
	return w.write(enrollingFile, w.next)
}

func newPapers(token api.Token, public string) (*papers, error) {
	p := &papers{Fleet: token.Fleet, Member: token.Member, URL: token.URL, CA: token.CA, HubKey: token.HubKey, Token: public}
	var err error
	if p.key, err = nkeys.CreateUser(); err != nil {
		return nil, err
	}
	if p.sealing, err = nkeys.CreateCurveKeys(); err != nil {
		return nil, err
	}
	for _, kept := range []struct {
		of nkeys.KeyPair
		in *string
	}{{p.key, &p.Seed}, {p.sealing, &p.SealingSeed}} {
		seed, err := kept.of.Seed()
		if err != nil {
			return nil, err
		}
		*kept.in = string(seed)
	}
	return p, nil
}

// readPapers are nil when there are none of that name.
func readPapers(vault Vault, name string) (*papers, error) {
	text, err := vault.Read(name)
	if err != nil {
		return nil, fmt.Errorf("reading the agent's keys, %s of %s: %w", name, vault, err)
	}
	if text == nil {
		return nil, nil
	}
	p := &papers{}
	err = json.Unmarshal(text, p)
	if err == nil {
		p.key, err = nkeys.FromSeed([]byte(p.Seed))
	}
	if err == nil {
		p.sealing, err = nkeys.FromCurveSeed([]byte(p.SealingSeed))
	}
	if err == nil {
		err = p.date()
	}
	if err != nil {
		return nil, fmt.Errorf("the agent's keys cannot be read, %s of %s: %w; remove it and enrol anew", name, vault, err)
	}
	return p, nil
}

// date reads from when until when the credentials hold.
func (p *papers) date() error {
	if p.Credentials == "" {
		return nil
	}
	claims, err := jwt.DecodeUserClaims(p.Credentials)
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	p.issued, p.ends = time.Unix(claims.IssuedAt, 0), time.Time{}
	if claims.Expires != 0 {
		p.ends = time.Unix(claims.Expires, 0)
	}
	return nil
}

// write has put papers into the vault when it returns.
func (w *Wallet) write(name string, p *papers) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err == nil {
		err = w.vault.Write(name, text)
	}
	if err != nil {
		return fmt.Errorf("keeping the agent's keys in %s: %w", w.vault, err)
	}
	return nil
}

// papers are those that a connection is made with; once made they do not change.
func (w *Wallet) papers() *papers {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current()
}

// current is papers for who holds the lock.
func (w *Wallet) current() *papers {
	if w.next != nil {
		return w.next
	}
	return w.held
}

// Where is what the token said: for which member it is, and where to connect to.
func (w *Wallet) Where() (member, url string, authority *x509.CertPool) {
	p := w.papers()
	if p.CA != "" {
		authority = x509.NewCertPool()
		authority.AppendCertsFromPEM([]byte(p.CA))
	}
	return p.Member, p.URL, authority
}

// Fleet and Member are what the token was made for.
func (w *Wallet) Fleet() string { return w.papers().Fleet }

// Member is the member that the token was made for.
func (w *Wallet) Member() string { return w.papers().Member }

// Key and SealingKey are the public keys of the agent.
func (w *Wallet) Key() string { return w.public(func(p *papers) nkeys.KeyPair { return p.key }) }

// SealingKey is the public curve key of the agent.
func (w *Wallet) SealingKey() string {
	return w.public(func(p *papers) nkeys.KeyPair { return p.sealing })
}

func (w *Wallet) public(of func(*papers) nkeys.KeyPair) string {
	key, _ := of(w.papers()).PublicKey() // of a key pair with a seed there always is one
	return key
}

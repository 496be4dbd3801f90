package bus

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"flotilla/core/api"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// Files of a wallet in the folder of an agent. What is being enrolled takes the place of what was once the hub
// agreed.
const (
	walletFile    = "identity.json"
	enrollingFile = "identity.enrolling.json"
)

// Wallet is how the agent of a member proves who it is: keys that it made itself and that never leave its folder,
// and the credentials that the hub gave for them.
type Wallet struct {
	dir string

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

// papers are what a wallet keeps on disk.
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

// Enrolled says that a folder of an agent holds what a hub agreed to.
func Enrolled(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, walletFile))
	return err == nil
}

// OpenWallet opens the wallet in the folder of an agent. With a token that it does not know it makes keys for it;
// nil when there is neither a token nor anything in the folder.
func OpenWallet(dir string, token *api.Token) (*Wallet, error) {
	w := &Wallet{dir: dir}
	var err error
	if w.held, err = readPapers(w.path(walletFile)); err != nil {
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
	left, err := readPapers(w.path(enrollingFile))
	if err != nil || left == nil || w.held == nil || left.Token != w.held.Token {
		return err
	}
	return os.Remove(w.path(enrollingFile))
}

func (w *Wallet) path(name string) string { return filepath.Join(w.dir, name) }

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
		return fmt.Errorf("%w: the folder %s is that of member %s and the token of member %s: give each its own with --data", ErrSetup, w.dir, w.held.Member, token.Member)
	}
	if w.next, err = readPapers(w.path(enrollingFile)); err != nil {
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

// readPapers are nil when there is no such file.
func readPapers(path string) (*papers, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	p := &papers{}
	if err == nil {
		err = json.Unmarshal(text, p)
	}
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
		return nil, fmt.Errorf("the agent's keys cannot be read, %s: %w; remove the file and enrol anew", path, err)
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

// write puts papers on the disk before it returns.
func (w *Wallet) write(name string, p *papers) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err == nil {
		err = os.MkdirAll(w.dir, 0o700)
	}
	if err == nil {
		err = writeSynced(w.path(name), text)
	}
	if err != nil {
		return fmt.Errorf("keeping the agent's keys in %s: %w", w.dir, err)
	}
	return nil
}

// writeSynced is writePrivate, with the file and its folder on the disk when it returns.
func writeSynced(path string, text []byte) error {
	f, err := os.OpenFile(path+".next", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// current are the papers that a connection is made with; the lock is held.
func (w *Wallet) current() *papers {
	if w.next != nil {
		return w.next
	}
	return w.held
}

// Where the wallet leads to: what the token said.
func (w *Wallet) where() (fleet, member, url string, authority *x509.CertPool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.current()
	if p.CA != "" {
		authority = x509.NewCertPool()
		authority.AppendCertsFromPEM([]byte(p.CA))
	}
	return p.Fleet, p.Member, p.URL, authority
}

// Fleet and Member are what the token was made for.
func (w *Wallet) Fleet() string { fleet, _, _, _ := w.where(); return fleet }

// Member is the member that the token was made for.
func (w *Wallet) Member() string { _, member, _, _ := w.where(); return member }

// Key and SealingKey are the public keys of the agent.
func (w *Wallet) Key() string { return w.public(func(p *papers) nkeys.KeyPair { return p.key }) }

// SealingKey is the public curve key of the agent.
func (w *Wallet) SealingKey() string {
	return w.public(func(p *papers) nkeys.KeyPair { return p.sealing })
}

func (w *Wallet) public(of func(*papers) nkeys.KeyPair) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	key, _ := of(w.current()).PublicKey() // of a key pair with a seed there always is one
	return key
}

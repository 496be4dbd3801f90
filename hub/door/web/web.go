package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/loop"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/hub/door/users"
	"flotilla/subjects"
)

const (
	// mostOfAll is how many links and sessions there are of all people, and how many tokens.
	mostOfAll = 4096
	// secretBytes is the length of a secret; secrets are shown in base64 for URLs.
	secretBytes = 32
)

// mostOfOne is how many of a kind one person has at once: the newest are kept.
var mostOfOne = map[string]int{api.SecretOfLink: 16, api.SecretOfSession: 16, api.SecretOfToken: 64}

// A person may ask for as many links or tokens at once as there may be, and for another after so long: each is a record, and
// leaves a mark for a day.
const givenEvery = 10 * time.Second

// Options of Sessions.
type Options struct {
	// Page is where the page is, as in api.WebResponse; empty: there is none.
	Page func() string
	// Front is where the Kubernetes API is and the authority of its certificate, as in api.TokenResponse; empty: there is none.
	Front func() (at string, ca []byte)
	Log   zerolog.Logger
}

// Sessions keeps the records of links, sessions and tokens.
type Sessions struct {
	store   *store.Store
	records *store.Records[api.Session]
	users   *users.Users
	options Options
	paces   map[string]*loop.Pace // of links and of tokens, by person
	sweeper *loop.Queue
}

// New returns the sessions of a store, of people who are known to users.
func New(leader *store.Store, people *users.Users, o Options) *Sessions {
	s := &Sessions{
		store: leader, users: people, options: o,
		paces: map[string]*loop.Pace{
			api.SecretOfLink:  loop.NewPace(mostOfOne[api.SecretOfLink], givenEvery),
			api.SecretOfToken: loop.NewPace(mostOfOne[api.SecretOfToken], givenEvery),
		},
		records: store.Writes[api.Session](leader.State.As(subjects.Door), subjects.Sessions),
	}
	s.sweeper = loop.New(loop.Options{Now: leader.Now, Failed: func(_ string, err error, delay time.Duration) {
		o.Log.Warn().Err(err).Dur("retry", delay).Msg("removing sessions that ended")
	}})
	return s
}

// Link makes a link for whoever asks, unless they ask too often.
func (s *Sessions) Link(ctx context.Context, request *api.WebRequest) (*api.WebResponse, error) {
	if err := s.paced(request.By, api.SecretOfLink, "links to the page", "flotilla web"); err != nil {
		return nil, err
	}
	return s.LinkFor(ctx, request.By, api.LinkLife)
}

// LinkFor makes a link for somebody that holds for a while.
func (s *Sessions) LinkFor(ctx context.Context, by api.Caller, life time.Duration) (*api.WebResponse, error) {
	page := s.options.Page()
	if page == "" {
		return nil, &api.Failure{Code: api.CodeRefused, Message: "this hub serves no page: start it with --page 127.0.0.1:8480", Next: "flotilla status"}
	}
	if found := s.count(api.SecretOfLink, api.SecretOfSession); found >= mostOfAll {
		return nil, &api.Failure{
			Code:    api.CodeLimit,
			Message: fmt.Sprintf("found %d links and sessions of the page, expected fewer than %d: links end within a minute, sessions within %s", found, mostOfAll, api.SessionLife),
		}
	}
	secret, ends, err := s.hand(ctx, by, api.SecretOfLink, life)
	if err != nil {
		return nil, err
	}
	return &api.WebResponse{URL: page, Secret: secret, Ends: ends}, nil
}

// paced refuses somebody who asked for something of a kind too often of late.
func (s *Sessions) paced(by api.Caller, kind, called, next string) error {
	if s.paces[kind].Allows(by.Name, s.store.Now()) {
		return nil
	}
	return &api.Failure{
		Code: api.CodeLimit, Next: next,
		Message: fmt.Sprintf("%s asked for %d %s of late: there is another in %s", by.Name, mostOfOne[kind], called, givenEvery),
	}
}

// count is how many there are of some kinds.
func (s *Sessions) count(kinds ...string) (n int) {
	for _, e := range s.records.All() {
		if slices.Contains(kinds, e.Value.Secret) {
			n++
		}
	}
	return n
}

// hand gives somebody something of a kind.
func (s *Sessions) hand(ctx context.Context, by api.Caller, kind string, life time.Duration) (secret string, ends metav1.Time, err error) {
	given := api.Session{Secret: kind, Person: by.Name, Role: by.Role, Key: by.Key}
	secret, op, err := s.give(&given, life)
	if err != nil {
		return "", ends, err
	}
	_, err = s.store.Writer.Write(ctx, append(s.crowd(by.Name, kind), op)...)
	return secret, given.Ends, err
}

// give makes a secret under which something given to somebody is to be kept, and what keeps it.
func (s *Sessions) give(given *api.Session, life time.Duration) (secret string, keep store.Op, err error) {
	now := s.store.Now().UTC().Truncate(time.Second)
	given.Header, given.Issued, given.Ends = api.NewHeader(api.KindSession), metav1.NewTime(now), metav1.NewTime(now.Add(life))
	until, holds := s.users.Standing(given)
	if !holds {
		return "", store.Op{}, noEntry(given.Secret, "the credentials of "+given.Person+" hold no more")
	}
	if !until.IsZero() && until.Before(given.Ends.Time) {
		given.Ends = metav1.NewTime(until)
	}
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // which never fails
	secret = prefixes[given.Secret] + base64.RawURLEncoding.EncodeToString(random)
	return secret, s.records.Put(hashed(secret), given, 0), nil
}

// prefixes are what secrets begin with, by what they are for.
var prefixes = map[string]string{api.SecretOfToken: subjects.TokenPrefix}

// hashed is the name of the record of a secret.
func hashed(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// crowd removes the oldest of what a person has of a kind, so that there is room for one more.
func (s *Sessions) crowd(person, kind string) (remove []store.Op) {
	own := slices.DeleteFunc(s.records.All(), func(e store.Entry[api.Session]) bool {
		return e.Value.Person != person || e.Value.Secret != kind
	})
	slices.SortFunc(own, func(a, b store.Entry[api.Session]) int { return cmp.Compare(a.Revision, b.Revision) })
	for _, e := range own[:max(0, len(own)-mostOfOne[kind]+1)] {
		remove = append(remove, s.records.Delete(e.Name, e.Revision))
	}
	return remove
}

// valid is the record of a secret of a kind that lets somebody in.
func (s *Sessions) valid(secret, kind string) (found api.Session, revision uint64, err error) {
	found, revision, is := s.records.Get(hashed(secret))
	if !is || found.Secret != kind {
		return found, 0, noEntry(kind, "this "+kind+" was used or ended, or never was")
	}
	if !s.stands(&found) {
		return found, 0, noEntry(kind, "this "+kind+" has ended")
	}
	return found, revision, nil
}

// stands says whether a link or session holds still.
func (s *Sessions) stands(given *api.Session) bool {
	_, holds := s.users.Standing(given)
	return holds && s.store.Now().Before(given.Ends.Time)
}

// noEntry is why a secret of a kind lets nobody in.
func noEntry(kind, why string) *api.Failure {
	next := "flotilla web"
	if kind == api.SecretOfToken {
		next = "flotilla token"
	}
	return &api.Failure{Code: api.CodeNoEntry, Message: why + ": ask for another with `" + next + "`", Next: next}
}

// Enter begins a session with a link, which is removed with the same write. CodeNoEntry.
func (s *Sessions) Enter(ctx context.Context, request *api.EnterRequest) (*api.EnterResponse, error) {
	link, revision, err := s.valid(request.Link, api.SecretOfLink)
	if err != nil {
		return nil, err
	}
	session := api.Session{Secret: api.SecretOfSession, Person: link.Person, Role: link.Role, Key: link.Key}
	secret, keep, err := s.give(&session, api.SessionLife)
	if err != nil {
		return nil, err
	}
	ops := append(s.crowd(link.Person, api.SecretOfSession), keep, s.records.Delete(hashed(request.Link), revision))
	who := session.Caller()
	who.Address, who.Request = addressOf(request.Address), request.By.Request
	told := who.Audit(api.Audit{
		Object: subjects.KindUser + "/" + who.Name, Type: "Normal", Reason: "Entered",
		Message: fmt.Sprintf("the page, as %s until %s", who.Role, session.Ends.UTC().Format(time.RFC3339)),
	})
	if _, err := s.store.WriteTold(ctx, []api.Audit{told}, ops...); err != nil {
		return nil, err
	}
	return &api.EnterResponse{Session: secret}, nil
}

// addressOf is an address as events tell it, empty for what is none.
func addressOf(text string) string {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return ""
	}
	return address.WithZone("").String()
}

// Session says whose a session or a token is. CodeNoEntry.
func (s *Sessions) Session(_ context.Context, request *api.SessionRequest) (any, error) {
	kind := api.SecretOfSession
	if request.Of == api.SecretOfToken {
		kind = api.SecretOfToken
	}
	found, _, err := s.valid(request.Session, kind)
	if err != nil {
		return nil, err
	}
	return &api.SessionResponse{Name: found.Person, Role: found.Role, Ends: found.Ends, Key: found.Key}, nil
}

// Leave ends a session; one that is none ends too.
func (s *Sessions) Leave(ctx context.Context, request *api.SessionRequest) (*struct{}, error) {
	name := hashed(request.Session)
	session, revision, found := s.records.Get(name)
	if !found || session.Secret != api.SecretOfSession {
		return &struct{}{}, nil
	}
	_, err := s.store.Writer.Write(ctx, s.records.Delete(name, revision))
	return &struct{}{}, err
}

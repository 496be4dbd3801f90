// Package users makes, renews, lists and revokes credentials of people, and refuses those whose were revoked. Package door
// serves its verbs.
package users

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

// People mints and revokes credentials of people.
type People interface {
	// PersonCreds mints the text of a .creds file with a new key, and returns its public part.
	PersonCreds(person string, role api.Role, life time.Duration) (creds []byte, key string, err error)
	// Revoke refuses a public key of an account from now on, and cuts its connections.
	Revoke(account, key string) error
	// FirstPerson is the public key of the admin who is there before any other.
	FirstPerson() string
}

// Users keeps the records of people.
type Users struct {
	// Turn is held while one is decided about.
	loop.Turn

	store   *store.Store
	records *store.Records[api.User]
	people  People
	url     string
	// made is by whose request the newest credentials of each person were made, in this term. A repeat of that request makes new ones:
	// credentials are remembered nowhere, and whoever asks again has not got those.
	made map[string]string
}

// New returns the users of a store. People is nil when somebody else makes credentials; url is where the servers are, for
// those whom credentials are made for.
func New(leader *store.Store, people People, url string) *Users {
	return &Users{Turn: loop.NewTurn(), store: leader, records: store.Writes[api.User](leader.State.As(subjects.Door), subjects.Users), people: people, url: url, made: map[string]string{}}
}

// Add makes credentials for somebody new, or new ones for somebody known, whose former ones are revoked.
func (u *Users) Add(ctx context.Context, request *api.UserAddRequest) (*api.UserAddResponse, error) {
	stored, revision, found := u.user(request.Name)
	if u.people == nil && request.Renew && stored.Revoked != nil {
		return u.letIn(ctx, request, &stored, revision)
	}
	request.Renew = request.Renew || found && stored.Revoked == nil && u.made[request.Name] == request.By.Own(request.By.Request)
	if failure := u.checkUser(request, &stored, found); failure != nil {
		return nil, failure
	}
	now := metav1.NewTime(u.store.Now().UTC().Truncate(time.Second))
	next := api.User{
		Header: api.NewHeader(api.KindUser), Name: request.Name, Role: request.Role, Issued: now,
		Ends: metav1.NewTime(now.Add(request.Life.Duration)), By: request.By.Name,
	}
	if next.Role == "" {
		next.Role = stored.Role
	}
	creds, key, err := u.people.PersonCreds(next.Name, next.Role, request.Life.Duration)
	if err != nil {
		return nil, fmt.Errorf("making credentials for %s: %w", next.Name, err)
	}
	next.Key = key
	did := "Added"
	if found {
		did = "Renewed"
	}
	told := request.By.Audit(userEvent(next.Name, did, "credentials of role "+string(next.Role)+" until "+next.Ends.UTC().Format(time.RFC3339)))
	if _, err := u.store.WriteTold(ctx, []api.Audit{told}, u.records.Put(next.Name, &next, revision)); err != nil {
		return nil, err
	}
	u.made[next.Name] = request.By.Own(request.By.Request)
	answer := &api.UserAddResponse{User: next, Creds: string(creds), URL: u.url}
	// Whoever renews their own still waits for this answer: what was theirs is refused by the door alone.
	if found && request.By.Name != next.Name {
		answer.Left = u.refuse(&stored, bus.RevokeCommand(subjects.AccountPeople, stored.Key))
	}
	return answer, nil
}

// refuse has servers refuse a person, or says why they do not, and what to type then.
func (u *Users) refuse(person *api.User, again string) *api.Failure {
	if u.people == nil {
		return leftToOthers(person)
	}
	err := u.people.Revoke(subjects.AccountPeople, person.Key)
	if err == nil {
		return nil
	}
	if elsewhere, ok := errors.AsType[*bus.NotRevokedError](err); ok {
		again = bus.RevokeCommand(elsewhere.Account, elsewhere.Key)
	}
	return &api.Failure{
		Code:    api.CodeInternal,
		Message: fmt.Sprintf("the hub refuses key %s of %s, and its servers do not know yet: %v", person.Key, person.Name, err), Next: again,
	}
}

// checkUser says why credentials cannot be made; nil when they can.
func (u *Users) checkUser(request *api.UserAddRequest, stored *api.User, found bool) *api.Failure {
	if err := api.CheckUser(request.Name); err != nil {
		return &api.Failure{Code: api.CodeInvalid, Message: err.Error()}
	}
	if !found && request.Renew {
		return u.noUser(request.Name)
	}
	if _, err := api.ParseRole(string(request.Role)); err != nil && (request.Role != "" || stored.Role == "") {
		return &api.Failure{Code: api.CodeInvalid, Message: err.Error()}
	}
	if life := request.Life.Duration; life < time.Minute || life > api.MaxUserLife {
		return &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("credentials for %s: expected from a minute to 366 days", life)}
	}
	switch {
	case found && !request.Renew && stored.Revoked == nil:
		return &api.Failure{
			Code: api.CodeConflict, Message: fmt.Sprintf("user %s is there already, as %s: renewing makes new credentials and revokes the former ones", stored.Name, stored.Role),
			Next: "flotilla user renew " + stored.Name,
		}
	case u.people == nil:
		return &api.Failure{
			Code:    api.CodeRefused,
			Message: "this hub cannot make credentials of people: its servers are others', make the user in account PEOPLE there, with the permissions that subjects/SUBJECTS.md lists",
			Next:    "nsc add user --account PEOPLE --name " + request.Name,
		}
	}
	return nil
}

func (u *Users) noUser(name string) *api.Failure {
	return &api.Failure{Code: api.CodeNotFound, Message: fmt.Sprintf("there is no user %q", name), Next: "flotilla user list"}
}

// user is the record of a person. The first one needs none.
func (u *Users) user(name string) (stored api.User, revision uint64, found bool) {
	stored, revision, found = u.records.Get(name)
	if !found && name == subjects.FirstPerson && u.people != nil {
		return api.User{
			Header: api.NewHeader(api.KindUser), Name: name, Role: api.RoleAdmin, Key: u.people.FirstPerson(),
		}, 0, true
	}
	return stored, revision, found
}

// List answers who there is, sorted by name.
func (u *Users) List(_ context.Context, _ *struct{}) (any, error) {
	out := &api.UserListResponse{Users: []api.User{}}
	for _, entry := range u.records.All() {
		out.Users = append(out.Users, entry.Value)
	}
	if _, revision, found := u.user(subjects.FirstPerson); found && revision == 0 {
		first, _, _ := u.user(subjects.FirstPerson)
		out.Users = append(out.Users, first)
	}
	slices.SortFunc(out.Users, func(a, b api.User) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Revoke refuses the credentials of a person from now on, and cuts their connections. Whom others made credentials for is
// refused by name.
func (u *Users) Revoke(ctx context.Context, request *api.UserRevokeRequest) (*api.UserRevokeResponse, error) {
	stored, revision, found := u.user(request.Name)
	if !found {
		if failure := u.stranger(request.Name, &stored); failure != nil {
			return nil, failure
		}
	}
	switch {
	case request.By.Name == stored.Name:
		return nil, &api.Failure{
			Code: api.CodeRefused, Message: "nobody revokes their own credentials: another admin does, or who runs the hub, with its hub.creds",
			Next: "flotilla user list",
		}
	case stored.Revoked != nil: // servers may have been told of it no more
		return &api.UserRevokeResponse{User: stored, Unchanged: true, Left: u.refuse(&stored, "flotilla user revoke "+stored.Name)}, nil
	}
	now := metav1.NewTime(u.store.Now().UTC().Truncate(time.Second))
	stored.Revoked, stored.By = &now, request.By.Name
	told := request.By.Audit(userEvent(stored.Name, "Revoked", whatOf(&stored)))
	if _, err := u.store.WriteTold(ctx, []api.Audit{told}, u.records.Put(stored.Name, &stored, revision)); err != nil {
		return nil, err
	}
	return &api.UserRevokeResponse{User: stored, Left: u.refuse(&stored, "flotilla user revoke "+stored.Name)}, nil
}

func userEvent(name, reason, message string) api.Audit {
	return api.Audit{Object: subjects.KindUser + "/" + name, Type: "Normal", Reason: reason, Message: message}
}

// Guard refuses who was revoked, also where servers do not know it.
func (u *Users) Guard(handler bus.Handler) bus.Handler {
	return func(ctx context.Context, by api.Caller, body []byte) (any, error) {
		if _, err := u.While(ctx, by); err != nil {
			return nil, err
		}
		return handler(ctx, by, body)
	}
}

// While returns a context under which somebody's writes are stored only while their record is as it is now, or refuses who was
// revoked.
func (u *Users) While(ctx context.Context, by api.Caller) (context.Context, error) {
	if by.Name == "" { // a hub
		return ctx, nil
	}
	stored, revision, found := u.records.Get(by.Name)
	if found && stored.Refuses(by) {
		return nil, &api.Failure{
			Code: api.CodeRefused, Message: fmt.Sprintf("these credentials of %s were revoked; an admin makes new ones: flotilla user renew %s", by.Name, by.Name),
		}
	}
	return store.While(ctx, u.records.Key(by.Name), revision), nil
}

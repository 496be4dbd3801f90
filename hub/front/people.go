package front

import (
	"context"
	"errors"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"

	"flotilla/bus/loop"
	"flotilla/core/api"
)

const (
	// knownFor is for how long a token is taken to hold without asking again.
	knownFor = time.Second
	// mostKnown bounds how many are known at once.
	mostKnown = 4096
	// groupPrefix is before a role in the groups of who asks.
	groupPrefix = "flotilla:"
)

// people remembers for a moment whose a token is.
type people struct{ known *loop.Memo[api.Person] }

func newPeople(door Door, now func() time.Time) *people {
	return &people{loop.NewMemo(loop.MemoOptions[api.Person]{
		Ask: door.Token, Ends: func(p api.Person) time.Time { return p.Ends }, For: knownFor, Most: mostKnown, Now: now,
	})}
}

// AuthenticateToken says who shows a token.
func (p *people) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	if info, _ := genericrequest.RequestInfoFrom(ctx); info != nil && info.IsResourceRequest {
		p.known.Forget(token) // a client discovers with thirty requests at once; who asks for objects is asked for each time
	}
	person, err := p.known.Of(ctx, token)
	if errors.Is(err, api.ErrNoEntry) {
		return nil, false, nil
	}
	if err != nil {
		if met, _ := ctx.Value(troubleKey{}).(*trouble); met != nil {
			met.err = err
		}
		return nil, false, err
	}
	return &authenticator.Response{User: &user.DefaultInfo{
		Name: person.Name, UID: person.Key, Groups: []string{user.AllAuthenticated, groupPrefix + string(person.Role)},
	}}, true, nil
}

// trouble is why nobody could say whose the token of a request is.
type trouble struct{ err error }

type troubleKey struct{}

type tokenKey struct{}

func bearer(r *http.Request) string {
	const scheme = "Bearer "
	if header := r.Header.Get("Authorization"); len(header) > len(scheme) {
		return header[len(scheme):]
	}
	return ""
}

// stands says that who watches may look still. While no hub leads that is not known, and they may.
func (f *Front) stands(ctx context.Context) bool {
	token, _ := ctx.Value(tokenKey{}).(string)
	_, err := f.people.known.Of(ctx, token)
	return !errors.Is(err, api.ErrNoEntry)
}

// roleOf is the role of who asks.
func roleOf(u user.Info) api.Role {
	for _, group := range u.GetGroups() {
		if len(group) > len(groupPrefix) && group[:len(groupPrefix)] == groupPrefix {
			return api.Role(group[len(groupPrefix):])
		}
	}
	return ""
}

type addressKey struct{}

// callerOf is who asks, as the door knows them.
func callerOf(ctx context.Context) api.Caller {
	u, found := genericrequest.UserFrom(ctx)
	if !found {
		return api.Caller{}
	}
	address, _ := ctx.Value(addressKey{}).(string)
	return api.Caller{Name: u.GetName(), Key: u.GetUID(), Role: roleOf(u), Address: address}
}

// reading are the verbs that change nothing. Any other, also "*", is taken to.
var reading = map[string]bool{"get": true, "list": true, "watch": true}

// Authorize lets everybody look but at Secrets, which viewers do not see. Who may write what is the door's to say; it is asked
// here so that `kubectl auth can-i` says the same.
func (f *Front) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if !a.IsResourceRequest() {
		return authorizer.DecisionAllow, "", nil
	}
	role := roleOf(a.GetUser())
	if role == "" {
		return authorizer.DecisionDeny, "this person has no role in the fleet", nil
	}
	kind := f.kindOf(a.GetAPIGroup(), a.GetResource())
	needed := api.NeededToRead("", kind)
	switch {
	case isReview(a.GetAPIGroup(), a.GetResource()):
		needed = api.RoleViewer
	case a.GetResource() == "*":
		needed = api.RoleAdmin
	case !reading[a.GetVerb()]:
		needed = api.NeededToWrite(kind)
	}
	if role.Covers(needed) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionDeny, "found the role " + string(role) + ", expected " + string(needed), nil
}

func (f *Front) kindOf(group, resource string) string {
	for _, k := range f.now.Load().all {
		if k.Group == group && k.resource == resource {
			return k.Kind
		}
	}
	return ""
}

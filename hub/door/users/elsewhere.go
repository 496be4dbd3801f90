package users

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"
)

// stranger makes a record of somebody whom the hub knows nothing of, which it can know where others make credentials.
func (u *Users) stranger(name string, record *api.User) *api.Failure {
	if u.people != nil {
		return u.noUser(name)
	}
	if err := api.CheckUser(name); err != nil {
		return &api.Failure{Code: api.CodeInvalid, Message: err.Error()}
	}
	*record = api.User{Header: api.NewHeader(api.KindUser), Name: name, Elsewhere: true}
	return nil
}

// letIn ends that somebody is refused whose new credentials others make. What was given for the former ones stays ended.
func (u *Users) letIn(ctx context.Context, request *api.UserAddRequest, stored *api.User, revision uint64) (*api.UserAddResponse, error) {
	next := api.User{
		Header: api.NewHeader(api.KindUser), Name: stored.Name, Role: stored.Role, Elsewhere: true, By: request.By.Name,
		Issued: metav1.NewTime(u.store.Now().UTC().Truncate(time.Second)),
	}
	told := request.By.Audit(userEvent(next.Name, "Renewed", whatOf(&next)))
	if _, err := u.store.WriteTold(ctx, []api.Audit{told}, u.records.Put(next.Name, &next, revision)); err != nil {
		return nil, err
	}
	return &api.UserAddResponse{User: next, URL: u.url}, nil
}

// whatOf is what somebody has, as events say it.
func whatOf(person *api.User) string {
	if person.Elsewhere {
		return "credentials that others made"
	}
	return "credentials of role " + string(person.Role)
}

// leftToOthers says what is left to whoever runs the servers.
func leftToOthers(person *api.User) *api.Failure {
	failure := &api.Failure{
		Code: api.CodeInternal, Next: bus.RevokeCommandOf(subjects.AccountPeople, person.Name),
		Message: fmt.Sprintf("the hub answers %s no more, and has ended links and sessions; its servers are others', and go on to take the credentials", person.Name),
	}
	if person.Key != "" {
		failure.Next = bus.RevokeCommand(subjects.AccountPeople, person.Key)
	}
	return failure
}

package tests

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
	"flotilla/hub/page"
	"flotilla/subjects"
)

func (s *slice) addUser(name string, renew bool) api.User {
	s.t.Helper()
	var added api.UserAddResponse
	s.ask(api.VerbUserAdd, api.UserAddRequest{Name: name, Role: api.RoleAdmin, Life: metav1.Duration{Duration: time.Hour}, Renew: renew}, &added)
	return added.User
}

// people are the standing and the key of each person.
func (s *slice) people() map[string]string {
	s.t.Helper()
	var list api.UserListResponse
	s.ask(api.VerbUserList, nil, &list)
	found := map[string]string{}
	for i := range list.Users {
		found[list.Users[i].Name] = list.Users[i].Standing(list.Users[i].Issued.Time) + " " + list.Users[i].Key
	}
	delete(found, subjects.FirstPerson)
	return found
}

// A restore gives nobody back what was taken from them since the backup: who was revoked stays revoked, also where
// the record of it is gone and the servers alone know; former credentials stay refused, and new people stay.
func TestARevocationSurvivesARestore(t *testing.T) {
	s := newSlice(t)
	for _, name := range []string{"anna", "bert", "carla"} {
		s.addUser(name, false)
	}
	head, pages := s.backup()
	s.ask(api.VerbUserRevoke, api.UserRevokeRequest{Name: "anna"}, nil)
	s.ask(api.VerbUserRevoke, api.UserRevokeRequest{Name: "carla"}, nil)
	s.addUser("bert", true)
	s.addUser("dora", false)
	before := s.people()
	s.restore(head, pages, true)
	require.Equal(t, before, s.people())
	var events api.EventsResponse
	s.ask(api.VerbEvents, api.EventsRequest{Object: subjects.KindUser + "/anna"}, &events)
	require.Equal(t, "Revoked", events.Events[len(events.Events)-1].Reason, "events are those of the fleet, not of the backup")
	s.ask(api.VerbEvents, api.EventsRequest{Object: "fleet/state"}, &events)
	require.Equal(t, "Restored", events.Events[0].Reason)
	require.Equal(t, subjects.FirstPerson, events.Events[0].By)

	s.damage(subjects.Users.Key("carla"))
	s.fleetStatus(damaged)
	s.restore(head, pages, false)
	require.Equal(t, before, s.people())
}

// A restore brings back no link that was used since the backup and no session that was left, and ends none that goes on.
func TestNoRestoreBringsASessionBack(t *testing.T) {
	var door page.Door
	s := newSliceWith(t, func(o *dev.Options) {
		o.Hub.Page.Address = "127.0.0.1:0"
		o.Hub.Page.New = func(p hubd.PageOptions) (http.Handler, error) { door = p.Door; return http.NotFoundHandler(), nil }
	})
	ctx := bustest.Context(t)
	link := func() string {
		var answer api.WebResponse
		s.ask(api.VerbWeb, api.WebRequest{}, &answer)
		return answer.Secret
	}
	left, err := door.Enter(ctx, link(), "")
	require.NoError(t, err)
	used := link()
	head, pages := s.backup()
	require.NoError(t, door.Leave(ctx, left))
	goes, err := door.Enter(ctx, used, "")
	require.NoError(t, err)
	s.restore(head, pages, true)
	bustest.Eventually(t, func() error { _, err := door.Session(ctx, goes); return err })
	_, err = door.Session(ctx, left)
	require.ErrorIs(t, err, api.ErrNoEntry)
	_, err = door.Enter(ctx, used, "")
	require.ErrorIs(t, err, api.ErrNoEntry)
}

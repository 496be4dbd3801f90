package door_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
)

// token asks for a token as somebody.
func token(t *testing.T, c *bus.Conn) api.TokenResponse {
	t.Helper()
	var answer api.TokenResponse
	require.NoError(t, bus.Request(bustest.Context(t), c, api.VerbToken, api.TokenRequest{}, &answer, bus.RequestOptions{}))
	return answer
}

// shows looks whose a token is.
func (h *house) shows(token string) (*api.SessionResponse, error) {
	h.t.Helper()
	answer, err := h.of(api.VerbSession, api.SessionRequest{Session: token, Of: api.SecretOfToken})
	if err != nil {
		return nil, err
	}
	return answer.(*api.SessionResponse), nil
}

// tokenless requires that a token lets nobody in, and why.
func tokenless(t *testing.T, err error, why string) {
	t.Helper()
	failure, refused := errors.AsType[*api.Failure](err)
	require.True(t, refused, "%v", err)
	require.Equal(t, api.Failure{Code: api.CodeNoEntry, Message: why + ": ask for another with `flotilla token`", Next: "flotilla token"}, *failure)
}

const noToken = "this token was used or ended, or never was"

func TestATokenIsOfWhoAskedForIt(t *testing.T) {
	h, ahead := paged(t)
	given := token(t, h.add("vera", api.RoleViewer))
	at, ca := frontThere()
	require.Equal(t, []any{at, ca}, []any{given.Server, given.CA})
	require.Regexp(t, `^flotilla_[\w-]{43}$`, given.Token)
	who, err := h.shows(given.Token)
	require.NoError(t, err)
	require.Equal(t, []any{"vera", api.RoleViewer, given.Ends.UTC()}, []any{who.Name, who.Role, who.Ends.UTC()})

	stored := h.kept(1)[0]
	text, _, found := h.store.State.Raw(subjects.Sessions.Key(stored.Name))
	require.True(t, found)
	require.NotContains(t, string(text)+stored.Name, given.Token)

	_, err = h.shows("flotilla_" + given.Token)
	tokenless(t, err, noToken)
	ahead.Add(int64(api.APITokenLife))
	_, err = h.shows(given.Token)
	tokenless(t, err, "this token has ended")
	token(t, h.client) // which has the ended one looked for
	require.Equal(t, subjects.FirstPerson, h.kept(1)[0].Value.Person)
}

// What is for one thing is for no other.
func TestATokenIsNoSessionAndASessionNoToken(t *testing.T) {
	h, _ := paged(t)
	given, session, unused := token(t, h.client), h.entered(h.client), link(t, h.client)
	for _, other := range []string{session, unused.Secret} {
		_, err := h.shows(other)
		tokenless(t, err, noToken)
	}
	_, err := h.whose(given.Token)
	barred(t, err)
	_, err = h.enter(given.Token)
	barred(t, err)
	_, err = h.of(api.VerbSession, api.SessionRequest{Session: unused.Secret, Of: api.SecretOfLink})
	barred(t, err)
	_, err = h.of(api.VerbLeave, api.SessionRequest{Session: given.Token})
	require.NoError(t, err)
	_, err = h.shows(given.Token)
	require.NoError(t, err, "who leaves the page ends no token")
}

func TestTokensEndWithTheCredentials(t *testing.T) {
	h, ahead := paged(t)
	require.InDelta(t, time.Hour, token(t, h.client).Ends.Sub(h.store.Now()), float64(time.Minute), "of credentials that do not end")
	late := h.add("late", api.RoleAdmin)
	ahead.Add(int64(30 * time.Minute))
	ends := token(t, late).Ends
	require.InDelta(t, 30*time.Minute, ends.Sub(h.store.Now()), float64(time.Minute), "with the credentials, before an hour is over")
	for name, end := range map[string]func(){
		"eve": func() { must[api.UserRevokeResponse](h, api.VerbUserRevoke, api.UserRevokeRequest{Name: "eve"}) },
		"rita": func() {
			must[api.UserAddResponse](h, api.VerbUserAdd, api.UserAddRequest{Name: "rita", Renew: true, Life: metav1.Duration{Duration: time.Hour}})
		},
	} {
		given := token(t, h.add(name, api.RoleOperator))
		_, err := h.shows(given.Token)
		require.NoError(t, err, name)
		end()
		_, err = h.shows(given.Token)
		require.Error(t, err, name)
		h.kept(2)
	}
}

// The newest tokens of a person are kept, others theirs; and links are no fewer for them.
func TestTokensAreBounded(t *testing.T) {
	h, ahead := paged(t)
	anna := h.add("anna", api.RoleViewer)
	first, other := token(t, anna), token(t, h.client)
	for range 63 {
		token(t, anna)
	}
	failure := asked(anna, t, api.VerbToken, api.TokenRequest{})
	require.NotNil(t, failure)
	require.Equal(t, []string{api.CodeLimit, "anna asked for 64 tokens of late: there is another in 10s"}, []string{failure.Code, failure.Message})
	link(t, anna)
	ahead.Add(int64(10 * time.Second))
	newest := token(t, anna)
	h.kept(66)
	_, err := h.shows(first.Token)
	tokenless(t, err, noToken)
	for _, given := range []api.TokenResponse{newest, other} {
		_, err := h.shows(given.Token)
		require.NoError(t, err)
	}
}

func TestAHubWithoutAKubernetesAPIGivesNoTokens(t *testing.T) {
	h := open(t, door.Options{})
	_, failure := ask[api.TokenResponse](h, api.VerbToken, api.TokenRequest{})
	require.Equal(t, api.CodeRefused, failure.Code)
	require.Equal(t, "this hub serves no Kubernetes API: start it with --kubernetes 127.0.0.1:6443", failure.Message)
}

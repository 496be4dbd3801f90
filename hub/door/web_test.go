package door_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/hub/door/users"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

const pageURL = "http://127.0.0.1:8480"

func pageThere() string { return pageURL }

func frontThere() (at string, ca []byte) { return "https://127.0.0.1:6443", []byte("an authority") }

// paged is a house with a page and a Kubernetes API, whose clock is as far ahead as ahead says.
func paged(t *testing.T) (h *house, ahead *atomic.Int64) {
	t.Helper()
	return pagedBy(t, func(s *bustest.Server) users.People { return s.Server })
}

// pagedBy is paged, where somebody makes credentials.
func pagedBy(t *testing.T, people func(*bustest.Server) users.People) (h *house, ahead *atomic.Int64) {
	t.Helper()
	ahead = &atomic.Int64{}
	s := bustest.Start(t)
	o := s.TCP()
	o.Now = func() time.Time { return elsewhen.Now().Add(time.Duration(ahead.Load())) }
	hub, err := bus.ConnectHub(bustest.Context(t), o)
	require.NoError(t, err)
	t.Cleanup(hub.Close)
	h = &house{t: t, server: s, store: bustest.Lead(t, hub, "hub-test", store.LeadOptions{}), client: s.Client(t)}
	h.run(door.Options{People: people(s), Served: door.Served{Page: pageThere, Front: frontThere}})
	bustest.Eventually(t, func() error { _, err := h.of(api.VerbStatus, nil); return err })
	return h, ahead
}

// of has the door answer a verb in process, on behalf of nobody where it is one of hubs.
func (h *house) of(verb string, question any) (any, error) {
	h.t.Helper()
	body, err := json.Marshal(question)
	require.NoError(h.t, err)
	return h.door.Ask(bustest.Context(h.t), api.Caller{Name: "page", Role: api.RoleViewer}, verb, body)
}

// link asks for a link as somebody.
func link(t *testing.T, c *bus.Conn) api.WebResponse {
	t.Helper()
	var answer api.WebResponse
	require.NoError(t, bus.Request(bustest.Context(t), c, api.VerbWeb, api.WebRequest{}, &answer, bus.RequestOptions{}))
	return answer
}

func (h *house) enter(link string) (session string, err error) {
	h.t.Helper()
	answer, err := h.of(api.VerbEnter, api.EnterRequest{Link: link, Address: "192.0.2.7"})
	if err != nil {
		return "", err
	}
	return answer.(*api.EnterResponse).Session, nil
}

func (h *house) entered(c *bus.Conn) (session string) {
	h.t.Helper()
	session, err := h.enter(link(h.t, c).Secret)
	require.NoError(h.t, err)
	return session
}

func (h *house) whose(session string) (*api.SessionResponse, error) {
	h.t.Helper()
	answer, err := h.of(api.VerbSession, api.SessionRequest{Session: session})
	if err != nil {
		return nil, err
	}
	return answer.(*api.SessionResponse), nil
}

// barred requires that somebody is let in no more.
func barred(t *testing.T, err error) {
	t.Helper()
	failure, refused := errors.AsType[*api.Failure](err)
	require.True(t, refused, "%v", err)
	require.Equal(t, api.CodeNoEntry, failure.Code, failure.Message)
	require.Equal(t, "flotilla web", failure.Next)
}

// kept are the records of links and sessions, once there are so many.
func (h *house) kept(want int) (all []store.Entry[api.Session]) {
	h.t.Helper()
	table := store.TableOf[api.Session](h.store.State, subjects.Sessions)
	bustest.Eventually(h.t, func() error {
		if all = table.All(); len(all) != want {
			return fmt.Errorf("%d links and sessions are kept, expected %d", len(all), want)
		}
		return nil
	})
	return all
}

func TestALinkBeginsOneSessionOfWhoAskedForIt(t *testing.T) {
	h, _ := paged(t)
	anna := h.add("anna", api.RoleOperator)
	given := link(t, anna)
	require.Equal(t, pageURL+"/enter?link="+given.Secret, given.Link())
	require.Len(t, given.Secret, 43)
	require.LessOrEqual(t, given.Ends.Sub(h.store.Now()), time.Minute)

	session, err := h.enter(given.Secret)
	require.NoError(t, err)
	_, err = h.enter(given.Secret)
	barred(t, err)
	_, err = h.enter(session)
	barred(t, err)
	_, err = h.whose(given.Secret)
	barred(t, err)
	who, err := h.whose(session)
	require.NoError(t, err)
	require.Equal(t, []any{"anna", api.RoleOperator}, []any{who.Name, who.Role})
	require.InDelta(t, time.Hour, who.Ends.Sub(h.store.Now()), float64(time.Minute), "it ends with the credentials, before eight hours are over")

	stored := h.kept(1)[0]
	text, _, found := h.store.State.Raw(subjects.Sessions.Key(stored.Name))
	require.True(t, found)
	require.NotContains(t, string(text)+stored.Name, session)
	bustest.EventsUntil(t, h.server.Inspector(t), "user/anna", "Entered: the page, as operator until "+who.Ends.UTC().Format(time.RFC3339))
	events, err := streams.ReadAudit(bustest.Context(t), h.store.Conn, streams.AuditQuery{Object: "user/anna"})
	require.NoError(t, err)
	last := events[len(events)-1]
	require.Equal(t, []string{"anna", "192.0.2.7"}, []string{last.By, last.From})

	_, err = h.of(api.VerbLeave, api.SessionRequest{Session: session})
	require.NoError(t, err)
	_, err = h.whose(session)
	barred(t, err)
	_, err = h.of(api.VerbLeave, api.SessionRequest{Session: session})
	require.NoError(t, err, "once more is no error")
	h.kept(0)
}

func TestTwoWhoShowALinkAtOnceBeginOneSession(t *testing.T) {
	h, _ := paged(t)
	for range 10 {
		given := link(t, h.client)
		var began atomic.Int32
		var running sync.WaitGroup
		for range 4 {
			running.Go(func() {
				if _, err := h.enter(given.Secret); err == nil {
					began.Add(1)
				}
			})
		}
		running.Wait()
		require.Equal(t, int32(1), began.Load())
	}
}

func TestLinksAndSessionsEnd(t *testing.T) {
	h, ahead := paged(t)
	late := link(t, h.client)
	session := h.entered(h.client)
	ahead.Add(int64(api.LinkLife))
	_, err := h.enter(late.Secret)
	barred(t, err)
	_, err = h.whose(session)
	require.NoError(t, err)
	ahead.Add(int64(api.SessionLife))
	_, err = h.whose(session)
	barred(t, err)
	link(t, h.client) // which has the ended ones looked for
	require.Equal(t, api.SecretOfLink, h.kept(1)[0].Value.Secret)
}

// What was given to somebody ends with their credentials: at once, and its records go.
func TestSessionsEndWithTheCredentials(t *testing.T) {
	h, ahead := paged(t)
	for how, end := range map[string]func(name string){
		"revoked": func(name string) {
			must[api.UserRevokeResponse](h, api.VerbUserRevoke, api.UserRevokeRequest{Name: name})
		},
		"renewed": func(name string) {
			must[api.UserAddResponse](h, api.VerbUserAdd, api.UserAddRequest{Name: name, Renew: true, Life: metav1.Duration{Duration: time.Hour}})
		},
		"made a viewer": func(name string) {
			must[api.UserAddResponse](h, api.VerbUserAdd, api.UserAddRequest{Name: name, Role: api.RoleViewer, Renew: true, Life: metav1.Duration{Duration: time.Hour}})
		},
		"ended": func(string) { ahead.Add(int64(time.Hour)) },
	} {
		t.Run(how, func(t *testing.T) {
			before := ahead.Load()
			defer ahead.Store(before)
			name := "eve-" + strings.ReplaceAll(how, " ", "-")
			eve := h.add(name, api.RoleOperator)
			given, session := link(t, eve), h.entered(eve)
			end(name)
			_, err := h.whose(session)
			barred(t, err)
			_, err = h.enter(given.Secret)
			barred(t, err)
			if how != "ended" {
				h.kept(0)
				_, err = h.door.Ask(bustest.Context(t), api.Caller{Name: name, Role: api.RoleOperator}, api.VerbApply, []byte("{}"))
				if how != "renewed" {
					failure, _ := errors.AsType[*api.Failure](err)
					require.Equal(t, api.CodeRefused, failure.Code)
				}
			}
			link(t, h.client) // looks for those that ended
			h.kept(1)
			erase[api.Session](h, subjects.Sessions, h.kept(1)[0].Name)
		})
	}
}

// The first person has no record; once renewed, sessions of the former credentials end as others do.
func TestSessionsOfTheFirstPerson(t *testing.T) {
	h, _ := paged(t)
	session := h.entered(h.client)
	who, err := h.whose(session)
	require.NoError(t, err)
	require.Equal(t, []any{subjects.FirstPerson, api.RoleAdmin}, []any{who.Name, who.Role})
	require.InDelta(t, api.SessionLife, who.Ends.Sub(h.store.Now()), float64(time.Minute))
	must[api.UserAddResponse](h, api.VerbUserAdd, api.UserAddRequest{Name: subjects.FirstPerson, Renew: true, Life: metav1.Duration{Duration: time.Hour}})
	_, err = h.whose(session)
	barred(t, err)
	h.kept(0)
}

func TestTheNewestLinksAndSessionsOfAPersonAreKept(t *testing.T) {
	h, ahead := paged(t)
	first, other := h.entered(h.client), h.entered(h.add("anna", api.RoleViewer))
	var newest string
	for range 16 {
		ahead.Add(int64(10 * time.Second))
		newest = h.entered(h.client)
	}
	h.kept(17)
	_, err := h.whose(first)
	barred(t, err)
	for _, session := range []string{newest, other} {
		_, err := h.whose(session)
		require.NoError(t, err)
	}
	oldest := link(t, h.client)
	for range 16 {
		ahead.Add(int64(2 * time.Second))
		link(t, h.client)
	}
	h.kept(17 + 16)
	_, err = h.enter(oldest.Secret)
	barred(t, err)
}

// Whoever asks for links in a loop is given no more than a few, and others theirs.
func TestLinksArePaced(t *testing.T) {
	h, ahead := paged(t)
	anna := h.add("anna", api.RoleViewer)
	for range 16 {
		link(t, anna)
	}
	failure := asked(anna, t, api.VerbWeb, api.WebRequest{})
	require.NotNil(t, failure)
	require.Equal(t, api.CodeLimit, failure.Code)
	require.Equal(t, "anna asked for 16 links to the page of late: there is another in 10s", failure.Message)
	h.kept(16)
	link(t, h.client)
	ahead.Add(int64(10 * time.Second))
	link(t, anna)
	require.NotNil(t, asked(anna, t, api.VerbWeb, api.WebRequest{}))
}

// What ended while no hub led is removed by the next that does.
func TestWhatEndedIsRemovedByTheNextHub(t *testing.T) {
	h, ahead := paged(t)
	h.entered(h.client)
	link(t, h.client)
	h.kept(2)
	h.stop()
	ahead.Add(int64(api.SessionLife))
	h.run(door.Options{People: h.server.Server, Served: door.Served{Page: pageThere}})
	h.kept(0)
}

func TestAHubWithoutAPageGivesNoLinks(t *testing.T) {
	h := open(t, door.Options{})
	_, failure := ask[api.WebResponse](h, api.VerbWeb, api.WebRequest{})
	require.Equal(t, api.CodeRefused, failure.Code)
	require.Equal(t, "this hub serves no page: start it with --page 127.0.0.1:8480", failure.Message)
}

// A link that is made for somebody who looks on holds for longer, and once.
func TestALinkForTheStart(t *testing.T) {
	h, ahead := paged(t)
	given, err := h.door.Link(bustest.Context(t), api.Caller{Name: subjects.FirstPerson, Role: api.RoleOperator}, time.Hour)
	require.NoError(t, err)
	ahead.Add(int64(59 * time.Minute))
	session, err := h.enter(given.Secret)
	require.NoError(t, err)
	who, err := h.whose(session)
	require.NoError(t, err)
	require.Equal(t, api.RoleOperator, who.Role)
	_, err = h.enter(given.Secret)
	barred(t, err)
}

// Servers that know nobody take whoever connects at their word.
func TestSessionsOnServersThatKnowNobody(t *testing.T) {
	bare := bustest.StartServer(t, &server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, JetStreamMaxStore: 64 << 30, StoreDir: t.TempDir()})
	hub := bustest.HubOf(t, []*server.Server{bare}, bus.Options{Now: elsewhen.Now})
	h := &house{t: t, store: bustest.Lead(t, hub, "hub-test", store.LeadOptions{})}
	h.run(door.Options{Served: door.Served{Page: pageThere}})
	client, err := bus.ConnectClient(bustest.Context(t), bus.Options{Fleet: bustest.Fleet, URL: bare.ClientURL(), Now: elsewhen.Now})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	who, err := h.whose(h.entered(client))
	require.NoError(t, err)
	require.Equal(t, []any{"anonymous", api.RoleAdmin}, []any{who.Name, who.Role})
}

// What is asked in process is held to what is asked over NATS, and to nothing that a request says of itself.
func TestVerbsInProcessHaveTheGuardsOfRequests(t *testing.T) {
	h, _ := paged(t)
	ctx := bustest.Context(t)
	viewer := api.Caller{Name: "vera", Role: api.RoleViewer}
	code := func(by api.Caller, verb, body string) string {
		_, err := h.door.Ask(ctx, by, verb, []byte(body))
		failure, refused := errors.AsType[*api.Failure](err)
		require.True(t, refused, "%s: %v", verb, err)
		return failure.Code
	}
	for _, v := range api.VerbTable() {
		if !api.RoleViewer.Covers(v.Needs) {
			require.Equal(t, api.CodeRefused, code(viewer, v.Verb, `{"by":{"Role":"admin"}}`), v.Verb)
		}
	}
	require.Equal(t, api.CodeRefused, code(api.Caller{Name: "nobody"}, api.VerbStatus, "{}"), "without a role")
	require.Equal(t, api.CodeInvalid, code(api.Caller{Name: "ada", Role: api.RoleAdmin}, "dance", "{}"))
	require.Equal(t, api.CodeInvalid, code(viewer, api.VerbList, "no JSON"))
	require.Equal(t, api.CodeTooLarge, code(viewer, api.VerbList, strings.Repeat("[", 200)))

	h.add("carl", api.RoleOperator)
	must[api.UserRevokeResponse](h, api.VerbUserRevoke, api.UserRevokeRequest{Name: "carl"})
	require.Equal(t, api.CodeRefused, code(api.Caller{Name: "carl", Role: api.RoleOperator}, api.VerbStatus, "{}"), "who was revoked")

	direct := must[api.VersionResponse](h, api.VerbVersion, nil)
	answer, err := h.door.Ask(ctx, viewer, api.VerbVersion, nil)
	require.NoError(t, err)
	got := *answer.(*api.VersionResponse)
	got.Now = direct.Now
	require.Equal(t, direct, got)
}

// Where others make credentials, who is revoked is refused by name at once: what they were given before ends for good, and
// what they are given once they are let in again holds.
func TestSessionsEndWhereOthersMakeCredentials(t *testing.T) {
	h, ahead := pagedBy(t, func(*bustest.Server) users.People { return nil })
	eve := api.Caller{Name: "eve", Role: api.RoleOperator, Key: "UEVE"}
	given := h.linkFor(eve)
	session, err := h.enter(h.linkFor(eve).Secret)
	require.NoError(t, err)

	revoked := must[api.UserRevokeResponse](h, api.VerbUserRevoke, api.UserRevokeRequest{Name: "eve"})
	require.Equal(t, "nsc revocations add-user --account PEOPLE --name eve && nsc push --account PEOPLE", revoked.Left.Next)
	_, err = h.whose(session)
	barred(t, err)
	_, err = h.enter(given.Secret)
	barred(t, err)
	h.kept(0)
	_, err = h.door.Ask(bustest.Context(t), eve, api.VerbWeb, []byte("{}"))
	failure, _ := errors.AsType[*api.Failure](err)
	require.Equal(t, api.CodeRefused, failure.Code, "and gets no other")
	require.True(t, must[api.UserRevokeResponse](h, api.VerbUserRevoke, api.UserRevokeRequest{Name: "eve"}).Unchanged)

	again := must[api.UserAddResponse](h, api.VerbUserAdd, api.UserAddRequest{Name: "eve", Renew: true, Life: metav1.Duration{Duration: time.Hour}})
	require.Empty(t, again.Creds)
	before := metav1.NewTime(h.store.Now().Add(-time.Minute))
	write(h, subjects.Sessions, "before", api.Session{
		Secret: api.SecretOfSession, Person: "eve", Role: eve.Role, Key: eve.Key, Issued: before, Ends: metav1.NewTime(before.Add(time.Hour)),
	})
	h.kept(0)
	ahead.Add(int64(time.Second))
	session, err = h.enter(h.linkFor(eve).Secret)
	require.NoError(t, err)
	_, err = h.whose(session)
	require.NoError(t, err)
}

// linkFor asks for a link in process, as somebody.
func (h *house) linkFor(by api.Caller) *api.WebResponse {
	h.t.Helper()
	answer, err := h.door.Ask(bustest.Context(h.t), by, api.VerbWeb, []byte("{}"))
	require.NoError(h.t, err)
	return answer.(*api.WebResponse)
}

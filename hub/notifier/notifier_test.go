package notifier

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/subjects"
)

func TestEventsAreSentOnceEachInOrderAndFiltered(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	r := newReceiver(t)
	happen(store, "wanted, but before it was configured")
	bustest.Eventually(t, func() error {
		end, err := streams.AuditEnd(t.Context(), store.Conn)
		if err == nil && end.Sequence == 0 {
			err = errors.New("nothing is stored")
		}
		return err
	})
	n := hook(r.URL)
	n.When = configs.NotificationFilter{Messages: []string{"wanted*"}}
	n.Webhook.Headers = map[string]string{"Authorization": "Bearer ${TOKEN}", "Content-Type": "text/plain"}
	stop := serve(t, store, n)
	happen(store, "wanted 1", "other", "wanted \"2\"")
	r.until(t, `"wanted 1"`, `"wanted \"2\""`)
	header := r.got[0].header
	require.Equal(t, "Bearer value-of-TOKEN", header.Get("Authorization"))
	require.Equal(t, "text/plain", header.Get("Content-Type"))
	require.Regexp(t, `^test/\d+$`, header.Get("Flotilla-Event"))
	require.NotEqual(t, header.Get("Flotilla-Event"), r.got[1].header.Get("Flotilla-Event"))
	require.Contains(t, header.Get("User-Agent"), "flotilla-hub/")
	p := untilPosition(t, store, func(p api.NotificationPosition) bool { return p.Sent == 2 })
	require.Zero(t, p.GivenUp)
	stop()
}

// An event is tried again until it is taken, and holds up those behind it; what another answer than 2xx
// means is that it was not taken.
func TestAnEventIsTriedAgain(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	r := newReceiver(t)
	answers := []int{http.StatusInternalServerError, http.StatusUnauthorized, http.StatusFound, http.StatusTooManyRequests}
	r.answer(func(n int) int {
		if n <= len(answers) {
			return answers[n-1]
		}
		return http.StatusNoContent
	})
	serve(t, store, hook(r.URL))
	happen(store, "a", "b")
	r.until(t, `"a"`, `"a"`, `"a"`, `"a"`, `"a"`, `"b"`)
	p := untilPosition(t, store, func(p api.NotificationPosition) bool { return p.Sent == 2 })
	require.Zero(t, p.GivenUp)
}

// What the receiver refuses, and what stays undelivered for longer than allowed, is given up, told of,
// and holds up nothing more. What is told goes to no notification.
func TestAnEventIsGivenUp(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	r := newReceiver(t)
	r.answer(func(n int) int {
		switch {
		case n == 1:
			return http.StatusUnprocessableEntity
		case n <= 1+leastTries:
			return http.StatusBadGateway
		}
		return http.StatusOK
	})
	n := hook(r.URL)
	n.RetryFor = 1
	serve(t, store, n)
	happen(store, "refused", "too old", "fine")
	r.until(t, `"refused"`, `"too old"`, `"too old"`, `"too old"`, `"fine"`)
	p := untilPosition(t, store, func(p api.NotificationPosition) bool { return p.Sent == 1 })
	require.Equal(t, uint64(2), p.GivenUp)
	require.Contains(t, p.LastError, `502 Bad Gateway: "said by the receiver"`)
	var told []api.Audit
	bustest.Eventually(t, func() (err error) {
		told, err = streams.ReadAudit(t.Context(), store.Conn, streams.AuditQuery{Object: "notification/hook"})
		if err == nil && len(told) < 2 {
			return os.ErrNotExist
		}
		return err
	})
	require.Len(t, told, 2)
	require.Equal(t, "NotificationFailed", told[0].Reason)
	require.Equal(t, "Warning", told[0].Type)
	require.Contains(t, told[0].Message, "Running of run/spring, is given up: refused: ")
	happen(store, "last")
	r.until(t, `"refused"`, `"too old"`, `"too old"`, `"too old"`, `"fine"`, `"last"`)
}

// A hub that dies between a delivery and the note of it is followed by one that sends the event again, under the
// same id.
func TestAnEventThatComesAgainHasTheSameID(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	r := newReceiver(t)
	stop := serve(t, leader, hook(r.URL))
	before := untilPosition(t, leader, func(p api.NotificationPosition) bool { return p.Notification == "hook" })
	happen(leader, "a")
	untilPosition(t, leader, func(p api.NotificationPosition) bool { return p.Sent == 1 })
	stop()
	key := subjects.Notifications.Key("hook")
	_, err := leader.Writer.Write(t.Context(), store.Put(key, before, leader.State.Revision(key)))
	require.NoError(t, err)
	serve(t, leader, hook(r.URL))
	r.until(t, `"a"`, `"a"`)
	require.Equal(t, r.got[0].header.Get("Flotilla-Event"), r.got[1].header.Get("Flotilla-Event"))
}

// A hub that stops, or dies, loses nothing: the next one goes on where its predecessor came to.
func TestTheNextLeaderGoesOn(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	r := newReceiver(t)
	stop := serve(t, store, hook(r.URL))
	happen(store, "a")
	r.until(t, `"a"`)
	untilPosition(t, store, func(p api.NotificationPosition) bool { return p.Sent == 1 })
	stop()
	happen(store, "b", "c")

	r.answer(func(int) int { return http.StatusServiceUnavailable })
	stop = serve(t, store, hook(r.URL))
	bustest.Eventually(t, func() error {
		if len(r.bodies()) < 2 {
			return os.ErrNotExist
		}
		return nil
	})
	stop()
	require.Equal(t, uint64(1), untilPosition(t, store, func(api.NotificationPosition) bool { return true }).Sent)

	next := newReceiver(t) // what the first one was sent last may still be on its way
	serve(t, store, hook(next.URL))
	next.until(t, `"b"`, `"c"`)
	p := untilPosition(t, store, func(p api.NotificationPosition) bool { return p.Sent == 3 })
	require.Equal(t, "hook", p.Notification)
}

func TestNotificationsOutliveARestartOfTheBroker(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	r := newReceiver(t)
	serve(t, store, hook(r.URL))
	happen(store, "a")
	r.until(t, `"a"`)
	server.Restart(t)
	happen(store, "b")
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		if got := r.bodies(); got[len(got)-1] != `"b"` {
			return os.ErrNotExist
		}
		return nil
	})
}

func TestOneThatCannotDeliverHoldsUpNoOther(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	r := newReceiver(t)
	stuck := hook("http://127.0.0.1:1/s3cret")
	stuck.Name = "stuck"
	serve(t, store, stuck, hook(r.URL))
	happen(store, "a", "b")
	r.until(t, `"a"`, `"b"`)
	p, ok := position(store, "stuck")
	require.True(t, ok)
	require.Zero(t, p.Sent)
}

func TestAURLIsNeverTold(t *testing.T) {
	c := channels(t, hook("http://127.0.0.1:1/${TOKEN}"))
	err := c[0].sender.send(t.Context(), configs.EventView{})
	require.ErrorContains(t, err, "posting to 127.0.0.1:1: ")
	require.NotContains(t, err.Error(), "value-of")
}

func TestACommandGetsTheEvent(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	out := filepath.Join(t.TempDir(), "out")
	script := `cat > "$OUT.tmp"; echo "$FLOTILLA_REASON|$FLOTILLA_OBJECT|$FLOTILLA_EVENT|$KEY|$1" >> "$OUT.tmp"; mv "$OUT.tmp" "$OUT"`
	serve(t, store, configs.Notification{
		Name: "hook", RetryFor: configs.Duration(time.Hour),
		Command: &configs.Command{
			Argv: []string{"sh", "-c", script, "sh", "first argument"}, Timeout: configs.Duration(10 * time.Second),
			Environment: map[string]string{"OUT": out, "KEY": "${KEY}"},
		},
	})
	happen(store, "a")
	untilPosition(t, store, func(p api.NotificationPosition) bool { return p.Sent == 1 })
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	first, second, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	var view configs.EventView
	require.NoError(t, json.Unmarshal([]byte(first), &view))
	require.Equal(t, "a", view.Message)
	require.Equal(t, "spring", view.Name)
	require.Equal(t, "Running|run/spring|"+view.ID+"|value-of-KEY|first argument", second)
}

// A text that something before a receiver lets not through holds up nothing that happened later: it is left out in the end.
func TestATextThatIsNotLetThroughHoldsUpNothing(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	r := newReceiver(t)
	wall := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil || strings.Contains(string(body), "script") {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write(body) // as some do
			return
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		r.ServeHTTP(w, request)
	}))
	t.Cleanup(wall.Close)
	out := filepath.Join(t.TempDir(), "out")
	picky := configs.Notification{Name: "picky", RetryFor: configs.Duration(time.Hour), Command: &configs.Command{
		Argv: []string{"sh", "-c", `case "$FLOTILLA_MESSAGE" in *script*) echo "$FLOTILLA_MESSAGE"; exit 3; esac; echo "$FLOTILLA_MESSAGE" >> "$0"`, out}, Timeout: configs.Duration(time.Minute),
	}}
	stop := serve(t, store, hook(wall.URL), picky)
	defer stop()
	happen(store, "before", "<script>", "after")
	const leftOut = "the message is left out, as this was not taken with it: flotilla events has it, and the log of the hub what was answered"
	r.until(t, `"before"`, `"`+leftOut+`"`, `"after"`)
	bustest.Eventually(t, func() error {
		text, err := os.ReadFile(out)
		if err == nil && string(text) != "before\n"+leftOut+"\nafter\n" {
			err = fmt.Errorf("found %q", text)
		}
		return err
	})
}

// What a member says starts or stops no program: nothing after it would be told of.
func TestACommandIsRunWhateverMembersSay(t *testing.T) {
	for name, says := range map[string]string{
		"NUL": "nul \x00 here", "long": strings.Repeat("ä", 1<<20), "no text": "\xff\xfe", "lines": "a\nFLOTILLA_REASON=b",
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			c := channels(t, configs.Notification{Name: "c", Command: &configs.Command{
				Argv: []string{"sh", "-c", `cat > "$0"; printf %s "$FLOTILLA_REASON" >> "$0"`, out}, Timeout: configs.Duration(time.Minute),
			}})
			view := configs.EventView{Message: says, Object: says, Member: says, Reason: "ItsReason"}
			require.NoError(t, c[0].sender.send(bustest.Context(t), view))
			text, err := os.ReadFile(out)
			require.NoError(t, err)
			first, second, _ := strings.Cut(string(text), "\n")
			all, err := json.Marshal(view)
			require.NoError(t, err)
			require.Equal(t, string(all), first)
			require.Equal(t, "ItsReason", second)
		})
	}
}

func TestACommandThatFailsOrHangs(t *testing.T) {
	ctx := bustest.Context(t)
	run := func(script string, timeout time.Duration) error {
		c := channels(t, configs.Notification{
			Name: "c", Command: &configs.Command{Argv: []string{"sh", "-c", script}, Timeout: configs.Duration(timeout)},
		})
		return c[0].sender.send(ctx, configs.EventView{})
	}
	require.NoError(t, run("yes | head -c 1000000", time.Minute))
	err := run("echo no disk >&2; exit 3", time.Minute)
	require.ErrorContains(t, err, `running sh: exit status 3: "no disk"`)
	require.NotErrorIs(t, err, errRefused)
	require.ErrorContains(t, run("sleep 120 & wait", 100*time.Millisecond), "ended after 100ms")
	require.NoError(t, ctx.Err(), "it does not wait for what a command left behind")
	c := channels(t, configs.Notification{Name: "c", Command: &configs.Command{Argv: []string{"/no/such/program"}, Timeout: configs.Duration(time.Second)}})
	require.ErrorIs(t, c[0].sender.send(t.Context(), configs.EventView{}), os.ErrNotExist)
}

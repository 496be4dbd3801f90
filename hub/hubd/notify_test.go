package hubd_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/configs"
	"flotilla/configs/secrets"
	"flotilla/core/api"
	"flotilla/hub/hubd"
	"flotilla/subjects"
)

// What happens under one leader and under the next is told, each event once, whoever leads.
func TestNotificationsGoOnWhenAnotherHubTakesOver(t *testing.T) {
	var mu sync.Mutex
	var got []string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && r.Header.Get("Authorization") == "Bearer s3cret" {
			got = append(got, string(body))
		}
	}))
	t.Cleanup(receiver.Close)
	told := func(want ...string) {
		t.Helper()
		bustest.EventuallyIn(t, 30*time.Second, func() error {
			mu.Lock()
			defer mu.Unlock()
			if fmt.Sprint(got) != fmt.Sprint(want) {
				return fmt.Errorf("told %v, expected %v", got, want)
			}
			return nil
		})
	}
	t.Setenv("HOOK_TOKEN", "s3cret")
	server := bustest.Start(t)
	o := hubd.Options{
		Fleet: bustest.Fleet, Log: zerolog.Nop(), Bus: server.TCP(), Secrets: secrets.Source{Text: bustest.Secrets},
		Lead: store.LeadOptions{
			TTL: 2 * time.Second, Renew: 300 * time.Millisecond, Margin: 500 * time.Millisecond, Poll: 100 * time.Millisecond,
		},
		Notifications: []configs.Notification{{
			Name: "hook", RetryFor: configs.DefaultRetryFor, When: configs.NotificationFilter{Objects: []string{"strategy/*"}, Reasons: []string{"Created"}},
			Webhook: &configs.Webhook{
				URL: receiver.URL, Headers: map[string]string{"Authorization": "Bearer ${HOOK_TOKEN}"}, Template: "{{ json .Name }}",
				Timeout: configs.DefaultWebhookTimeout,
			},
		}},
	}
	c, inspector := server.Client(t), server.Inspector(t)
	apply := func(name string) {
		t.Helper()
		document := fmt.Sprintf(`{"apiVersion":"flotilla.io/v1alpha1","kind":"UpdateStrategy","metadata":{"name":%q},
			"spec":{"stages":[{"name":"all","memberSelector":{"byLabel":"env=test"}}]}}`, name)
		request := api.ApplyRequest{Request: name, Documents: []json.RawMessage{json.RawMessage(document)}}
		require.NoError(t, bus.Request(t.Context(), c, api.VerbApply, request, nil, bus.RequestOptions{}))
	}
	o.Name = "first"
	first := start(t, o)
	leading(t, first)
	bustest.Eventually(t, func() error { // what happens from here on counts
		stream, err := inspector.JS.Stream(t.Context(), c.Fleet.BucketStream(subjects.State))
		if err != nil {
			return err
		}
		_, err = stream.GetLastMsgForSubject(t.Context(), c.Fleet.BucketSubject(subjects.State, subjects.Notifications.Key("hook")))
		return err
	})
	apply("one")
	told(`"one"`)
	o.Name = "second"
	second := start(t, o)
	first.Stop()
	leading(t, second)
	apply("two")
	told(`"one"`, `"two"`)
	second.Stop()
	http.DefaultClient.CloseIdleConnections()
}

func TestAHubWhoseVariableIsNotSetDoesNotStart(t *testing.T) {
	_, err := hubd.New(hubd.Options{Notifications: []configs.Notification{{Name: "hook", Webhook: &configs.Webhook{URL: "${NO_SUCH_VARIABLE}"}}}})
	require.EqualError(t, err, "options of the hub: notifications[0].webhook.url: found ${NO_SUCH_VARIABLE}, which is not set; set it in the environment of the hub")
}

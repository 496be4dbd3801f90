package checker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/core/check"
	"flotilla/core/strict"
)

const token = "hunter2-and-more"

// served serves what is asked on loopback, and knows what came.
func served(t *testing.T, answers http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answers)
	t.Cleanup(server.Close)
	return server.URL
}

func known(t *testing.T, config configs.Checks) *Endpoints {
	t.Helper()
	e, err := EndpointsOf(&config, func(name string) string { return map[string]string{"TOKEN": token}[name] })
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, all := range []map[string]*endpoint{e.prometheus, e.webhooks} {
			for _, at := range all {
				at.client.Close()
			}
		}
	})
	return e
}

func (e *Endpoints) asks(t *testing.T, c api.Check, timeout time.Duration) verdict {
	t.Helper()
	c.Name = "errors"
	v, answered := e.ask(t.Context(), asked{Fleet: "default", Placement: "web"}, &check.Question{Check: c, Snapshot: 7, Members: []string{"berlin"}, Timeout: timeout})
	require.True(t, answered)
	return v
}

func vector(values ...string) string {
	samples := make([]string, len(values))
	for i, v := range values {
		samples[i] = fmt.Sprintf(`{"metric":{},"value":[1763640000,%q]}`, v)
	}
	return `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(samples, ",") + `]}}`
}

func TestQueries(t *testing.T) {
	body, code := "", http.StatusOK
	at := served(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		form, err := url.ParseQuery(string(text))
		if r.URL.Path != "/prom/api/v1/query" || r.URL.RawQuery != "" || err != nil || form.Get("query") != "up&time=0/../x" || r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	})
	e := known(t, configs.Checks{Prometheus: []configs.CheckEndpoint{{Name: "main", URL: at + "/prom", Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"}}}})
	low, high := strict.Decimal(0.5), strict.Decimal(2)
	for _, c := range []struct {
		name, body string
		code       int
		passed     bool
		message    string
	}{
		{"within", vector("1"), 200, true, "value 1"},
		{"several", vector("1", "0.5", "2"), 200, true, "3 values are within bounds"},
		{"a scalar", `{"status":"success","data":{"resultType":"scalar","result":[1,"1.5"]}}`, 200, true, "value 1.5"},
		{"one of several", vector("1", "3"), 200, false, "value 3 is above max 2"},
		{"below", vector("0.1"), 200, false, "value 0.1 is below min 0.5"},
		{"NaN", vector("NaN"), 200, false, "value NaN is no number"},
		{"infinite", vector("+Inf"), 200, false, "value +Inf is no number"},
		{"beyond numbers", vector("1e999"), 200, false, "value +Inf is no number"},
		{"long", vector(strings.Repeat("1", 41)), 200, false, "a value that cannot be read"},
		{"no number", vector("one"), 200, false, `the value "one", which is no number`},
		{"empty", vector(), 200, false, "an empty vector: no series matches the query"},
		{"null", `{"status":"success","data":{"resultType":"vector","result":null}}`, 200, false, "an empty vector"},
		{"a matrix", `{"status":"success","data":{"resultType":"matrix","result":[]}}`, 200, false, `a "matrix", expected a vector or a scalar`},
		{"a torn sample", `{"status":"success","data":{"resultType":"vector","result":[{"value":[1]}]}}`, 200, false, "a value that cannot be read"},
		{"an error", `{"status":"error","error":"bad query"}`, 200, false, `"error": bad query`},
		{"garbage", "\x00\x1b[31m{{{", 200, false, "what is no answer of Prometheus"},
		{"nothing", "", 200, false, "what is no answer of Prometheus"},
		{"20 MB", strings.Repeat(" ", 20<<20) + vector("1"), 200, false, "answers more than 1024 KiB"},
		{"unauthorised", "who has " + token + "?", 401, false, "answers 401 Unauthorized: who has ***?"},
		{"unavailable", vector("1"), 503, false, "answers 503"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, code = c.body, c.code
			v := e.asks(t, api.Check{Prometheus: &api.PrometheusCheck{Server: "main", Query: "up&time=0/../x", Min: &low, Max: &high}}, 10*time.Second)
			require.Equal(t, c.passed, v.passed, v.message)
			require.Contains(t, v.message, c.message)
			require.NotContains(t, v.message, token)
			require.NotContains(t, v.message, "\x1b")
		})
	}
}

func TestWebhooks(t *testing.T) {
	body := ""
	var got asked
	at := served(t, func(w http.ResponseWriter, r *http.Request) {
		if json.NewDecoder(r.Body).Decode(&got) != nil || r.Header.Get("Content-Type") != "application/json" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		_, _ = w.Write([]byte(body))
	})
	e := known(t, configs.Checks{Webhooks: []configs.CheckEndpoint{{Name: "judge", URL: at + "/${TOKEN}"}}})
	for _, c := range []struct {
		body    string
		passed  bool
		message string
	}{
		{`{"pass": true}`, true, ""},
		{`{"pass": true, "message": "all is well"}`, true, "all is well"},
		{`{"pass": false, "message": "two lines\nand ` + token + `"}`, false, "two lines and ***"},
		{`{}`, false, `answers "{}", expected {"pass": true}`},
		{`{"pass": "yes"}`, false, "expected"},
		{`[]`, false, "expected"},
		{``, false, "expected"},
		{`{"pass": true, "more": "` + strings.Repeat("x", 65<<10) + `"}`, false, "answers more than 64 KiB"},
	} {
		body = c.body
		v := e.asks(t, api.Check{Webhook: &api.WebhookCheck{Webhook: "judge", Arguments: map[string]string{"a": `$(x)"`}}}, 10*time.Second)
		require.Equal(t, c.passed, v.passed, c.body)
		require.Contains(t, v.message, c.message)
		require.NotContains(t, v.message, token)
	}
	require.Equal(t, asked{Fleet: "default", Placement: "web", Snapshot: 7, Members: []string{"berlin"}, Total: 1, Check: "errors", Arguments: map[string]string{"a": `$(x)"`}}, got)
}

func TestARedirectionIsNotFollowed(t *testing.T) {
	followed := false
	elsewhere := served(t, func(w http.ResponseWriter, _ *http.Request) {
		followed = true
		_, _ = w.Write([]byte(`{"pass": true}`))
	})
	at := served(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
	})
	e := known(t, configs.Checks{Webhooks: []configs.CheckEndpoint{{Name: "judge", URL: at}}})
	v := e.asks(t, api.Check{Webhook: &api.WebhookCheck{Webhook: "judge"}}, 10*time.Second)
	require.False(t, v.passed)
	require.Contains(t, v.message, "answers 307 Temporary Redirect")
	require.False(t, followed)
}

// One that hangs is no pass after the time-out, takes its own turns, and holds up nobody who asks another one.
func TestOneThatHangsHoldsUpNobodyElse(t *testing.T) {
	release := make(chan struct{})
	hangs := served(t, func(http.ResponseWriter, *http.Request) { <-release })
	answers := served(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"pass": true}`)) })
	e := known(t, configs.Checks{Webhooks: []configs.CheckEndpoint{{Name: "hangs", URL: hangs}, {Name: "answers", URL: answers}}})
	v := e.asks(t, api.Check{Webhook: &api.WebhookCheck{Webhook: "hangs"}}, 50*time.Millisecond)
	require.False(t, v.passed)
	require.Equal(t, "no answer within 50ms", v.message)

	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for range 3 * turns {
		asking.Go(func() {
			_, answered := e.ask(ctx, asked{}, &check.Question{Check: api.Check{Webhook: &api.WebhookCheck{Webhook: "hangs"}}, Timeout: time.Minute})
			if answered {
				panic("it answered")
			}
		})
	}
	require.True(t, e.asks(t, api.Check{Webhook: &api.WebhookCheck{Webhook: "answers"}}, 10*time.Second).passed)
	cancel()
	asking.Wait()
	close(release)
}

func TestCommands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "asked")
	e := known(t, configs.Checks{Commands: []configs.CheckCommand{
		{Name: "passes", Argv: []string{"sh", "-c", `cat > "$0"; echo fine "$KEY"`, file}, Environment: map[string]string{"KEY": "${TOKEN}"}},
		{Name: "fails", Argv: []string{"sh", "-c", "echo broken; exit 3"}},
		{Name: "hangs", Argv: []string{"sleep", "100"}},
		{Name: "none", Argv: []string{"/no/such/program"}},
	}})
	ask := func(name string, timeout time.Duration) verdict {
		return e.asks(t, api.Check{Command: &api.CommandCheck{Command: name, Arguments: map[string]string{"a": "; touch /tmp/x"}}}, timeout)
	}
	require.Equal(t, verdict{passed: true, message: "fine ***"}, ask("passes", 10*time.Second))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.JSONEq(t, `{"fleet":"default","placement":"web","snapshot":7,"members":["berlin"],"memberCount":1,"check":"errors","arguments":{"a":"; touch /tmp/x"}}`, string(text))
	require.Equal(t, verdict{message: "exit status 3: broken"}, ask("fails", 10*time.Second))
	require.Equal(t, verdict{message: "no answer within 50ms"}, ask("hangs", 50*time.Millisecond))
	require.Contains(t, ask("none", 10*time.Second).message, "no such file")
	require.Equal(t, verdict{unasked: true, message: "the configuration of the hub has no checks.commands named other"}, ask("other", time.Second))
}

func TestNobodyAnswers(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	e := known(t, configs.Checks{Webhooks: []configs.CheckEndpoint{{Name: "gone", URL: server.URL + "/" + "${TOKEN}"}}})
	v := e.asks(t, api.Check{Webhook: &api.WebhookCheck{Webhook: "gone"}}, 10*time.Second)
	require.False(t, v.passed)
	require.Contains(t, v.message, "connection refused")
	require.NotContains(t, v.message, token)
}

func TestAVariableThatIsNotSetIsNamed(t *testing.T) {
	_, err := EndpointsOf(&configs.Checks{
		Prometheus: []configs.CheckEndpoint{{Name: "a", URL: "${NO_URL}"}},
		Commands:   []configs.CheckCommand{{Name: "b", Argv: []string{"true"}, Environment: map[string]string{"KEY": "x${NO_KEY}"}}},
	}, func(string) string { return "" })
	require.EqualError(t, err, "checks.prometheus[0].url: found ${NO_URL}, which is not set; set it in the environment of the hub\n"+
		`checks.commands[0].environment["KEY"]: found ${NO_KEY}, which is not set; set it in the environment of the hub`)
}

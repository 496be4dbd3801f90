package configs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// sampleWithNotifications is hub.yaml with the notifications that it shows as comments.
func sampleWithNotifications(t *testing.T) []byte {
	t.Helper()
	before, after, found := strings.Cut(string(read(t, "hub.yaml")), "\nnotifications: []\n# notifications:\n")
	require.True(t, found)
	lines := strings.Split(strings.TrimSpace(after), "\n")
	for i, line := range lines {
		var comment bool
		lines[i], comment = strings.CutPrefix(line, "# ")
		require.True(t, comment, "notifications come last in hub.yaml: %s", line)
	}
	before = strings.ReplaceAll(before, ": []\n  # - ", ":\n  - ") // what rollout checks may ask
	return []byte(before + "\nnotifications:\n" + strings.Join(lines, "\n") + "\n")
}

func TestSampleOfNotificationsIsAccepted(t *testing.T) {
	h, err := LoadHub("hub.yaml", sampleWithNotifications(t))
	require.NoError(t, err)
	require.Len(t, h.Notifications, 2)
	hook, pager := h.Notifications[0], h.Notifications[1]
	require.Equal(t, DefaultRetryFor, hook.RetryFor)
	require.Equal(t, DefaultWebhookTimeout, hook.Webhook.Timeout)
	require.Equal(t, DefaultCommandTimeout, pager.Command.Timeout)
	require.Equal(t, DefaultRetryFor, pager.RetryFor)
	text, err := hook.Webhook.Render(sampleEvent)
	require.NoError(t, err)
	require.JSONEq(t, `{"text": "run/spring: it said \"no\"\nand went"}`, string(text))
}

func TestNotificationsTakeTheirDefaults(t *testing.T) {
	h, err := LoadHub("hub.yaml", []byte("notifications: [{name: a, webhook: {url: \"http://x\"}}, {name: b, command: {argv: [a]}}]"))
	require.NoError(t, err)
	require.Equal(t, []Notification{
		{Name: "a", RetryFor: Duration(24 * time.Hour), Webhook: &Webhook{URL: "http://x", Timeout: Duration(10 * time.Second)}},
		{Name: "b", RetryFor: Duration(24 * time.Hour), Command: &Command{Argv: []string{"a"}, Timeout: Duration(30 * time.Second)}},
	}, h.Notifications)
}

func TestNotificationsReportEveryFault(t *testing.T) {
	_, err := LoadHub("hub.yaml", []byte(`
notifications:
- name: On_Call
  when: {objects: [runs/*, run, "*/*"], reasons: [""], type: Bad, reason: [x]}
  webhook:
    url: example.com/hook
    headers: {"a b": x, ok: "${1X}", two: "a\nb"}
    template: "{{ .Massage }}"
    timeout: 1h
- name: b
- name: b
  webhook: {url: "${HOOK}", template: "text: {{ .Message }}"}
  command: {argv: [""], environment: {"a-b": x, FLOTILLA_X: z}, timeout: 1ms}
  retryFor: 1ms
- name: c
  command: {argv: []}
`))
	requireFaults(t, err, []string{
		`hub.yaml: notifications[0].when.reason: found an unknown field, expected one of objects, reasons`,
		`hub.yaml: notifications[0].name: found "On_Call", expected lower-case letters`,
		`hub.yaml: notifications[0].when.objects[0]: found "runs/*", expected <kind>/<name> with a kind out of placement, member, object, run, strategy, profile, catalog, maintenance, override, stagedstrategy, eviction, budget, check, node, nodepool, instances, user, fleet, or *; did you mean run?`,
		`hub.yaml: notifications[0].when.objects[1]: found "run", expected <kind>/<name>`,
		`hub.yaml: notifications[0].when.reasons[0]: found nothing, expected a pattern`,
		`hub.yaml: notifications[0].when.type: found "Bad", expected one of Normal, Warning`,
		`hub.yaml: notifications[0].webhook.url: found "example.com/hook", expected a URL`,
		`hub.yaml: notifications[0].webhook.headers["a b"]: found "a b", expected the name of an HTTP header`,
		`hub.yaml: notifications[0].webhook.headers["ok"]: found "${1X}", expected ${NAME}`,
		`hub.yaml: notifications[0].webhook.headers["two"]: found several lines, expected one line`,
		`hub.yaml: notifications[0].webhook.timeout: found "1h0m0s", expected a duration from 1s to 5m0s`,
		`hub.yaml: notifications[0].webhook.template: found template:1:3: executing "template" at <.Massage>: can't evaluate field Massage`,
		`hub.yaml: notifications[1]: found neither webhook nor command, expected one of them`,
		`hub.yaml: notifications[2].name: found "b" again, expected another name than notifications[1] has`,
		`hub.yaml: notifications[2]: found webhook and command, expected one of them`,
		`hub.yaml: notifications[2].webhook.template: found it renders "text: it said \"no\"\nand went", which is not JSON`,
		`hub.yaml: notifications[2].command.argv[0]: found nothing, expected the path or the name of a program`,
		`hub.yaml: notifications[2].command.environment["FLOTILLA_X"]: found "FLOTILLA_X", expected a name that does not begin`,
		`hub.yaml: notifications[2].command.environment["a-b"]: found "a-b", expected the name of a variable`,
		`hub.yaml: notifications[2].command.timeout: found "1ms", expected a duration from 1s to 1h0m0s`,
		`hub.yaml: notifications[2].retryFor: found "1ms", expected a duration from 1s to 2160h0m0s`,
		`hub.yaml: notifications[3].command.argv: found nothing, expected a program and its arguments`,
	})
}

func TestVariablesAreExpanded(t *testing.T) {
	got, missing := Expand("a ${X} ${NO} ${Y}$Z ${NONE}", env(map[string]string{"X": "1", "Y": "2", "Z": "3"}))
	require.Equal(t, "a 1  2$Z ", got)
	require.Equal(t, []string{"NO", "NONE"}, missing)
}

func TestAnEventIsShownWhole(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.FixedZone("", 3600))
	e := api.Audit{
		At: metav1.NewTime(at), Object: "placement/ns/web", Type: "Normal", Reason: "Picked", Message: "m", By: "scheduler", Member: "oslo",
	}
	view := NewEventView("north", 7, &e)
	text, err := (&Webhook{}).Render(view)
	require.NoError(t, err)
	require.JSONEq(t, `{"fleet":"north","id":"north/7","at":"2026-11-20T11:00:00Z","object":"placement/ns/web","kind":"placement",
		"name":"ns/web","type":"Normal","reason":"Picked","message":"m","by":"scheduler","member":"oslo"}`, string(text))
	var again EventView
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, view, again)
}

package notifier

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/configs"
	"flotilla/core/api"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"run/*", []string{"run/a", "run/"}, []string{"runs/a", "a/run/"}},
		{"*", []string{"", "a/b/c"}, nil},
		{"web", []string{"web"}, []string{"web2", ""}},
		{"*Failed", []string{"Failed", "UpgradeFailed"}, []string{"FailedX"}},
		{"placement/*/web", []string{"placement/ns/web", "placement/a/b/web"}, []string{"placement/web"}},
		{"gate * -> Pending*", []string{"gate s/before/Approval NotStarted -> Pending: waits"}, []string{"gate -> Pending", "run -> Pending"}},
		{"a*b*a", []string{"aba", "axbya"}, []string{"aa", "ab", "a"}},
		{"a*a", []string{"aa"}, []string{"a"}},
	} {
		for _, text := range c.yes {
			require.True(t, matches(c.pattern, text), "%q %q", c.pattern, text)
		}
		for _, text := range c.no {
			require.False(t, matches(c.pattern, text), "%q %q", c.pattern, text)
		}
	}
}

func TestFilters(t *testing.T) {
	event := func(change func(*api.Audit)) *api.Audit {
		e := &api.Audit{Object: "run/spring", Type: "Warning", Reason: "UpgradeFailed", Message: "member oslo failed", By: "runner", Member: "oslo"}
		change(e)
		return e
	}
	same := func(*api.Audit) {}
	full := filter{
		Objects: []string{"profile/*", "run/*"}, Reasons: []string{"*Failed"}, Messages: []string{"*oslo*"}, Type: "Warning", Members: []string{"os*"},
	}
	for name, change := range map[string]func(*api.Audit){
		"object":    func(e *api.Audit) { e.Object = "placement/spring" },
		"reason":    func(e *api.Audit) { e.Reason = "Running" },
		"message":   func(e *api.Audit) { e.Message = "member berlin failed" },
		"type":      func(e *api.Audit) { e.Type = "Normal" },
		"member":    func(e *api.Audit) { e.Member = "berlin" },
		"no member": func(e *api.Audit) { e.Member = "" },
		"own":       func(e *api.Audit) { e.By = by },
	} {
		require.False(t, full.lets(event(change)), name)
		if name != "own" {
			require.True(t, (&filter{}).lets(event(change)), name)
		}
	}
	require.True(t, full.lets(event(same)))
	require.False(t, (&filter{Members: []string{"*"}}).lets(event(func(e *api.Audit) { e.Member = "" })))
}

func TestVariablesThatAreMissingAreNamedAllAtOnce(t *testing.T) {
	list := []configs.Notification{
		{Name: "a", Webhook: &configs.Webhook{URL: "${HOOK}", Headers: map[string]string{"Authorization": "Bearer ${TOKEN}", "X": "${SET}"}}},
		{Name: "b", Command: &configs.Command{Argv: []string{"true"}, Environment: map[string]string{"KEY": "${KEY}"}}},
		{Name: "c", Webhook: &configs.Webhook{URL: "${SET}"}},
	}
	getenv := func(name string) string { return map[string]string{"SET": "s3cret"}[name] }
	_, err := Channels(list, getenv)
	require.EqualError(t, err, `notifications[0].webhook.url: found ${HOOK}, which is not set; set it in the environment of the hub
notifications[0].webhook.headers["Authorization"]: found ${TOKEN}, which is not set; set it in the environment of the hub
notifications[1].command.environment["KEY"]: found ${KEY}, which is not set; set it in the environment of the hub
notifications[2].webhook.url: found no http or https URL once its variables are in place`)
}

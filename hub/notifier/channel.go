package notifier

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"flotilla/configs"
	"flotilla/hub/outside"
)

// Channel is a notification with its variables in place.
type Channel struct {
	name     string
	filter   filter
	retryFor time.Duration
	sender   sender
}

// Channels puts the variables of the environment into notifications that are valid. The error names
// every variable that is not set, with its place; it never holds a value.
func Channels(list []configs.Notification, getenv func(string) string) ([]Channel, error) {
	e := outside.Expansion{Getenv: getenv}
	channels := make([]Channel, 0, len(list))
	for i := range list {
		n := &list[i]
		e.At = fmt.Sprintf("notifications[%d]", i)
		c := Channel{name: n.Name, filter: filter(n.When), retryFor: time.Duration(n.RetryFor)}
		if n.Webhook != nil {
			c.sender = newWebhook(&e, n.Webhook)
		} else {
			c.sender = newCommand(&e, n.Command)
		}
		channels = append(channels, c)
	}
	return channels, e.Err()
}

func newWebhook(e *outside.Expansion, w *configs.Webhook) sender {
	hook := &webhook{template: w, timeout: time.Duration(w.Timeout), client: outside.NewClient()}
	hook.url, hook.host = e.URL("webhook.url", w.URL)
	hook.headers = e.Map("webhook.headers", w.Headers)
	return hook
}

func newCommand(e *outside.Expansion, c *configs.Command) sender {
	out := &command{argv: c.Argv, timeout: time.Duration(c.Timeout)}
	values := e.Map("command.environment", c.Environment)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out.environment = append(out.environment, name+"="+values[name])
	}
	return out
}

package notifier

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"flotilla/configs"
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
	e := expansion{getenv: getenv}
	channels := make([]Channel, 0, len(list))
	for i := range list {
		n := &list[i]
		e.at = fmt.Sprintf("notifications[%d]", i)
		c := Channel{name: n.Name, filter: filter(n.When), retryFor: time.Duration(n.RetryFor)}
		if n.Webhook != nil {
			c.sender = e.webhook(n.Webhook)
		} else {
			c.sender = e.command(n.Command)
		}
		channels = append(channels, c)
	}
	return channels, errors.Join(e.missing...)
}

// expansion puts variables into texts and collects what is wrong.
type expansion struct {
	getenv  func(string) string
	at      string
	missing []error
}

func (e *expansion) text(path, text string) string {
	expanded, missing := configs.Expand(text, e.getenv)
	for _, name := range missing {
		e.missing = append(e.missing, fmt.Errorf("%s.%s: found ${%s}, which is not set; set it in the environment of the hub", e.at, path, name))
	}
	return expanded
}

func (e *expansion) webhook(w *configs.Webhook) sender {
	before := len(e.missing)
	hook := &webhook{
		url: e.text("webhook.url", w.URL), template: w, timeout: time.Duration(w.Timeout), headers: map[string]string{}, client: newClient(),
	}
	at, err := url.Parse(hook.url)
	if len(e.missing) == before && (err != nil || at.Host == "" || !strings.HasPrefix(at.Scheme, "http")) {
		e.missing = append(e.missing, fmt.Errorf("%s.webhook.url: found no http or https URL once its variables are in place", e.at))
	}
	if err == nil {
		hook.host = at.Host
	}
	for _, name := range slices.Sorted(maps.Keys(w.Headers)) {
		hook.headers[name] = e.text(fmt.Sprintf("webhook.headers[%q]", name), w.Headers[name])
	}
	return hook
}

func (e *expansion) command(c *configs.Command) sender {
	out := &command{argv: c.Argv, timeout: time.Duration(c.Timeout)}
	for _, name := range slices.Sorted(maps.Keys(c.Environment)) {
		out.environment = append(out.environment, name+"="+e.text(fmt.Sprintf("command.environment[%q]", name), c.Environment[name]))
	}
	return out
}

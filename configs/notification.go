package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"time"

	"flotilla/core/api"
)

// Notification tells the world outside of what happens in the fleet: events of the audit stream that
// its filter lets through are sent to a webhook or to a command.
type Notification struct {
	// Name under which the hub keeps how far it has come, a DNS label.
	Name string `json:"name"`
	// When selects events; what is left out lets everything through.
	When NotificationFilter `json:"when,omitzero"`
	// Webhook or Command, one of them.
	Webhook *Webhook `json:"webhook,omitempty"`
	Command *Command `json:"command,omitempty"`
	// RetryFor is how old an event may become before it is given up when it cannot be delivered.
	RetryFor Duration `json:"retryFor,omitempty"`
}

// NotificationFilter lets an event through when each of its fields does. Patterns are texts in which *
// stands for any letters, also none; a list lets through what one of its patterns matches.
type NotificationFilter struct {
	// Objects are patterns of "<kind>/<name>", "run/*".
	Objects  []string `json:"objects,omitempty"`
	Reasons  []string `json:"reasons,omitempty"`
	Messages []string `json:"messages,omitempty"`
	// Type is Normal or Warning; both when empty.
	Type string `json:"type,omitempty"`
	// Members lets only events through that concern a member.
	Members []string `json:"members,omitempty"`
}

// Webhook is a URL that events are posted to. In URL and Headers ${NAME} stands for a variable of the
// hub's environment.
type Webhook struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
	// Template renders an event, an EventView, as the JSON that is posted; empty: the event itself.
	Template string   `json:"template,omitempty"`
	Timeout  Duration `json:"timeout,omitempty"`
}

// Command is a program that gets an event as JSON on its standard input and in variables FLOTILLA_*.
// Its exit code says whether the event was taken. In Environment ${NAME} stands for a variable of the
// hub's environment, which the program has too.
type Command struct {
	// Argv is the program and its arguments; not read by a shell.
	Argv        []string          `json:"argv"`
	Environment map[string]string `json:"environment,omitempty"`
	Timeout     Duration          `json:"timeout,omitempty"`
}

// Defaults of notifications.
const (
	DefaultRetryFor       = Duration(24 * time.Hour)
	DefaultWebhookTimeout = Duration(10 * time.Second)
	DefaultCommandTimeout = Duration(30 * time.Second)
)

// EventView is an event as templates and commands see it.
type EventView struct {
	Fleet string `json:"fleet"`
	// ID is the same whenever the same event is sent: "<fleet>/<sequence>".
	ID string    `json:"id"`
	At time.Time `json:"at"`
	// Object is "<kind>/<name>"; Kind and Name are its parts.
	Object  string `json:"object"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	By      string `json:"by"`
	// Member is empty unless the event concerns one.
	Member string `json:"member,omitempty"`
}

// NewEventView shows an event of a fleet's audit stream.
func NewEventView(fleet string, sequence uint64, e *api.Audit) EventView {
	kind, name, _ := strings.Cut(e.Object, "/")
	return EventView{
		Fleet: fleet, ID: fmt.Sprintf("%s/%d", fleet, sequence), At: e.At.UTC(), Object: e.Object, Kind: kind, Name: name,
		Type: e.Type, Reason: e.Reason, Message: e.Message, By: e.By, Member: e.Member,
	}
}

// Render is what a webhook is sent for an event: JSON, or an error that says what came out instead.
func (w *Webhook) Render(e EventView) ([]byte, error) {
	if w.Template == "" {
		return json.Marshal(e)
	}
	t, err := template.New("template").Option("missingkey=error").Funcs(template.FuncMap{"json": asJSON}).Parse(w.Template)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, e); err != nil {
		return nil, err
	}
	if !json.Valid(out.Bytes()) {
		return nil, fmt.Errorf("it renders %q, which is not JSON; write {{ json .Message }} for a value with its quotes", excerpt(out.String()))
	}
	return out.Bytes(), nil
}

func asJSON(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

// excerpt is the beginning of a text.
func excerpt(text string) string {
	const most = 100
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}

var variableReference = regexp.MustCompile(`\$\{([^}]*)\}`)

// Expand replaces each ${NAME} by the variable of that name; missing lists those that are not set.
func Expand(text string, getenv func(string) string) (expanded string, missing []string) {
	expanded = variableReference.ReplaceAllStringFunc(text, func(found string) string {
		name := variableReference.FindStringSubmatch(found)[1]
		value := getenv(name)
		if value == "" {
			missing = append(missing, name)
		}
		return value
	})
	return expanded, missing
}

func (h *Hub) defaultNotifications() {
	for i := range h.Notifications {
		n := &h.Notifications[i]
		setDuration(&n.RetryFor, DefaultRetryFor)
		if n.Webhook != nil {
			setDuration(&n.Webhook.Timeout, DefaultWebhookTimeout)
		}
		if n.Command != nil {
			setDuration(&n.Command.Timeout, DefaultCommandTimeout)
		}
	}
}

func setDuration(d *Duration, otherwise Duration) {
	if *d == 0 {
		*d = otherwise
	}
}

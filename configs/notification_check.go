package configs

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"flotilla/core/strict"
	"flotilla/core/validate"
)

// auditKinds are the kinds of objects that events are about, but for notifications, of which none is told.
var auditKinds = []string{"placement", "member", "object", "run", "strategy", "profile", "catalog", "maintenance", "override", "stagedstrategy", "eviction", "budget", "check", "node", "nodepool", "instances", "user", "fleet"}

var headerPattern = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func (c *checks) notifications(list []Notification) {
	first := map[string]int{}
	for i := range list {
		n, at := &list[i], fmt.Sprintf("notifications[%d]", i)
		c.faults = append(c.faults, validate.MemberName(at+".name", n.Name)...)
		if before, again := first[n.Name]; again {
			c.add(at+".name", strconv.Quote(n.Name)+" again", fmt.Sprintf("another name than notifications[%d] has", before))
		}
		first[n.Name] = i
		c.filter(at+".when", &n.When)
		c.unless(n.Webhook != nil || n.Command != nil, at, "neither webhook nor command", "one of them")
		c.unless(n.Webhook == nil || n.Command == nil, at, "webhook and command", "one of them")
		c.webhook(at+".webhook", n.Webhook)
		c.notify(at+".command", n.Command)
		c.positive(at+".retryFor", n.RetryFor, Duration(time.Second), Duration(90*24*time.Hour))
	}
}

func (c *checks) filter(at string, f *NotificationFilter) {
	for i, pattern := range f.Objects {
		kind, _, ok := strings.Cut(pattern, "/")
		known := strings.Contains(kind, "*") || slices.Contains(auditKinds, kind)
		expected := "<kind>/<name> with a kind out of " + strings.Join(auditKinds, ", ") + ", or *"
		if near := strict.Nearest(kind, auditKinds); near != "" && !known {
			expected += "; did you mean " + near + "?"
		}
		c.unless(ok && known || pattern == "*", fmt.Sprintf("%s.objects[%d]", at, i), strconv.Quote(pattern), expected)
	}
	c.patterns(at+".reasons", f.Reasons)
	c.patterns(at+".messages", f.Messages)
	c.patterns(at+".members", f.Members)
	if f.Type != "" {
		c.choice(at+".type", f.Type, []string{"Normal", "Warning"})
	}
}

func (c *checks) patterns(at string, list []string) {
	for i, pattern := range list {
		c.unless(pattern != "", fmt.Sprintf("%s[%d]", at, i), "nothing", "a pattern, * stands for any letters")
	}
}

func (c *checks) webhook(at string, w *Webhook) {
	if w == nil {
		return
	}
	c.endpoint(at, w.URL, w.Headers)
	c.positive(at+".timeout", w.Timeout, Duration(time.Second), Duration(5*time.Minute))
	if _, err := w.Render(sampleEvent); err != nil {
		c.add(at+".template", strings.TrimPrefix(err.Error(), "template: "), "a text/template that renders the event as JSON, with the fields of the event as "+
			".Fleet, .ID, .At, .Object, .Kind, .Name, .Type, .Reason, .Message, .By, .Member")
	}
}

// endpoint checks a URL and the headers that go there.
func (c *checks) endpoint(at, to string, headers map[string]string) {
	c.references(at+".url", to)
	if !strings.Contains(to, "${") {
		u, err := url.Parse(to)
		c.unless(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", at+".url", strconv.Quote(to),
			`a URL, like "https://example.com/hook", or one from the environment, "${HOOK_URL}"`)
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name]
		header := at + ".headers[" + strconv.Quote(name) + "]"
		c.unless(headerPattern.MatchString(name), header, strconv.Quote(name), "the name of an HTTP header")
		c.references(header, value)
		c.unless(!strings.ContainsAny(value, "\r\n"), header, "several lines", "one line")
	}
}

// sampleEvent tries a template with what is hard to put into JSON.
var sampleEvent = EventView{
	Fleet: "default", ID: "default/1", Object: "run/spring", Kind: "run", Name: "spring", Type: "Warning", Reason: "UpgradeFailed",
	Message: "it said \"no\"\nand went", By: "runner", Member: "berlin",
}

func (c *checks) notify(at string, command *Command) {
	if command == nil {
		return
	}
	c.program(at, command.Argv, command.Environment)
	c.positive(at+".timeout", command.Timeout, Duration(time.Second), Duration(time.Hour))
}

// program checks a program, its arguments and its environment.
func (c *checks) program(at string, argv []string, environment map[string]string) {
	c.unless(len(argv) > 0, at+".argv", "nothing", "a program and its arguments")
	c.unless(len(argv) == 0 || argv[0] != "", at+".argv[0]", "nothing", "the path or the name of a program")
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		value := environment[name]
		variable := at + ".environment[" + strconv.Quote(name) + "]"
		c.unless(variablePattern.MatchString(name), variable, strconv.Quote(name), "the name of a variable: letters, digits and _")
		c.unless(!strings.HasPrefix(name, "FLOTILLA_"), variable, strconv.Quote(name), "a name that does not begin with FLOTILLA_")
		c.references(variable, value)
	}
}

// references checks the form of each ${NAME}.
func (c *checks) references(at, text string) {
	for _, found := range variableReference.FindAllStringSubmatch(text, -1) {
		c.unless(variablePattern.MatchString(found[1]), at, strconv.Quote(found[0]), "${NAME} with the name of a variable: letters, digits and _")
	}
}

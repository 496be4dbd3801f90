package deed

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// longestAsked is how long one thing may be that is asked.
const longestAsked = 253

// Action is what a person may have done after a look at what comes of it.
type Action struct {
	Name, Verb string
	// Words are those of the command line.
	Words string
	// On are the kinds of what it is done to, as events name them.
	On []string
	// Reason says whether somebody may, or must, say why.
	Reason string
	least  api.Role // of the action where that is not the one of the verb
}

// What Action.Reason says.
const (
	MayReason  = "may"
	MustReason = "must"
)

var (
	runs, placements, members = []string{api.AuditRun}, []string{api.AuditPlacement}, []string{api.AuditMember}
	frozen, both              = []string{"fleet", api.AuditMember}, []string{api.AuditPlacement, api.AuditMember}
	writes                    = api.NeededToWrite(api.KindMemberCluster)
)

var actions = []Action{
	{Name: "approve", Verb: api.VerbRunApprove, Words: "run approve", On: runs},
	{Name: "start", Verb: api.VerbRunStart, Words: "run start", On: runs},
	{Name: "stop", Verb: api.VerbRunStop, Words: "run stop", On: runs},
	{Name: "skip", Verb: api.VerbRunSkip, Words: "run skip", On: runs},
	{Name: "rerun", Verb: api.VerbRunRerun, Words: "run rerun", On: runs},
	{Name: "pause", Verb: api.VerbRolloutPause, Words: "rollout pause", On: placements, Reason: MayReason},
	{Name: "resume", Verb: api.VerbRolloutResume, Words: "rollout resume", On: placements},
	{Name: "undo", Verb: api.VerbRolloutUndo, Words: "rollout undo", On: placements},
	{Name: "approve-withdrawal", Verb: api.VerbApproveWithdrawal, Words: "approve withdrawal", On: both},
	{Name: "cordon", Verb: api.VerbPatch, least: writes, Words: "cordon", On: members},
	{Name: "uncordon", Verb: api.VerbPatch, least: writes, Words: "uncordon", On: members},
	{Name: "drain", Verb: api.VerbPatch, least: writes, Words: "drain", On: members},
	{Name: "admit", Verb: api.VerbAdmit, Words: "member admit", On: members},
	{Name: "revoke", Verb: api.VerbMemberRevoke, Words: "member revoke", On: members},
	{Name: "freeze", Verb: api.VerbFreeze, Words: "freeze", On: frozen, Reason: MustReason},
	{Name: "unfreeze", Verb: api.VerbUnfreeze, Words: "unfreeze", On: frozen},
}

// Needs is the least role that may have it done.
func (a *Action) Needs() api.Role { return cmp.Or(a.least, api.NeededFor(a.Verb)) }

// Deed is one look at an action on an object.
type Deed struct {
	Action
	// Object is as events name it, "placement/shop/web"; Key is the part behind its kind.
	Object, Kind, Key string
	// Command does the same.
	Command string
	Look
	asked map[string][]string
}

// Look is what would come of a deed, as far as is known.
type Look struct {
	// Plan says what comes of it, Effect what comes of the members of a run, Held what cannot go on yet, and why.
	Plan, Held []string
	Effect     Effect
	// Members is how many it concerns.
	Members int
	Choices []Choice
	// Seen is what the plan goes by: once that is another, nothing is done.
	Seen []string
	// Was and Is are what changed of it since somebody looked.
	Was, Is []string
}

// Choice is something else that may be asked of an action.
type Choice struct {
	Name, Label string
	// Options are what may be chosen, with texts to read; a box to tick where there is one, a text to type where there is none.
	Options []Option
}

// Option is what may be chosen.
type Option struct{ Value, Text string }

// New is the deed of an action, of what is asked of it: an object and whatever its choices name.
func New(action string, asked map[string][]string) (*Deed, error) {
	at := slices.IndexFunc(actions, func(a Action) bool { return a.Name == action })
	if at < 0 {
		return nil, &api.Failure{Code: api.CodeNotFound, Message: "there is no action " + phrase.Quoted(action)}
	}
	d := &Deed{Action: actions[at], asked: asked}
	d.Object = d.Said("object")
	for _, kind := range d.On {
		if d.Object == "" && d.Said(kind) != "" { // as links say it: run=spring
			d.Object = api.AuditObject(kind, d.Said(kind))
		}
	}
	d.Kind, d.Key, _ = strings.Cut(d.Object, "/")
	for name, values := range asked {
		long := func(text string) bool { return len(text) > longestAsked || !api.Printable(text) }
		if name != "seen" && name != "back" && (len(values) > longestAsked || slices.ContainsFunc(values, long)) {
			return nil, invalid("found a %s that nothing is called, expected at most %d printable characters", phrase.Quoted(name), longestAsked)
		}
	}
	if !slices.Contains(d.On, d.Kind) || !named(d.Key) {
		return nil, invalid("found %s, expected one of %s, as in %s/NAME", phrase.Quoted(d.Object), strings.Join(d.On, " and "), d.On[0])
	}
	d.typing()
	return d, nil
}

func invalid(format string, of ...any) *api.Failure {
	return &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf(format, of...)}
}

// nothing says that there is nothing to do.
func nothing(why, next string) *api.Failure {
	return &api.Failure{Code: api.CodeConflict, Message: "there is nothing to do: " + why, Next: next}
}

// named says that text is a name, or one in a namespace.
func named(text string) bool {
	parts := strings.Split(text, "/")
	return len(parts) <= 2 && !slices.ContainsFunc(parts, func(part string) bool { return len(validation.IsDNS1123Subdomain(part)) > 0 })
}

// Said is one thing that was asked.
func (d *Deed) Said(name string) string {
	if said := d.asked[name]; len(said) > 0 {
		return said[0]
	}
	return ""
}

// words are what was asked in one text or in several, apart from each other.
func (d *Deed) words(name string) []string {
	return strings.FieldsFunc(strings.Join(d.asked[name], " "), func(c rune) bool { return c == ' ' || c == ',' })
}

// say has something be asked that nobody chose.
func (d *Deed) say(name, value string) { d.asked[name] = []string{value} }

// Chosen is what was asked of the choices.
func (d *Deed) Chosen() map[string][]string {
	out := map[string][]string{}
	for _, c := range d.Choices {
		if d.asked[c.Name] != nil {
			out[c.Name] = d.asked[c.Name]
		}
	}
	return out
}

// Label is what people read of it: "Approve withdrawal placement/web".
func (d *Deed) Label() string {
	return strings.ToUpper(d.Name[:1]) + strings.ReplaceAll(d.Name[1:], "-", " ") + " " + d.Object
}

// SeenText is Seen as a form keeps it.
func (d *Deed) SeenText() string { return strings.Join(d.Seen, "\n") }

// reason is one to plan with, while nobody has given one.
func (d *Deed) reason() string { return cmp.Or(strings.TrimSpace(d.Said("reason")), "to be given") }

// typing makes the command that does the same.
func (d *Deed) typing(more ...string) { d.Command = Command(d.Words, d.Object, more...) }

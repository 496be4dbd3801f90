package subjects

import (
	"slices"
	"strings"

	"flotilla/core/api"
)

// accessTokens are the tokens before the verb of a request, by the least role that may use the verb.
var accessTokens = map[api.Role]string{
	api.RoleViewer:   "view",
	api.RoleOperator: "operate",
	api.RoleAdmin:    "administer",
}

// TokenPrefix begins each token that a person shows to the Kubernetes API, so that whoever looks for secrets that lie about
// finds it.
const TokenPrefix = "flotilla_"

// API is the subject on which a person of a role uses a verb of the hub's service,
// "flotilla.<fleet>.api.<role>.<person>.<view|operate|administer>.<verb>". Servers let people publish under
// their own role and name alone, so that the subject says who asks; "*" stands for any role or any person.
func (f Fleet) API(role api.Role, person, verb string) string {
	if person != "*" {
		person = Encode(person)
	}
	return f.APIGroup() + "." + string(role) + "." + person + "." + apiVerb(verb)
}

func apiVerb(verb string) string { return accessTokens[api.NeededFor(verb)] + "." + verb }

// APIEndpoint is the subject of a verb of anybody, within APIGroup.
func (f Fleet) APIEndpoint(verb string) string { return "*.*." + apiVerb(verb) }

// ParseAPI is the inverse of API; false for what no person's permissions give: a name that is none, or a verb
// beyond the role.
func (f Fleet) ParseAPI(subject string) (role api.Role, person, verb string, ok bool) {
	rest, ok := cutPrefix(subject, f.APIGroup()+".")
	tokens := strings.Split(rest, ".")
	if !ok || len(tokens) != 4 {
		return "", "", "", false
	}
	role, verb = api.Role(tokens[0]), tokens[3]
	person, err := Decode(tokens[1])
	if err != nil || tokens[2]+"."+verb != apiVerb(verb) {
		return "", "", "", false
	}
	return role, person, verb, role.Covers(api.NeededFor(verb))
}

// PersonPermissions are exactly what a person may do in account PEOPLE: use the verbs of the role under their
// own name, receive answers, and hear which hub leads.
func (f Fleet) PersonPermissions(person string, role api.Role) Permissions {
	return f.permissionsOf(Encode(person), role)
}

func (f Fleet) permissionsOf(token string, role api.Role) Permissions {
	var p Permissions
	for _, needed := range api.Roles() {
		if role.Covers(needed) {
			p.Publish = append(p.Publish, f.apiOf(role, token)+"."+accessTokens[needed]+".*")
		}
	}
	p.Subscribe = []string{Inbox(token) + ".>", f.Leads()}
	return p
}

func (f Fleet) apiOf(role api.Role, token string) string {
	return f.APIGroup() + "." + string(role) + "." + token
}

// PersonInbox is the prefix of a person's reply subjects.
func PersonInbox(person string) string { return Inbox(Encode(person)) }

// PersonIn is whom permissions to publish make in the fleet, as those of PersonPermissions do; false when they
// let nobody use a verb.
func (f Fleet) PersonIn(publish []string) (person string, role api.Role, ok bool) {
	for _, subject := range publish {
		rest, _ := cutPrefix(subject, f.APIGroup()+".")
		tokens := strings.Split(rest, ".")
		if len(tokens) < 3 || !slices.Contains(api.Roles(), api.Role(tokens[0])) {
			continue
		}
		if person, err := Decode(tokens[1]); err == nil {
			return person, api.Role(tokens[0]), true
		}
	}
	return "", "", false
}

// PeopleExports is all that crosses the border between the accounts HUB and PEOPLE.
func (f Fleet) PeopleExports() []Export {
	var all []Export
	for _, role := range api.Roles() {
		all = append(all, Export{Name: "requests in the role " + string(role), Subject: f.apiOf(role, "*") + ".*.*", Tells: true})
	}
	return append(all, Export{Name: "which hub leads", Subject: f.Leads(), Stream: true})
}

// probesOfPeople are requests under names and roles, one own, and a verb of each access.
func (f Fleet) probesOfPeople(person, another string) []Probe {
	var all []Probe
	for _, of := range []struct{ whose, name string }{{"its own", person}, {"another's", another}, {"everybody's", "*"}} {
		for _, role := range api.Roles() {
			for _, verb := range []string{api.VerbGet, api.VerbApply, api.VerbEnrol} {
				all = append(all, Probe{
					What: of.whose + " request as " + string(role) + " to " + verb, Subject: f.apiOf(role, of.name) + "." + apiVerb(verb),
				})
			}
		}
	}
	return all
}

// InspectorPermissions are for looking at streams and at the service with the tools of NATS, in account HUB.
// Streams are not named one by one, so that the credentials stay within the line of 4 KiB that servers take
// by default.
func (f Fleet) InspectorPermissions() Permissions {
	return Permissions{
		Publish: []string{
			"$SRV.>",
			"$JS.API.INFO",
			"$JS.API.STREAM.NAMES",
			"$JS.API.STREAM.LIST",
			"$JS.API.STREAM.INFO.*",
			"$JS.API.STREAM.MSG.GET.*",
			"$JS.API.DIRECT.GET.>",
			"$JS.API.CONSUMER.CREATE.>",
			"$JS.API.CONSUMER.INFO.>",
			"$JS.API.CONSUMER.LIST.*",
			"$JS.API.CONSUMER.NAMES.*",
			"$JS.API.CONSUMER.MSG.NEXT.>",
			"$JS.API.CONSUMER.DELETE.>",
			"$JS.FC.>",
		},
		Subscribe: []string{"_INBOX.>", f.Prefix() + ".>", "$SRV.>"},
	}
}

// writeVerbs lists the verbs of people and who may use them.
func writeVerbs(b *strings.Builder) {
	b.WriteString("\n## Verbs of people\n\nEach role may also do what those above it may. In requests a viewer's verbs stand " +
		"behind `view`, an operator's behind `operate`, an admin's behind `administer`.\n\n| verb | least role | does |\n|---|---|---|\n")
	for _, v := range api.VerbTable() {
		b.WriteString("| `" + v.Verb + "` | " + string(v.Needs) + " | " + v.Does + " |\n")
	}
}

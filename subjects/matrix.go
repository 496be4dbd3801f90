package subjects

import (
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
)

// Party is one kind of user of the servers.
type Party struct {
	Name string
	// Account that its user is in.
	Account     string
	Permissions Permissions
}

// Parties are all kinds of users of a fleet, one of each, agents and people of one name.
func (f Fleet) Parties(member string) []Party {
	parties := []Party{
		{RoleEnrolling, AccountAgents, f.RolePermissions(RoleEnrolling, member)},
		{RoleJoining, AccountAgents, f.RolePermissions(RoleJoining, member)},
		{RoleAgent, AccountAgents, f.RolePermissions(RoleAgent, member)},
		{InspectorUser, AccountHub, f.InspectorPermissions()},
		{HubUser, AccountHub, f.HubPermissions()},
	}
	for _, role := range api.Roles() {
		parties = append(parties, Party{string(role), AccountPeople, f.permissionsOf(member, role)})
	}
	return parties
}

// Probe is one thing that somebody may try.
type Probe struct {
	What    string
	Subject string
	// Subscribe is for hearing what is said on the subject, else it is published to.
	Subscribe bool
}

// MayDo says whether servers let who has the permissions do it.
func (p Permissions) MayDo(probe Probe) bool {
	patterns := p.Publish
	if probe.Subscribe {
		patterns = p.Subscribe
	}
	return slices.ContainsFunc(patterns, func(pattern string) bool { return covers(pattern, probe.Subject) })
}

// covers says that a pattern has every subject that another one has.
func covers(pattern, subject string) bool {
	p, s := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, token := range p {
		switch {
		case token == ">":
			return len(s) > i
		case i >= len(s), s[i] == ">":
			return false
		case token != "*" && token != s[i]:
			return false
		}
	}
	return len(p) == len(s)
}

// Probes is what parties are held against: each address, its own and that of others, each call of JetStream and
// of the server. Members are member, as which agents are probed, and another one.
func (f Fleet) Probes(member, another string) []Probe {
	all := f.probesOfMembers(member, another)
	all = append(all, f.probesOfPeople(member, another)...)
	all = append(all, f.probesOfHub()...)
	all = append(all, f.probesOfJetStream(member, another)...)
	return append(all, f.probesOfSubscribers(member, another)...)
}

func (f Fleet) probesOfMembers(member, another string) []Probe {
	var all []Probe
	for _, of := range []struct{ whose, name string }{{"its own", member}, {"another's", another}, {"everybody's", "*"}} {
		publish := func(what, subject string) { all = append(all, Probe{What: of.whose + " " + what, Subject: subject}) }
		publish("enrolment", f.Enrolment(of.name))
		publish("heartbeat", f.BucketSubject(Heartbeat, of.name))
		publish("results", f.BucketSubject(Result, ResultSlotKey(of.name, 0)))
		publish("results beyond the last slot", f.BucketSubject(Result, ResultSlotKey(of.name, ResultSlots)))
		publish("node", f.NodeEvent(of.name, "n1"))
		publish("inventory of nodes", f.NodeInventory(of.name))
		publish("inventory", f.Inventory(of.name))
		publish("command", f.Command(of.name, CommandPlacement))
		publish("change of its index", f.CommandDelta(of.name, 0))
		publish("hint", f.Hint(of.name, CommandPlacement))
		publish("inbox", Inbox(of.name)+".x")
	}
	return all
}

func (f Fleet) probesOfHub() []Probe {
	return []Probe{
		{What: "a record", Subject: f.BucketSubject(State, PlacementSpecs.Key("web"))},
		{What: "the term", Subject: f.BucketSubject(State, TermKey)},
		{What: "the lease", Subject: f.BucketSubject(Lease, LeaseKey)},
		{What: "content", Subject: f.BucketSubject(Content, strings.Repeat("0", 64))},
		{What: "an audit event", Subject: f.AuditEvent(KindPlacement, "web")},
		{What: "what a person did", Subject: f.Act(KindPlacement, "web")},
		{What: "who leads", Subject: f.Leads()},
		{What: "a forwarded request", Subject: f.Forward()},
		{What: "services of NATS", Subject: "$SRV.PING"},
		{What: "the server", Subject: "$SYS.REQ.SERVER.PING"},
		{What: "its account", Subject: "$SYS.REQ.ACCOUNT.PING.CONNZ"},
	}
}

// apiCalls are those of JetStream about one stream.
var apiCalls = []string{
	"STREAM.INFO", "STREAM.CREATE", "STREAM.UPDATE", "STREAM.DELETE", "STREAM.PURGE", "STREAM.MSG.GET", "STREAM.MSG.DELETE", "STREAM.SNAPSHOT",
	"STREAM.RESTORE", "STREAM.LEADER.STEPDOWN", "STREAM.PEER.REMOVE", "CONSUMER.CREATE", "CONSUMER.NAMES", "CONSUMER.LIST", "DIRECT.GET",
}

func (f Fleet) probesOfJetStream(member, another string) []Probe {
	var all []Probe
	for _, call := range []string{"INFO", "STREAM.NAMES", "STREAM.LIST", "STREAM.CREATE.OTHER", "ACCOUNT.PURGE.X", "META.LEADER.STEPDOWN"} {
		all = append(all, Probe{What: "JetStream", Subject: "$JS.API." + call})
	}
	for _, a := range Assets() {
		for _, call := range apiCalls {
			all = append(all, Probe{What: "JetStream, " + a.Short, Subject: "$JS.API." + call + "." + a.StreamName(f)})
		}
	}
	consumer := f.BucketStream(State) + ".c"
	for _, call := range []string{"CONSUMER.CREATE", "CONSUMER.DURABLE.CREATE", "CONSUMER.INFO", "CONSUMER.DELETE", "CONSUMER.MSG.NEXT", "CONSUMER.PAUSE"} {
		all = append(all, Probe{What: "JetStream, a consumer of " + State, Subject: "$JS.API." + call + "." + consumer})
	}
	read := func(what, stream, subject string) {
		all = append(all, Probe{What: "reading " + what, Subject: DirectGet(stream, subject)})
	}
	for _, of := range []struct{ whose, name string }{{"its own", member}, {"another's", another}, {"everybody's", "*"}} {
		read(of.whose+" command", f.Stream(Commands), f.Command(of.name, CommandPlacement))
		read(of.whose+" change of its index", f.Stream(Commands), f.CommandDelta(of.name, 0))
		read(of.whose+" node", f.Stream(Events), f.NodeEvent(of.name, "n1"))
		read(of.whose+" results", f.BucketStream(Result), f.BucketSubject(Result, ResultSlotKey(of.name, 0)))
		read(of.whose+" heartbeat", f.BucketStream(Heartbeat), f.BucketSubject(Heartbeat, of.name))
	}
	read("content", f.BucketStream(Content), f.BucketSubject(Content, strings.Repeat("0", 64)))
	read("a record", f.BucketStream(State), f.BucketSubject(State, PlacementSpecs.Key("web")))
	return all
}

func (f Fleet) probesOfSubscribers(member, another string) []Probe {
	var all []Probe
	hear := func(what, subject string) {
		all = append(all, Probe{What: "hearing " + what, Subject: subject, Subscribe: true})
	}
	hear("its own answers", Inbox(member)+".>")
	hear("another's answers", Inbox(another)+".>")
	hear("the answers to libraries without a prefix", "_INBOX.>")
	hear("its own hints", f.Hints(member))
	hear("another's hints", f.Hints(another))
	hear("everybody's hints", f.Hints("*"))
	hear("commands", f.AllCommands())
	hear("events", f.AllEvents())
	hear("who leads", f.Leads())
	hear("forwarded requests", f.Forward())
	hear("requests", f.APIGroup()+".>")
	hear("the fleet", f.Prefix()+".>")
	for _, everything := range []string{">", "*.>", "$KV.>", "$JS.>", "$SRV.>", "$SYS.>"} {
		hear("all", everything)
	}
	return all
}

// writeMatrix lists who may do what. Tests hold a server against it.
func writeMatrix(b *strings.Builder, f Fleet) {
	parties := f.Parties("<member>")
	b.WriteString("\n## Who may do what\n\nWhat servers let each kind of user publish to, or hear. In accounts other than `HUB` it goes no " +
		"further than what is exported to them.\n\n| what | subject |")
	for _, p := range parties {
		fmt.Fprintf(b, " %s |", p.Name)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(parties)) + "\n")
	for _, probe := range f.Probes("<member>", "<another>") {
		fmt.Fprintf(b, "| %s | `%s` |", probe.What, probe.Subject)
		for _, p := range parties {
			mark := ""
			if p.Permissions.MayDo(probe) {
				mark = "yes"
			}
			fmt.Fprintf(b, " %s |", mark)
		}
		b.WriteString("\n")
	}
}

package subjects

import "time"

// Permissions are subjects that a NATS user may publish and subscribe to.
type Permissions struct {
	Publish   []string
	Subscribe []string
}

// AgentTemplate stands for the member in the permissions of a scoped signing key: the server puts the
// name of the user there.
const AgentTemplate = "{{name()}}"

// AgentPermissions are exactly what the agent of one member may do in account AGENTS. Given
// AgentTemplate they are the template of the scoped signing key.
func (f Fleet) AgentPermissions(member string) Permissions {
	publish := []string{
		f.Enrolment(member),
		f.BucketSubject(Heartbeat, member),
		f.AllNodeEvents(member), f.NodeInventory(member), f.Inventory(member),
	}
	for slot := range ResultSlots {
		publish = append(publish, f.BucketSubject(Result, ResultSlotKey(member, slot)))
	}
	publish = append(publish,
		DirectGet(f.Stream(Commands), f.commandsOf(member)),
		DirectGet(f.BucketStream(Content), f.BucketSubject(Content, "*")),
		DirectGet(f.Stream(Events), f.memberEvents(member)),
		DirectGet(f.BucketStream(Result), f.BucketSubject(Result, member+".*")))
	return Permissions{
		Publish:   publish,
		Subscribe: []string{Inbox(member) + ".>", f.Hints(member)},
	}
}

// HubPermissions are what the hub may do in account HUB, which is its own: everything.
func (f Fleet) HubPermissions() Permissions {
	return Permissions{Publish: []string{">"}, Subscribe: []string{">"}}
}

// Names of the users of account HUB.
const (
	HubUser       = "hub"
	InspectorUser = "inspector"
)

// ClaimsUser is the name of the user of account SYS by which a hub has servers of others go by changed accounts.
const ClaimsUser = "claims"

// PushAccount is where account SYS takes the signed claims of an account; every server whose resolver keeps
// accounts answers.
const PushAccount = "$SYS.REQ.CLAIMS.UPDATE"

// LookUpAccount is where servers are asked for the signed claims of an account, by its public key.
func LookUpAccount(key string) string { return "$SYS.REQ.ACCOUNT." + key + ".CLAIMS.LOOKUP" }

// ServerHeard is where each server of account SYS says that it is there, first within a second of its start, and
// LeafLinked where it says that a leaf node linked up.
const (
	ServerHeard = "$SYS.SERVER.*.STATSZ"
	LeafLinked  = "$SYS.ACCOUNT.*.LEAFNODE.CONNECT"
)

// ConnectionOpened and ConnectionClosed are where servers say on account SYS who came and who left, and ListConnections where each of
// them is asked who is there.
const (
	ConnectionOpened = "$SYS.ACCOUNT.*.CONNECT"
	ConnectionClosed = "$SYS.ACCOUNT.*.DISCONNECT"
	ListConnections  = "$SYS.REQ.SERVER.PING.CONNZ"
)

// CutConnection is where a server of an id is asked to cut a connection.
func CutConnection(server string) string { return "$SYS.REQ.SERVER." + server + ".KICK" }

// ClaimsPermissions are what ClaimsUser may do in account SYS: read and push accounts, hear which servers come and
// what they are told, and who connects, and have connections cut.
func ClaimsPermissions() Permissions {
	return Permissions{
		Publish:   []string{LookUpAccount("*"), PushAccount, ListConnections, CutConnection("*")},
		Subscribe: []string{Inbox(ClaimsUser) + ".>", ServerHeard, LeafLinked, PushAccount, ConnectionOpened, ConnectionClosed},
	}
}

// FirstPerson is the name of the admin whom the hub that runs a server of its own makes.
const FirstPerson = "admin"

// Names of the accounts.
const (
	AccountHub    = "HUB"    // the hub; the only one with JetStream
	AccountAgents = "AGENTS" // all agents
	AccountPeople = "PEOPLE" // all people
	AccountSystem = "SYS"    // of NATS itself
)

// Export is a subject that account HUB offers and another account imports.
type Export struct {
	Name    string
	Subject string
	// As is what the other account calls it; empty: the same.
	As string
	// Stream is true when messages flow from HUB to the other account, false for requests to HUB.
	Stream bool
	// Tells says that servers tell HUB who sent a request, and from where.
	Tells bool
	// Within is for how long servers keep the way back to who sent a request that nobody answers; 0: for their two minutes.
	Within time.Duration
}

// agentsWait is for how long servers keep the way back to an agent: longer than any agent waits for an answer, and who asks to be enrolled
// waits longest, until the member is admitted.
const agentsWait, enrolmentWaits = 15 * time.Second, 45 * time.Second

// Exports is all that crosses the border between the accounts HUB and AGENTS.
func (f Fleet) Exports() []Export {
	return []Export{
		{Name: "enrolment", Subject: f.Enrolment("*"), Tells: true, Within: enrolmentWaits},
		{Name: "heartbeats", Subject: f.BucketSubject(Heartbeat, ">"), Within: agentsWait},
		{Name: "results", Subject: f.BucketSubject(Result, ">"), Within: agentsWait},
		{Name: "node events", Subject: f.AllEvents(), Within: agentsWait},
		f.read("commands by exact subject", f.Stream(Commands), f.AllCommands()),
		f.read("content by digest", f.BucketStream(Content), f.BucketSubject(Content, ">")),
		f.read("events by exact subject", f.Stream(Events), f.AllEvents()),
		f.read("results by exact subject", f.BucketStream(Result), f.BucketSubject(Result, ">")),
		{Name: "hints", Subject: f.Prefix() + ".hint.>", Stream: true},
	}
}

// read is what agents ask a stream for by direct get, and hubs answer, who are told whose connections to cut.
func (f Fleet) read(name, stream, subject string) Export {
	return Export{Name: name, Subject: f.Reading(stream, subject), As: DirectGet(stream, subject), Tells: true, Within: agentsWait}
}

package subjects

import "fmt"

// Asset is one bucket or stream.
type Asset struct {
	// Short is the constant of this package that names it, State or Commands.
	Short  string
	Bucket bool
	// Description is what NATS tools show.
	Description string
}

// Name is the full name, of the bucket or of the stream.
func (a Asset) Name(f Fleet) string {
	if a.Bucket {
		return f.Bucket(a.Short)
	}
	return f.Stream(a.Short)
}

// StreamName is the full name of the stream, also of the one under a bucket.
func (a Asset) StreamName(f Fleet) string {
	if a.Bucket {
		return f.BucketStream(a.Short)
	}
	return f.Stream(a.Short)
}

// Subjects are what the stream takes in.
func (a Asset) Subjects(f Fleet) []string {
	switch {
	case a.Bucket:
		return []string{f.BucketSubject(a.Short, ">")}
	case a.Short == Events:
		return []string{f.AllEvents()}
	case a.Short == Commands:
		return []string{f.AllCommands()}
	case a.Short == Acts:
		return []string{f.AllActs()}
	default:
		return []string{f.AllAudit()}
	}
}

// Assets lists every bucket and stream of a fleet.
func Assets() []Asset {
	return []Asset{
		{State, true, "Records of the hub: specs, snapshots, members, schedules, releases, statuses. Written by the leading hub alone."},
		{Lease, true, "Who leads: key hub, with a time to live."},
		{Census, true, "Which records bucket state holds, with their revisions: names what a damaged file took away."},
		{Content, true, "Bodies of objects and work documents, sealed, written once."},
		{Heartbeat, true, "Newest heartbeat of each member, written by its agent."},
		{Result, true, "Newest results of each member in a fixed number of batches, written by its agent."},
		{Events, false, "Newest state of each node of each member, and its inventories, written by its agent."},
		{Commands, false, "Wanted state of each member, newest only; announced on the hint subjects."},
		{Audit, false, "What happened to each object, for people: 90 days."},
		{Acts, false, "What people did, as stream AUDIT told of it, where nothing that members cause takes its room: a year."},
	}
}

// Address is one line of the address book: where something lies, who writes and who reads it.
type Address struct {
	// In is the bucket or stream, full name; empty for plain subjects.
	In string
	// Pattern is the key or subject; <…> stands for one encoded token.
	Pattern string
	Holds   string
	Writer  string
	Readers string
}

const each = "<name>"

// Addresses is the whole address book of a fleet.
func (f Fleet) Addresses() []Address {
	book := f.records()
	book = append(book, f.otherBuckets()...)
	return append(book, f.plain()...)
}

func (f Fleet) records() []Address {
	in := f.Bucket(State)
	var book []Address
	for _, r := range records {
		readers := r.Readers
		if len(readers) == 0 {
			readers = r.Writers
		}
		book = append(book, Address{in, r.Family.Prefix() + r.Token, r.Holds, listed(r.Writers), listed(readers)})
	}
	return append(book, []Address{
		{in, TermKey, "who leads; fences every other write", "leader", "hubs"},
		{in, TallyKey, "nothing: its header counts all records, as that of every other write does, after a deletion", "leader", "leader"},
		{in, RestoringKey, "a restore is under way", "leader", "hubs"},
		{in, LayoutKey, "number of the last layout step; names of the secrets that content is sealed with", "leader", "hubs"},
	}...)
}

func (f Fleet) otherBuckets() []Address {
	return []Address{
		{f.Bucket(Lease), LeaseKey, "the holder of the lease", "leader", "hubs"},
		{f.Bucket(Census), CensusHead, "which pages count, and how far they reach", "leader", "hubs"},
		{f.Bucket(Census), "page.<generation>.<n>", "all records with their revisions", "leader", "hubs"},
		{f.Bucket(Census), "entry.<generation>.<n>", "what changed since", "leader", "hubs"},
		{f.Bucket(Census), RescueHead, "all records are kept here: the stream of state is being made anew without what is damaged", "leader", "hubs"},
		{f.Bucket(Census), RescuePrefix + "<key>", "a record of state, while that is so", "leader", "hubs"},
		{f.Bucket(Census), RescueGonePrefix + "<key>", "the note that a record was deleted with, while that is so", "leader", "hubs"},
		{f.Bucket(Content), "<place>", "a body or a work document, sealed; the place is a keyed digest", "leader", "agents"},
		{f.Bucket(Heartbeat), "<member>", "the newest heartbeat", "that agent", "registrar"},
		{f.Bucket(Result), "<member>.<slot>", fmt.Sprintf("the newest results of those kinds and names that fall in slot 0 to %d", ResultSlots-1), "that agent", "roller, reporter, runner, disruptor"},
	}
}

func (f Fleet) plain() []Address {
	return []Address{
		{f.Stream(Events), f.Prefix() + ".event.<member>.node.<node>", "the whole state of a node", "that agent", "disruptor"},
		{f.Stream(Events), f.NodeInventory("<member>"), "which nodes a member has, pods without one, budgets", "that agent", "disruptor"},
		{f.Stream(Events), f.Inventory("<member>"), "versions, node pools and windows of a member", "that agent", "runner, door"},
		{f.Stream(Commands), f.Command("<member>", "<kind>"), "wanted state; kind is placement, upgrade or disruption", "dispatcher", "that agent, by direct get"},
		{f.Stream(Commands), f.Command("<member>", CommandPlacement) + ".<slot>", fmt.Sprintf("changes of an index since it was stored whole, in slots 0 to %d", CommandSlots-1), "dispatcher", "that agent, by direct get"},
		{"", f.Hint("<member>", "<kind>"), "a newer command is stored; headers only", "the server", "that agent"},
		{f.Stream(Audit), f.Prefix() + ".audit.<kind>." + each, "what happened to an object", "rooms", "clients"},
		{f.Stream(Acts), f.Prefix() + ".act.<kind>." + each, "what a person did to an object", "leader", "clients"},
		{"", f.Enrolment("<member>"), "an agent asks for credentials", "that agent", "enroller"},
		{"", f.apiOf("<role>", "<person>") + ".<access>.<verb>", "requests to the hub", "that person", "door"},
		{"", f.Forward(), "what the page of a hub that does not lead was asked, sealed", "hubs", "leader"},
		{"", f.Leads(), "the sender leads now and answers requests", "leader", "clients that wait for an answer"},
	}
}

package subjects

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/verdict"
)

// The families of bucket state. Names are as Key takes them: of a placement "web" or "ns/web", of a
// member its name, of an object "group|kind|namespace|name", of a snapshot "<placement>.<index>".
var (
	PlacementSpecs       = Family{prefix: "spec.placement."}
	OverrideSpecs        = Family{prefix: "spec.override."}
	MemberSpecs          = Family{prefix: "spec.member."}
	ObjectSpecs          = Family{prefix: "spec.object."}
	RunSpecs             = Family{prefix: "spec.run."}
	StrategySpecs        = Family{prefix: "spec.strategy."}
	StagedStrategySpecs  = Family{prefix: "spec.stagedstrategy."}
	ProfileSpecs         = Family{prefix: "spec.profile."}
	CatalogSpecs         = Family{prefix: "spec.catalog."}
	MaintenanceSpecs     = Family{prefix: "spec.maintenance."}
	PoolSpecs            = Family{prefix: "spec.nodepool."}
	InstanceCatalogSpecs = Family{prefix: "spec.instances."}
	EvictionSpecs        = Family{prefix: "spec.eviction."}
	BudgetSpecs          = Family{prefix: "spec.budget."}
	CheckSpecs           = Family{prefix: "spec.check."}
	Snapshots            = Family{prefix: "snapshot.", indexed: true}
	Members              = Family{prefix: "member."}
	Schedules            = Family{prefix: "schedule."}
	Verdicts             = Family{prefix: "verdict."}
	Evictions            = Family{prefix: "eviction."}
	Renderings           = Family{prefix: "rendered."}
	Releases             = Family{prefix: "release."}
	Checks               = Family{prefix: "check."}
	Statuses             = Family{prefix: "status."}
	Runs                 = Family{prefix: "run."}
	Profiles             = Family{prefix: "profile."}
	Locks                = Family{prefix: "lock."}
	Disruptions          = Family{prefix: "disruption."}
	Pools                = Family{prefix: "pool."}
	Notifications        = Family{prefix: "notification."}
	Users                = Family{prefix: "user."}
	Identities           = Family{prefix: "identity."}
	Freezes              = Family{prefix: "freeze."}
	Approvals            = Family{prefix: "approval."}
	Sessions             = Family{prefix: "session."}
)

// Room is a part of the hub that reads and writes records; it has the name of its package.
type Room string

// The rooms that records are of.
const (
	Checker    Room = "checker"
	Dispatcher Room = "dispatcher"
	Disruptor  Room = "disruptor"
	Door       Room = "door"
	Enroller   Room = "enroller"
	Hubd       Room = "hubd"
	Notifier   Room = "notifier"
	Registrar  Room = "registrar"
	Renderer   Room = "renderer"
	Reporter   Room = "reporter"
	Roller     Room = "roller"
	Runner     Room = "runner"
	Salvage    Room = "salvage"
	Scheduler  Room = "scheduler"
)

// Record is one kind of record in bucket state: what it is, who writes it, and who else reads it. The table of them is
// the one source: bus gives rooms what it says, SUBJECTS.md shows it, and a test holds the rooms against it. Salvage
// writes only while no other room runs.
type Record struct {
	Family Family
	// Word is what people call one, before its name, empty where they go by its key; Token is the last part of its keys, in the document.
	Word, Token string
	// Value is one of the type that is stored.
	Value   any
	Holds   string
	Writers []Room
	Readers []Room
}

func rooms(all ...Room) []Room { return all }

// records is in the order of the document.
var records = []Record{
	{PlacementSpecs, "placement", "<placement>", api.Spec{}, "a placement as applied", rooms(Door), rooms(Checker, Hubd, Renderer, Reporter, Roller, Runner, Salvage, Scheduler)},
	{OverrideSpecs, "override", "<override>", api.Spec{}, "an override as applied, with digests in the place of what it puts into Secrets", rooms(Door), rooms(Renderer, Roller)},
	{MemberSpecs, "member", "<member>", api.Spec{}, "a MemberCluster as applied", rooms(Door), rooms(Checker, Dispatcher, Disruptor, Enroller, Registrar, Renderer, Reporter, Roller, Runner, Salvage, Scheduler)},
	{ObjectSpecs, "object", "<object>", api.Spec{}, "head of a content object: digest, labels", rooms(Door), rooms(Disruptor)},
	{RunSpecs, "update run", "<run>", api.Spec{}, "an update run as applied, or as made of a profile, or a staged run of content as applied", rooms(Door), rooms(Dispatcher, Runner)},
	{StrategySpecs, "update strategy", "<strategy>", api.Spec{}, "an update strategy as applied", rooms(Door), rooms(Runner)},
	{StagedStrategySpecs, "staged strategy", "<strategy>", api.Spec{}, "a strategy of staged runs of content as applied", rooms(Door), rooms(Runner)},
	{ProfileSpecs, "auto-upgrade profile", "<profile>", api.Spec{}, "an auto-upgrade profile as applied", rooms(Door), rooms(Runner)},
	{CatalogSpecs, "version catalog", "<catalog>", api.Spec{}, "which versions are published where", rooms(Door), rooms(Runner)},
	{MaintenanceSpecs, "maintenance of member", "<member>", api.Spec{}, "the maintenance windows of a member", rooms(Door), rooms(Runner)},
	{PoolSpecs, "node pool", "<pool>", api.Spec{}, "a node pool as applied", rooms(Door), rooms(Disruptor)},
	{InstanceCatalogSpecs, "instance catalog", "<catalog>", api.Spec{}, "instance types, offerings and prices as applied", rooms(Door), rooms(Disruptor)},
	{EvictionSpecs, "eviction", "<eviction>", api.Spec{}, "an eviction as applied", rooms(Door), rooms(Scheduler)},
	{BudgetSpecs, "disruption budget", "<placement>", api.Spec{}, "the disruption budget of the placement of its name", rooms(Door), rooms(Scheduler)},
	{CheckSpecs, "rollout check", "<check>", api.Spec{}, "what has to hold while content goes out, as applied", rooms(Door), rooms(Checker)},
	{Snapshots, "snapshot", "<placement>.<index>", api.Snapshot{}, "what a placement selected, never changed", rooms(Door, Salvage), rooms(Checker, Renderer, Reporter, Roller, Runner)},
	{Members, "state of member", "<member>", api.MemberRecord{}, "state, labels and properties of a member", rooms(Registrar), rooms(Checker, Dispatcher, Disruptor, Door, Hubd, Renderer, Reporter, Roller, Runner, Salvage, Scheduler)},
	{Schedules, "schedule of", "<placement>", api.Schedule{}, "bindings with the scores of their pick", rooms(Scheduler, Salvage), rooms(Checker, Door, Hubd, Renderer, Reporter, Roller, Runner)},
	{Verdicts, "verdicts of", "<placement>", verdict.Verdicts{}, "why each member was picked or not", rooms(Scheduler, Salvage), rooms(Door)},
	{Evictions, "outcome of eviction", "<eviction>", api.EvictionRecord{}, "what became of an eviction, written once", rooms(Scheduler), rooms(Door)},
	{Renderings, "rendering of", "<placement>", api.Rendered{}, "what overrides make of the newest snapshot on each bound member", rooms(Renderer), rooms(Door, Roller)},
	{Releases, "release of", "<placement>", api.Release{}, "which snapshot each binding may run", rooms(Roller, Salvage), rooms(Checker, Dispatcher, Door, Hubd, Renderer, Reporter, Runner, Scheduler)},
	{Checks, "checks of", "<placement>", api.CheckRecord{}, "how a snapshot does that goes out under checks, and which one is refused", rooms(Checker), rooms(Door, Reporter, Roller, Runner)},
	{Statuses, "status of", "<placement>", api.PlacementStatus{}, "conditions, counts, first failures", rooms(Reporter, Salvage), rooms(Door, Hubd)},
	{Runs, "state of update run", "<run>", api.UpdateRunStatus{}, "state of an update run or a staged run of content: its whole tree, frozen membership, gates", rooms(Runner), rooms(Checker, Dispatcher, Disruptor, Door, Hubd, Renderer, Roller)},
	{Profiles, "state of profile", "<profile>", api.AutoUpgradeProfileStatus{}, "what an auto-upgrade profile last did", rooms(Runner), rooms(Door)},
	{Locks, "lock of member", "<member>", api.MemberLock{}, "which operation may change the member now; created, never overwritten", rooms(Disruptor, Runner), rooms(Door, Salvage, Scheduler)},
	{Disruptions, "disruptions of member", "<member>", api.DisruptionRecord{}, "node disruptions decided and not yet seen finished", rooms(Disruptor), rooms(Dispatcher, Door, Runner, Salvage)},
	{Pools, "state of node pool", "<pool>", api.PoolRecord{}, "state and lint of a node pool over its members", rooms(Disruptor), rooms(Door)},
	{Notifications, "notification", "<notification>", api.NotificationPosition{}, "how far into the audit stream a notification has come", rooms(Notifier), nil},
	{Users, "", "<person>", api.User{}, "who a person is: role, public key, end and revocation of the credentials", rooms(Door), rooms(Hubd, Salvage)},
	{Identities, "identity of member", "<member>", api.Identity{}, "keys of a member's agent, ends of its credentials, tokens that were made for it", rooms(Enroller), rooms(Dispatcher, Door, Hubd, Registrar, Salvage)},
	{Freezes, "freeze of", "<scope>", api.Freeze{}, "who froze the fleet, placements, runs, nodes or one member, and why; or who ended that", rooms(Door), rooms(Checker, Disruptor, Hubd, Reporter, Roller, Runner, Scheduler)},
	{Approvals, "approval of", "<placement or member>", api.WithdrawalApproval{}, "what somebody let go of withdrawals that were held", rooms(Door), rooms(Roller)},
	{Sessions, "", "<hash>", api.Session{}, "whose a link to the page, a session of it or a token is, and until when, under the SHA-256 of its secret", rooms(Door), rooms(Salvage)},
}

// Records is the table of all kinds of records.
func Records() []Record { return slices.Clone(records) }

// SpecsOf is the family of the specs of a kind, by its token; false when there is none.
func SpecsOf(token string) (Family, bool) {
	at := slices.IndexFunc(records, func(r Record) bool { return r.Family.prefix == "spec."+token+"." })
	if at < 0 {
		return Family{}, false
	}
	return records[at].Family, true
}

// Reads says whether a room reads records, as whoever writes them does.
func (r *Record) Reads(room Room) bool {
	return r.Writes(room) || slices.Contains(r.Readers, room)
}

// Writes says whether a room writes records.
func (r *Record) Writes(room Room) bool { return slices.Contains(r.Writers, room) }

// MayRead is an error unless the table of records has a room read those of a family as values of a type.
func MayRead(room Room, family Family, value reflect.Type) error {
	return may(room, family, value, "reads", (*Record).Reads)
}

// MayWrite is MayRead for whoever writes.
func MayWrite(room Room, family Family, value reflect.Type) error {
	return may(room, family, value, "writes", (*Record).Writes)
}

func may(room Room, family Family, value reflect.Type, does string, allowed func(*Record, Room) bool) error {
	at := slices.IndexFunc(records, func(r Record) bool { return r.Family == family })
	switch {
	case at < 0:
		return fmt.Errorf("%s %s records %s, of which the table in package subjects has none", room, does, family.Prefix())
	case reflect.TypeOf(records[at].Value) != value:
		return fmt.Errorf("%s %s %s as records %s, which are %T", room, does, value, family.Prefix(), records[at].Value)
	case !allowed(&records[at], room):
		return fmt.Errorf("%s %s records %s, and the table in package subjects does not say so", room, does, family.Prefix())
	}
	return nil
}

func listed(all []Room) string {
	names := make([]string, len(all))
	for i, room := range all {
		names[i] = string(room)
	}
	return strings.Join(names, ", ")
}

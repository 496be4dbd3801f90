package subjects

import (
	"fmt"
	"strconv"
	"strings"

	"flotilla/core/api"
)

// Keys of bucket state that stand alone, and the one key of bucket lease.
const (
	TermKey   = "term"
	TallyKey  = "tally"
	LayoutKey = "layout"
	LeaseKey  = "hub"
	// RestoringKey is there while a restore puts other records in the place of those that are there.
	RestoringKey = "restoring"
)

// CensusHead is the key of bucket census that says which pages count.
const CensusHead = "head"

// RescueHead is the key of bucket census that says that all records of state are kept there, while its stream is made
// anew.
const RescueHead = "rescue"

// RescuePrefix is that of the keys of such records: behind it stands the key of each.
const RescuePrefix = "rescue."

// RescueGonePrefix is that of the keys of notes with which records were deleted.
const RescueGonePrefix = "rescuegone."

// CensusPage is the key of one page of all records, of a generation, from 0.
func CensusPage(generation uint64, page int) string {
	return fmt.Sprintf("page.%d.%d", generation, page)
}

// CensusPages are the keys of all pages of a generation.
func CensusPages(generation uint64) string { return fmt.Sprintf("page.%d.*", generation) }

// CensusEntry is the key of one list of changes since the pages of a generation were written, from 0.
func CensusEntry(generation uint64, entry int) string {
	return fmt.Sprintf("entry.%d.%d", generation, entry)
}

// CensusEntries are the keys of all such lists of a generation.
func CensusEntries(generation uint64) string { return fmt.Sprintf("entry.%d.*", generation) }

// Kinds of specs that the hub names: the <kind> token of spec.<kind>.<name>, and of audit.<kind>.<name>; package validate
// has those of all kinds.
const (
	KindPlacement = api.AuditPlacement // name "web" or "ns/web"
	KindMember    = api.AuditMember    // name of the member
	KindObject    = "object"           // name "group|kind|namespace|name"
	KindRun       = api.AuditRun       // name of the update run
	KindProfile   = api.AuditProfile   // name of the auto-upgrade profile
	KindNodePool  = api.AuditNodePool  // name of the node pool
)

// KindUser is the kind of a person in audit events alone.
const KindUser = "user"

// KindNode is the kind of a node in audit events alone; its name is made by NodeName.
const KindNode = api.AuditNode

// NodeName is the name of a node of a member in audit events, "<member>/<node>".
func NodeName(member, node string) string { return member + "/" + node }

// Kinds of commands and results: the <kind> token of command.<member>.<kind>.
const (
	CommandPlacement  = "placement"
	CommandUpgrade    = "upgrade"
	CommandDisruption = "disruption"
)

// CommandKinds lists the kinds of commands.
func CommandKinds() []string {
	return []string{CommandPlacement, CommandUpgrade, CommandDisruption}
}

// Family is one kind of record in bucket state: all keys under one prefix, each with a name.
type Family struct {
	prefix  string // with the final dot
	indexed bool   // the last token is a number
}

// Prefix is what every key of the family begins with, final dot included.
func (f Family) Prefix() string { return f.prefix }

// Key is the key of the record with that name.
func (f Family) Key(name string) string {
	if f.indexed {
		if parent, index, ok := SplitSnapshot(name); ok {
			return f.prefix + Encode(parent) + "." + strconv.FormatInt(index, 10)
		}
	}
	return f.prefix + Encode(name)
}

// Name is the inverse of Key; false when the key is not of the family.
func (f Family) Name(key string) (string, bool) {
	rest, ok := cutPrefix(key, f.prefix)
	if !ok {
		return "", false
	}
	if !f.indexed {
		name, err := Decode(rest)
		return name, err == nil
	}
	parent, index, ok := SplitSnapshot(rest)
	if !ok {
		return "", false
	}
	name, err := Decode(parent)
	return SnapshotName(name, index), err == nil
}

// Group is the part of a name that related records share: the placement of a snapshot, else the
// name itself.
func (f Family) Group(name string) string {
	if f.indexed {
		if parent, _, ok := SplitSnapshot(name); ok {
			return parent
		}
	}
	return name
}

// SnapshotName is the name of a snapshot in its family, "<placement>.<index>".
func SnapshotName(placement string, index int64) string {
	return placement + "." + strconv.FormatInt(index, 10)
}

// SplitSnapshot is the inverse of SnapshotName; the last dot separates.
func SplitSnapshot(name string) (placement string, index int64, ok bool) {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return "", 0, false
	}
	index, err := strconv.ParseInt(name[dot+1:], 10, 64)
	return name[:dot], index, err == nil && strconv.FormatInt(index, 10) == name[dot+1:]
}

// ResultKey is the key of a result in bucket result, "<member>.<kind>.<name>".
func ResultKey(member, kind, name string) string {
	return member + "." + kind + "." + Encode(name)
}

// ParseResultKey is the inverse of ResultKey; false for keys an agent should not have written, those
// that hold wildcards included.
func ParseResultKey(key string) (member, kind, name string, ok bool) {
	parts := strings.Split(key, ".")
	if len(parts) != 3 || CheckLabel("member", parts[0]) != nil || CheckLabel("kind", parts[1]) != nil {
		return "", "", "", false
	}
	name, err := Decode(parts[2])
	return parts[0], parts[1], name, err == nil
}

func cutPrefix(s, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(s, prefix)
	return rest, ok && rest != ""
}

package subjects

import (
	"fmt"
	"strconv"
	"strings"
)

// Keys of bucket state that stand alone, and the one key of bucket lease.
const (
	TermKey   = "term"
	LayoutKey = "layout"
	LeaseKey  = "hub"
)

// Kinds of specs: the <kind> token of spec.<kind>.<name>, and of audit.<kind>.<name>.
const (
	KindPlacement   = "placement"   // name "web" or "ns/web"
	KindMember      = "member"      // name of the member
	KindObject      = "object"      // name made by ObjectName
	KindRun         = "run"         // name of the update run
	KindStrategy    = "strategy"    // name of the update strategy
	KindProfile     = "profile"     // name of the auto-upgrade profile
	KindCatalog     = "catalog"     // name of the version catalog
	KindMaintenance = "maintenance" // name of the member
)

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

// The families of bucket state. Names are as Key takes them: of a placement "web" or "ns/web", of a
// member its name, of an object what ObjectName makes, of a snapshot "<placement>.<index>".
var (
	PlacementSpecs   = Family{prefix: "spec.placement."}
	MemberSpecs      = Family{prefix: "spec.member."}
	ObjectSpecs      = Family{prefix: "spec.object."}
	RunSpecs         = Family{prefix: "spec.run."}
	StrategySpecs    = Family{prefix: "spec.strategy."}
	ProfileSpecs     = Family{prefix: "spec.profile."}
	CatalogSpecs     = Family{prefix: "spec.catalog."}
	MaintenanceSpecs = Family{prefix: "spec.maintenance."}
	Snapshots        = Family{prefix: "snapshot.", indexed: true}
	Members          = Family{prefix: "member."}
	Schedules        = Family{prefix: "schedule."}
	Verdicts         = Family{prefix: "verdict."}
	Releases         = Family{prefix: "release."}
	Statuses         = Family{prefix: "status."}
	Runs             = Family{prefix: "run."}
	Profiles         = Family{prefix: "profile."}
	Locks            = Family{prefix: "lock."}
	Notifications    = Family{prefix: "notification."}
)

// Specs is the family of the specs of one kind.
func Specs(kind string) Family { return Family{prefix: "spec." + Encode(kind) + "."} }

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

// ObjectName is the name of a content object in family ObjectSpecs.
func ObjectName(apiVersion, kind, namespace, name string) string {
	return strings.Join([]string{apiVersion, kind, namespace, name}, "|")
}

// ParseObjectName is the inverse of ObjectName.
func ParseObjectName(object string) (apiVersion, kind, namespace, name string, err error) {
	parts := strings.Split(object, "|")
	if len(parts) != 4 {
		return "", "", "", "", fmt.Errorf("object name %q: expected apiVersion|kind|namespace|name", object)
	}
	return parts[0], parts[1], parts[2], parts[3], nil
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

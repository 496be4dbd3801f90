package subjects

import "strings"

// SpecPrefix begins the keys of what people wrote, in bucket state.
const SpecPrefix = "spec."

// recordWords is what people call the records of a family.
var recordWords = []struct {
	family Family
	word   string
}{
	{PlacementSpecs, "placement"},
	{MemberSpecs, "member"},
	{RunSpecs, "update run"},
	{StrategySpecs, "update strategy"},
	{ProfileSpecs, "auto-upgrade profile"},
	{CatalogSpecs, "version catalog"},
	{MaintenanceSpecs, "maintenance of member"},
	{PoolSpecs, "node pool"},
	{InstanceCatalogSpecs, "instance catalog"},
	{Snapshots, "snapshot"},
	{Members, "state of member"},
	{Schedules, "schedule of"},
	{Verdicts, "verdicts of"},
	{Releases, "release of"},
	{Statuses, "status of"},
	{Runs, "state of update run"},
	{Profiles, "state of profile"},
	{Locks, "lock of member"},
	{Disruptions, "disruptions of member"},
	{Pools, "state of node pool"},
	{Notifications, "notification"},
	{Identities, "identity of member"},
}

// RecordName is a record of bucket state as people know it, "placement web", by its key.
func RecordName(key string) string {
	if name, ok := ObjectSpecs.Name(key); ok {
		return objectName(name)
	}
	for _, r := range recordWords {
		if name, ok := r.family.Name(key); ok {
			return r.word + " " + name
		}
	}
	return "record " + key
}

// objectName is "ConfigMap shop/a" of "|ConfigMap|shop|a".
func objectName(name string) string {
	parts := strings.Split(name, "|")
	if len(parts) != 4 {
		return "object " + name
	}
	if parts[2] == "" {
		return parts[1] + " " + parts[3]
	}
	return parts[1] + " " + parts[2] + "/" + parts[3]
}

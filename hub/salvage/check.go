package salvage

import (
	"fmt"
	"maps"
	"slices"

	"flotilla/bus"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/strict"
	"flotilla/subjects"
)

// mostNamed is how many records of a backup are named that cannot be stored.
const mostNamed = 20

// check refuses records that no server stores, or that nobody could read, all at once: one of them would break a restore off in the middle,
// and nobody leads on what is left then.
func check(fleet subjects.Fleet, records map[string][]byte) error {
	var faults strict.Faults
	for _, key := range slices.Sorted(maps.Keys(records)) {
		found, expected := fleet.KeyFault(subjects.State, key)
		if value := records[key]; found == "" && store.CheckRecord(key, value) != nil {
			found, expected = fmt.Sprintf("a value of %d bytes", len(value)), fmt.Sprintf("some, and at most %d once they are compressed", bus.MaxValue)
		}
		faults = noting(faults, key, found, expected)
	}
	return refused("record", "records", faults)
}

// recordsOf are those among entries, by key.
func recordsOf(entries []api.BackupEntry) map[string][]byte {
	records := map[string][]byte{}
	for i := range entries {
		if e := &entries[i]; e.Content == "" {
			records[e.Record] = e.Value
		}
	}
	return records
}

// checkContent refuses content whose places are none.
func checkContent(fleet subjects.Fleet, entries []api.BackupEntry) error {
	var faults strict.Faults
	for i := range entries {
		if e := &entries[i]; e.Content != "" {
			found, expected := fleet.KeyFault(subjects.Content, e.Content)
			faults = noting(faults, e.Content, found, expected)
		}
	}
	return refused("body", "bodies", faults)
}

// noting adds what was found of a key, if anything was.
func noting(faults strict.Faults, key, found, expected string) strict.Faults {
	if found == "" {
		return faults
	}
	return append(faults, strict.Fault{Object: fmt.Sprintf("%.100q", key), Found: found, Expected: expected})
}

func refused(one, many string, faults strict.Faults) error {
	if len(faults) == 0 {
		return nil
	}
	f := &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("%d %s of the backup cannot be stored; nothing was changed", len(faults), phrase.Plural(len(faults), one, many)), Next: "flotilla backup --help"}
	if f.Faults = faults; len(faults) > mostNamed {
		f.Message += fmt.Sprintf("; the first %d are named", mostNamed)
		f.Faults = faults[:mostNamed]
	}
	return f
}

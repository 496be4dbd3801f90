package bus

import (
	"fmt"
	"strings"

	"flotilla/core/api"
	"flotilla/subjects"
)

// shownRecords is how many records a text names before it counts the others.
const shownRecords = 20

// String is one line for people: "2 records gone: placement web, member oslo".
func (d *Damage) String() string {
	if d.Interrupted {
		return "a restore was broken off"
	}
	var parts []string
	for _, part := range []struct {
		keys []string
		text string
	}{{d.Gone, "gone"}, {d.Older, "gone back to an older version"}, {d.Deleted, "back after they were deleted"}} {
		if len(part.keys) > 0 {
			parts = append(parts, fmt.Sprintf("%s %s: %s", records(len(part.keys)), part.text, recordNames(part.keys)))
		}
	}
	if d.Unnamed > 0 {
		parts = append(parts, fmt.Sprintf("%s gone whose names were not noted yet", records(d.Unnamed)))
	}
	if d.UpTo > 0 {
		parts = append(parts, fmt.Sprintf("all writes after sequence %d, up to %d, are gone", d.After, d.UpTo))
	}
	if d.Blocks > 0 {
		parts = append(parts, fmt.Sprintf("the server says that it lost %d messages of damaged files", d.Blocks))
	}
	if len(parts) == 0 {
		parts = append(parts, "the records that are there are not those that were stored")
	}
	return strings.Join(parts, "; ")
}

func records(n int) string {
	if n == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", n)
}

// recordNames lists records as people know them, those that they wrote first.
func recordNames(keys []string) string {
	var written, derived []string
	for _, key := range keys {
		if name := subjects.RecordName(key); strings.HasPrefix(key, subjects.SpecPrefix) {
			written = append(written, name)
		} else {
			derived = append(derived, name)
		}
	}
	names := append(written, derived...)
	if more := len(names) - shownRecords; more > 0 {
		names = append(names[:shownRecords], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// lossEvent tells of what is lost, in the audit stream.
func lossEvent(reason, text string) api.Audit {
	return api.Audit{Object: "fleet/state", Type: "Warning", Reason: reason, By: "hub", Message: text}
}

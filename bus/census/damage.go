package census

import (
	"fmt"
	"strings"

	"flotilla/bus"
	"flotilla/subjects"
)

const (
	// shownRecords is how many records a line of all damage names before it counts the others.
	shownRecords = 20
	// eventNames is for how many bytes of names an event has room.
	eventNames = bus.MaxAudit / 2
)

// String is one line for people: "2 records gone: placement web, member oslo".
func (d *Damage) String() string {
	if d.Interrupted {
		return "a restore was broken off"
	}
	var parts []string
	for _, part := range d.kinds() {
		names := append(part.written, part.derived...)
		if more := len(names) - shownRecords; more > 0 {
			names = append(names[:shownRecords:shownRecords], fmt.Sprintf("and %d more", more))
		}
		parts = append(parts, fmt.Sprintf("%s %s: %s", records(len(part.written)+len(part.derived)), part.text, strings.Join(names, ", ")))
	}
	parts = append(parts, d.rest()...)
	if len(parts) == 0 {
		parts = append(parts, "the records that are there are not those that were stored")
	}
	return strings.Join(parts, "; ")
}

// Lines are the damage in pieces that fit into an event each: they name every record that people wrote, and count
// those that the hub made.
func (d *Damage) Lines() (lines []string) {
	for _, part := range d.kinds() {
		text := fmt.Sprintf("%s %s", records(len(part.written)+len(part.derived)), part.text)
		for rest := part.written; len(rest) > 0; {
			n := fitting(rest)
			lines = append(lines, text+": "+strings.Join(rest[:n], ", "))
			rest, text = rest[n:], part.text+" as well"
		}
		if n := len(part.derived); n > 0 {
			lines = append(lines, fmt.Sprintf("%s: %s of the hub's own: %s", part.text, records(n), strings.Join(part.derived[:fitting(part.derived)], ", ")))
		}
	}
	lines = append(lines, d.rest()...)
	if len(lines) == 0 {
		lines = append(lines, d.String())
	}
	return lines
}

// kind is what happened to some records, by their names: those that people wrote, and those that the hub made.
type kind struct {
	text             string
	written, derived []string
}

func (d *Damage) kinds() []kind {
	var found []kind
	for _, part := range []struct {
		keys []string
		text string
	}{{d.Gone, "gone"}, {d.Older, "gone back to an older version"}, {d.Deleted, "back after they were deleted"}} {
		if len(part.keys) == 0 {
			continue
		}
		k := kind{text: part.text}
		for _, key := range part.keys {
			if name := subjects.RecordName(key); strings.HasPrefix(key, subjects.SpecPrefix) {
				k.written = append(k.written, name)
			} else {
				k.derived = append(k.derived, name)
			}
		}
		found = append(found, k)
	}
	return found
}

// rest is what has no names.
func (d *Damage) rest() (parts []string) {
	if d.Unnamed > 0 {
		parts = append(parts, fmt.Sprintf("%s gone whose names were not noted yet", records(d.Unnamed)))
	}
	if d.UpTo > 0 {
		parts = append(parts, fmt.Sprintf("all writes after sequence %d, up to %d, are gone", d.After, d.UpTo))
	}
	switch l := d.Lost; {
	case l.Messages > 0:
		parts = append(parts, fmt.Sprintf("the server says that it left %d messages out of damaged files, %d bytes", l.Messages, l.Bytes))
	case l.Bytes > 0:
		parts = append(parts, fmt.Sprintf("the server says that it left %d bytes out of damaged files", l.Bytes))
	}
	return parts
}

func records(n int) string {
	if n == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", n)
}

// fitting is how many names an event has room for, one at least.
func fitting(names []string) int {
	n, size := 0, 0
	for n < len(names) && (n == 0 || size+len(names[n]) <= eventNames) {
		size += len(names[n]) + len(", ")
		n++
	}
	return n
}

// Package faults breaks whole fleets of real processes on purpose, and holds what was seen meanwhile against
// what was promised.
//
// A campaign runs a fleet, has clients write to it and readers look at it, and does to its processes and
// connections what a seed says. All that anybody saw goes into a History; Check says which promises it breaks.
// `make faults` runs many short campaigns, `make soak` runs until it is stopped; docs/faults.md says what
// is done and what is promised.
package faults

import (
	"fmt"
	"sync"
	"time"
)

// History is what was seen of a fleet. Times are distances from its beginning.
type History struct {
	Writes []Write
	Reads  []Read
	Shown  []Shown
	Reigns []Reign
	Spells []Spell
	// Restores are in their order.
	Restores []Restore
	Losses   []Loss
	End      End
}

// Span is from when something was asked for until it was answered, or given up.
type Span struct{ Began, Ended time.Duration }

// Outcome is what a client knows of what it asked for.
type Outcome int

// Outcomes of a Write.
const (
	Unknown      Outcome = iota // nobody answered: it may be done, now or later, once
	Acknowledged                // it is done
	Refused                     // it is not done, and never will be
)

// Version orders the writes of all objects, within one epoch.
type Version struct{ Epoch, Revision uint64 }

// Less says that v is older than other.
func (v Version) Less(other Version) bool {
	return v.Epoch < other.Epoch || v.Epoch == other.Epoch && v.Revision < other.Revision
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Epoch, v.Revision) }

// State is an object as the hub told of it. Each write changes the spec, and leaves its own request id in the
// object, so that everybody who sees one knows which write made it.
type State struct {
	Object  string
	Request string // that wrote it
	UID     string
	// Generation counts the changes of spec since the object was made.
	Generation int64
	Version
}

func (s State) String() string {
	return fmt.Sprintf("request %s, generation %d, version %s", s.Request, s.Generation, s.Version)
}

// Write is a request to change or delete an object. Beyond Object and Request its State is known when it was
// acknowledged; of a deletion it is what was deleted.
type Write struct {
	Span
	State
	Delete  bool
	Outcome Outcome
}

// Read is an object as a reader was told of it; Absent: there was none.
type Read struct {
	Span
	State
	Absent bool
}

// Shown is what a member was seen to hold of an object: what the request wrote, or nothing when it is empty.
type Shown struct {
	At                      time.Duration
	Member, Object, Request string
}

// Reign is who said to lead.
type Reign struct {
	Span
	Leader string
	Term   uint64
}

// Spell is for how long a placement was not available on a member because of an update.
type Spell struct {
	Member, Placement string
	From, To          time.Duration
}

// Restore is older data put in the place of newer: what was acknowledged between the two is known to be gone.
type Restore struct{ Copied, Restored time.Duration }

// Loss is damage that was done to what the hub keeps, and what the hub said of it before anything was decided again.
type Loss struct {
	Span
	// Told is what the hub said is gone, empty when it said nothing.
	Told string
	// Objects are those among it.
	Objects []string
	// Tail says that all writes from Began on are gone, as after a power cut, and no others.
	Tail bool
}

// End is what is there once all faults are over and the fleet had time to settle.
type End struct {
	Members []string
	// Objects by name, as the hub has them; those that are not there are absent.
	Objects map[string]State
	// Placed is on how many members each object is to be, by object.
	Placed map[string]int
	// Held is the request whose object each member holds, by member and object.
	Held map[string]map[string]string
}

// Recorder takes down a history. Its methods may be called from any goroutine.
type Recorder struct {
	mu      sync.Mutex
	history History
}

// Note changes the history under the recorder's lock.
func (r *Recorder) Note(change func(*History)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.history)
}

// History is what was taken down; the recorder is not used after it.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &r.history
}

package upgrader

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"flotilla/agent/disk"
	"flotilla/core/api"
)

// keepRecords is how many operations that ended are remembered; commands are ordered, so that an older
// one cannot come back.
const keepRecords = 50

// record is what is known on disk of one operation.
type record struct {
	Operation api.UpgradeOperation `json:"operation"`
	Accepted  time.Time            `json:"accepted"`
	// Started is set before the driver is called.
	Started time.Time `json:"started,omitzero"`
	// Warnings are what preflight found and was told to go on with.
	Warnings []string `json:"warnings,omitempty"`
	// Result is set before it is told.
	Result *api.UpgradeResult `json:"result,omitempty"`
}

// ledger is the memory on disk: the newest command and every operation it met. Every change is on the
// disk when the method that makes it returns without error.
type ledger struct {
	dir string

	mu       sync.Mutex
	commands *disk.Newest[api.UpgradeCommand]
	records  map[string]record
}

const (
	commandFile      = "command.json"
	operationsFolder = "operations"
)

// openLedger reads what is in the folder. What cannot be read is an error: to forget an operation could
// mean to run it twice.
func openLedger(dir, member string) (*ledger, error) {
	l := &ledger{dir: dir, records: map[string]record{}}
	if err := disk.ReadFolder(filepath.Join(dir, operationsFolder), func(r record) { l.records[r.Operation.ID] = r }); err != nil {
		return nil, fmt.Errorf("reading the folder of upgrades: %w", err)
	}
	var err error
	l.commands, err = disk.OpenNewest[api.UpgradeCommand](filepath.Join(dir, commandFile), api.KindUpgradeCommand, member)
	return l, err
}

// accept takes a command as it lies on the stream. It reports whether there is something new to look at, as with the first that is heard.
func (l *ledger) accept(body []byte, now time.Time) (changed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waited := !l.commands.Heard()
	changed, err = l.commands.Accept(body, now)
	return changed || waited && l.commands.Heard(), err
}

// heard says that this process has read the hub's newest command. Before that what is on the disk may be of a copy from before, and long
// done or taken back.
func (l *ledger) heard() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.commands.Heard()
}

// asked is what the newest command asks for, nil for nothing; the lock is held.
func (l *ledger) asked() *api.UpgradeOperation {
	command, _ := l.commands.Command()
	return command.Operation
}

// accepted is the id of the operation that the newest command asks for, while it has no result; empty when
// there is none.
func (l *ledger) accepted() string {
	if r, ok := l.wanted(); ok && r.Result == nil {
		return r.Operation.ID
	}
	return ""
}

// wanted is what the newest command asks for; false when it asks for nothing. A new operation gets a
// record that is not on the disk yet.
func (l *ledger) wanted() (record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	op := l.asked()
	if op == nil {
		return record{}, false
	}
	if r, ok := l.records[op.ID]; ok {
		return r, true
	}
	return record{Operation: *op, Accepted: l.commands.Received()}, true
}

// started is the operation that was started and has no result; false when there is none.
func (l *ledger) started() (record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(l.records)) {
		if r := l.records[id]; !r.Started.IsZero() && r.Result == nil {
			return r, true
		}
	}
	return record{}, false
}

// start keeps a record that says that its operation is started, unless the newest command does not ask for
// it any more; then it reports false and keeps nothing.
func (l *ledger) start(r record) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op := l.asked(); op == nil || op.ID != r.Operation.ID {
		return false, nil
	}
	return true, l.keep(r)
}

// save keeps a record. Where there are too many, those that ended first are forgotten.
func (l *ledger) save(r record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keep(r)
}

func (l *ledger) keep(r record) error {
	if err := disk.Write(l.path(r.Operation.ID), r); err != nil {
		return fmt.Errorf("keeping operation %s: %w", r.Operation.ID, err)
	}
	l.records[r.Operation.ID] = r
	return l.trim()
}

func (l *ledger) trim() error {
	var over []record
	for _, r := range l.records {
		if r.Result != nil {
			over = append(over, r)
		}
	}
	if len(over) <= keepRecords {
		return nil
	}
	slices.SortFunc(over, func(a, b record) int { return a.Accepted.Compare(b.Accepted) })
	for _, r := range over[:len(over)-keepRecords] {
		if err := os.Remove(l.path(r.Operation.ID)); err != nil {
			return fmt.Errorf("forgetting operation %s: %w", r.Operation.ID, err)
		}
		delete(l.records, r.Operation.ID)
	}
	return nil
}

// reportedRuns is how many of the runs that operations were of last are reported on, so that a hub that was
// away hears how they ended.
const reportedRuns = 8

// reports says whether a run is among those that are reported on.
func (l *ledger) reports(run string) bool {
	return slices.Contains(l.lastRuns(reportedRuns), run)
}

// lastRuns are the runs of the operations that came last, newest first, and the one that is asked for.
func (l *ledger) lastRuns(most int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var runs []string
	if op := l.asked(); op != nil {
		runs = append(runs, op.Run)
	}
	records := slices.SortedFunc(maps.Values(l.records), func(a, b record) int { return b.Accepted.Compare(a.Accepted) })
	for i := range records {
		if run := records[i].Operation.Run; len(runs) < most && !slices.Contains(runs, run) {
			runs = append(runs, run)
		}
	}
	return runs
}

func (l *ledger) path(id string) string {
	return filepath.Join(l.dir, operationsFolder, url.PathEscape(id)+".json")
}

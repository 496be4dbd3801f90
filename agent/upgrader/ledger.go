package upgrader

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"flotilla/core/api"
)

// errOlder refuses a command that is older than the one followed: of a deposed hub, or of a broker that
// lost its last writes.
var errOlder = errors.New("the stored command is older than the one that is followed")

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

// savedCommand is the newest command that was accepted.
type savedCommand struct {
	Received time.Time          `json:"received"`
	Digest   string             `json:"digest"` // of the message as it was received
	Command  api.UpgradeCommand `json:"command"`
}

// ledger is the memory on disk: the newest command and every operation it met. Every change is on the
// disk when the method that makes it returns without error.
type ledger struct {
	dir, member string

	mu      sync.Mutex
	have    bool
	current savedCommand
	records map[string]record
}

const (
	commandFile      = "command.json"
	operationsFolder = "operations"
)

// openLedger reads what is in the folder. What cannot be read is an error: to forget an operation could
// mean to run it twice.
func openLedger(dir, member string) (*ledger, error) {
	l := &ledger{dir: dir, member: member, records: map[string]record{}}
	if err := os.MkdirAll(filepath.Join(dir, operationsFolder), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of upgrades: %w", err)
	}
	switch err := readJSON(filepath.Join(dir, commandFile), &l.current); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		l.have = true
	}
	entries, err := os.ReadDir(filepath.Join(dir, operationsFolder))
	if err != nil {
		return nil, fmt.Errorf("reading the folder of upgrades: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, operationsFolder, e.Name())
		if strings.HasPrefix(e.Name(), temporary) {
			if err := os.Remove(path); err != nil {
				return nil, err
			}
			continue
		}
		var r record
		if err := readJSON(path, &r); err != nil {
			return nil, err
		}
		l.records[r.Operation.ID] = r
	}
	return l, nil
}

// accept takes a command as it lies on the stream. It reports whether there is something new to look at.
func (l *ledger) accept(body []byte, now time.Time) (changed bool, err error) {
	var c api.UpgradeCommand
	if err := json.Unmarshal(body, &c); err != nil {
		return false, fmt.Errorf("reading the upgrade command: %w", err)
	}
	if c.Kind != api.KindUpgradeCommand || c.Member != l.member {
		return false, fmt.Errorf("the command is a %q for member %q, expected a %s for %s", c.Kind, c.Member, api.KindUpgradeCommand, l.member)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(body))
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.have:
	case digest == l.current.Digest:
		return false, nil
	case c.Order.Compare(l.current.Command.Order) < 0:
		return false, errOlder
	}
	next := savedCommand{Received: now, Digest: digest, Command: c}
	if err := writeJSON(filepath.Join(l.dir, commandFile), next); err != nil {
		return false, fmt.Errorf("keeping the upgrade command: %w", err)
	}
	l.have, l.current = true, next
	return true, nil
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
	op := l.current.Command.Operation
	if op == nil {
		return record{}, false
	}
	if r, ok := l.records[op.ID]; ok {
		return r, true
	}
	return record{Operation: *op, Accepted: l.current.Received}, true
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
	if op := l.current.Command.Operation; op == nil || op.ID != r.Operation.ID {
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
	if err := writeJSON(l.path(r.Operation.ID), r); err != nil {
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

func (l *ledger) path(id string) string {
	return filepath.Join(l.dir, operationsFolder, url.PathEscape(id)+".json")
}

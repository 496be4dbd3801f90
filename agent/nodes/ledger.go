package nodes

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
	"flotilla/core/disruption"
)

// errOlder refuses a command that is older than the one followed: of a deposed hub, or of a broker that
// lost its last writes.
var errOlder = errors.New("the stored command is older than the one that is followed")

// savedCommand is the newest command that was accepted.
type savedCommand struct {
	Received time.Time             `json:"received"`
	Digest   string                `json:"digest"` // of the message as it was received
	Command  api.DisruptionCommand `json:"command"`
}

// launch is what is known on disk of a node that is to be made. It is there before the provider is asked
// for the first time, and until the node is initialized or its machine is gone again.
type launch struct {
	Disruption string         `json:"disruption"`
	Begun      time.Time      `json:"begun"`
	Launch     api.NodeLaunch `json:"launch"`
	// Defaults are labels that the node gets when neither it nor the provider knows better.
	Defaults map[string]string `json:"defaults,omitempty"`
	// Launched is what the provider answered, nil when it has not.
	Launched *api.LaunchedNode `json:"launched,omitempty"`
	// Seen says that its Node was there.
	Seen bool `json:"seen,omitempty"`
}

// machine is what the provider is asked for.
func (l *launch) machine() api.NodeMachine {
	m := api.NodeMachine{Member: l.Launch.Member, Launch: l.Launch.Name}
	if l.Launched != nil {
		m.Node, m.ProviderID = l.Launched.Node, l.Launched.ProviderID
	}
	return m
}

// labels are what the provider said of the machine.
func (l *launch) labels() map[string]string {
	if l.Launched == nil {
		return nil
	}
	return l.Launched.Labels
}

// failed says why there will be no node, empty when there may be one.
func (l *launch) failed() string {
	if l.Launched == nil {
		return ""
	}
	return l.Launched.Failed
}

// ledger is the memory on disk of what the hub wants and which nodes are being made. Every change is on
// the disk when the method that makes it returns without error. When drains began is kept where no disk
// can lose it: it is the deletionTimestamp of the node.
type ledger struct {
	dir, member string

	mu       sync.Mutex
	have     bool
	current  savedCommand
	running  map[string]*api.Disruption // of the current command, by id
	launches map[string]launch          // by name
}

const (
	commandFile    = "command.json"
	launchesFolder = "launches"
)

// openLedger reads what is in the folder. What cannot be read is an error: to forget a launch could mean
// to pay for a machine that nobody knows of.
func openLedger(dir, member string) (*ledger, error) {
	l := &ledger{dir: dir, member: member, launches: map[string]launch{}}
	if err := os.MkdirAll(filepath.Join(dir, launchesFolder), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of launches: %w", err)
	}
	switch err := readJSON(filepath.Join(dir, commandFile), &l.current); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		l.have = true
	}
	l.index()
	entries, err := os.ReadDir(filepath.Join(dir, launchesFolder))
	if err != nil {
		return nil, fmt.Errorf("reading the folder of launches: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, launchesFolder, e.Name())
		if strings.HasPrefix(e.Name(), temporary) {
			if err := os.Remove(path); err != nil {
				return nil, err
			}
			continue
		}
		var one launch
		if err := readJSON(path, &one); err != nil {
			return nil, err
		}
		l.launches[one.Launch.Name] = one
	}
	return l, nil
}

// accept takes a command as it lies on the stream. It reports whether there is something new to look at.
func (l *ledger) accept(body []byte, now time.Time) (changed bool, err error) {
	var c api.DisruptionCommand
	if err := json.Unmarshal(body, &c); err != nil {
		return false, fmt.Errorf("reading the disruption command: %w", err)
	}
	if c.Kind != api.KindDisruptionCommand || c.Member != l.member {
		return false, fmt.Errorf("the command is a %q for member %q, expected a %s for %s", c.Kind, c.Member, api.KindDisruptionCommand, l.member)
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
		return false, fmt.Errorf("keeping the disruption command: %w", err)
	}
	l.have, l.current = true, next
	l.index()
	return true, nil
}

// index lays out the current command.
func (l *ledger) index() {
	l.running = map[string]*api.Disruption{}
	for i := range l.current.Command.Disruptions {
		d := &l.current.Command.Disruptions[i]
		l.running[d.ID] = d
	}
}

// command is the newest one; false when there never was one. It must not be changed.
func (l *ledger) command() (*api.DisruptionCommand, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.current.Command
	return &c, l.have
}

// disruption is the one of an id, nil when the newest command does not have it. It must not be changed.
func (l *ledger) disruption(id string) *api.Disruption {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running[id]
}

// wants reports whether the node of a launch is still asked for.
func (l *ledger) wants(one *launch) bool {
	d := l.disruption(one.Disruption)
	return d != nil && disruption.Running(d)
}

// launch is the one of a name; false when it was never begun or is forgotten.
func (l *ledger) launch(name string) (launch, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one, ok := l.launches[name]
	return one, ok
}

// all are the launches, by name.
func (l *ledger) all() []launch {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]launch, 0, len(l.launches))
	for _, name := range slices.Sorted(maps.Keys(l.launches)) {
		out = append(out, l.launches[name])
	}
	return out
}

// save keeps a launch.
func (l *ledger) save(one launch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := writeJSON(l.path(one.Launch.Name), one); err != nil {
		return fmt.Errorf("keeping launch %s: %w", one.Launch.Name, err)
	}
	l.launches[one.Launch.Name] = one
	return nil
}

// forget drops a launch.
func (l *ledger) forget(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := os.Remove(l.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting launch %s: %w", name, err)
	}
	delete(l.launches, name)
	return nil
}

func (l *ledger) path(name string) string {
	return filepath.Join(l.dir, launchesFolder, url.PathEscape(name)+".json")
}

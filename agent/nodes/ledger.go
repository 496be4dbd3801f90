package nodes

import (
	"errors"
	"fmt"
	"io/fs"
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
	dir string

	mu       sync.Mutex
	commands *disk.Newest[api.DisruptionCommand]
	running  map[string]*api.Disruption // of the newest command, by id
	launches map[string]launch          // by name
}

const (
	commandFile    = "command.json"
	launchesFolder = "launches"
)

// openLedger reads what is in the folder. What cannot be read is an error: to forget a launch could mean
// to pay for a machine that nobody knows of.
func openLedger(dir, member string) (*ledger, error) {
	l := &ledger{dir: dir, launches: map[string]launch{}}
	if err := disk.ReadFolder(filepath.Join(dir, launchesFolder), func(one launch) { l.launches[one.Launch.Name] = one }); err != nil {
		return nil, fmt.Errorf("reading the folder of launches: %w", err)
	}
	var err error
	if l.commands, err = disk.OpenNewest[api.DisruptionCommand](filepath.Join(dir, commandFile), api.KindDisruptionCommand, member); err != nil {
		return nil, err
	}
	l.index()
	return l, nil
}

// accept takes a command as it lies on the stream. It reports whether there is something new to look at, as with the first that is heard.
func (l *ledger) accept(body []byte, now time.Time) (changed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waited := !l.commands.Heard()
	changed, err = l.commands.Accept(body, now)
	if changed {
		l.index()
	}
	return changed || waited && l.commands.Heard(), err
}

// heard says that this process has read the hub's newest command. Before that what is on the disk may be of a copy from before, and long
// over.
func (l *ledger) heard() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.commands.Heard()
}

// wanted is the newest command, once the hub was heard; false before that, and when there never was one. It must not be changed.
func (l *ledger) wanted() (*api.DisruptionCommand, bool) {
	if !l.heard() {
		return &api.DisruptionCommand{}, false
	}
	return l.command()
}

// index lays out the newest command.
func (l *ledger) index() {
	l.running = map[string]*api.Disruption{}
	command, _ := l.commands.Command()
	for i := range command.Disruptions {
		d := &command.Disruptions[i]
		l.running[d.ID] = d
	}
}

// command is the newest one; false when there never was one. It must not be changed.
func (l *ledger) command() (*api.DisruptionCommand, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.commands.Command()
	return &c, ok
}

// disruption is the one of an id, nil when the newest command does not have it. It must not be changed.
func (l *ledger) disruption(id string) *api.Disruption {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running[id]
}

// wants reports whether the node of a launch is still asked for, which it is while nobody says anything.
func (l *ledger) wants(one *launch) bool {
	if _, commanded := l.wanted(); !commanded {
		return true
	}
	d := l.disruption(one.Disruption)
	return d != nil && d.Running()
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
	if err := disk.Write(l.path(one.Launch.Name), one); err != nil {
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

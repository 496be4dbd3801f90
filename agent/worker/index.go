package worker

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"flotilla/agent/disk"
	"flotilla/core/api"
	"flotilla/core/apply"
)

// index is the newest command that was accepted, by placement.
type index struct {
	mu       sync.Mutex
	commands *disk.Newest[api.PlacementCommand]
	entries  map[string][]api.IndexEntry
	previous []api.IndexEntry
}

// loadIndex goes on with the command that is on the disk, if any.
func loadIndex(member string, s *diskStore) (*index, error) {
	commands, err := s.commands(member)
	if err != nil {
		return nil, err
	}
	x := &index{commands: commands}
	x.entries = byPlacement(x.current())
	return x, nil
}

// current are the entries of the newest command.
func (x *index) current() []api.IndexEntry {
	command, _ := x.commands.Command()
	return command.Entries
}

// accept takes a command as it lies on the stream. It reports the placements whose entries differ
// from before, sorted; none when the command is the one it has. An older one is disk.ErrOlder: the hub
// learns from the heartbeat what is held here and goes beyond it. The command is on the disk when accept
// returns without error.
func (x *index) accept(body []byte, now time.Time) (changed []string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	held := x.current()
	if another, err := x.commands.Accept(body, now); err != nil || !another {
		return nil, err
	}
	before := x.entries
	x.previous, x.entries = held, byPlacement(x.current())
	return differing(before, x.entries), nil
}

// of lists the entries of one placement: those withdrawn first.
func (x *index) of(placement string) []api.IndexEntry {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.entries[placement])
}

// order is that of the current command, zero when there never was one.
func (x *index) order() api.Order {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.commands.Order()
}

// known reports whether a command was ever accepted.
func (x *index) known() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, have := x.commands.Command()
	return have
}

// placements lists the placements of the current command, sorted.
func (x *index) placements() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Sorted(maps.Keys(x.entries))
}

// lists reports whether the current command mentions the owner.
func (x *index) lists(owner apply.Owner) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.ContainsFunc(x.entries[owner.Placement], func(e api.IndexEntry) bool { return e.UID == owner.UID })
}

// works lists the works that the current and the previous command name.
func (x *index) works() []api.Piece {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []api.Piece
	for _, entries := range [][]api.IndexEntry{x.current(), x.previous} {
		for i := range entries {
			if entries[i].At != "" {
				out = append(out, entries[i].Piece)
			}
		}
	}
	return out
}

func byPlacement(entries []api.IndexEntry) map[string][]api.IndexEntry {
	out := map[string][]api.IndexEntry{}
	for _, e := range entries {
		out[e.Placement] = append(out[e.Placement], e)
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b api.IndexEntry) int {
			switch {
			case a.Withdrawn == b.Withdrawn:
				return 0
			case a.Withdrawn:
				return -1
			}
			return 1
		})
	}
	return out
}

// differing lists the placements whose entries are not the same, sorted.
func differing(before, after map[string][]api.IndexEntry) []string {
	changed := map[string]bool{}
	for placement, entries := range after {
		if !reflect.DeepEqual(before[placement], entries) {
			changed[placement] = true
		}
	}
	for placement := range before {
		if _, ok := after[placement]; !ok {
			changed[placement] = true
		}
	}
	return slices.Sorted(maps.Keys(changed))
}

package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"flotilla/agent/disk"
	"flotilla/bus/member"
	"flotilla/core/api"
	"flotilla/core/apply"
)

// errOther refuses a change of another index than the one that is held, as where a broker lost a change that was taken.
var errOther = errors.New("the index is to be read whole")

// index is the newest command that was accepted, by placement.
type index struct {
	mu       sync.Mutex
	commands *disk.Newest[api.PlacementCommand]
	entries  map[string][]api.IndexEntry
	previous []api.IndexEntry
	// came are the commands that brought what the placements are to be now, of those that this process read.
	came map[string]arrival
}

// arrival is when a command was read, and its order.
type arrival struct {
	at    time.Time
	order api.Order
}

// note remembers the command that changed placements; the lock is held.
func (x *index) note(changed []string, now time.Time) {
	for _, placement := range changed {
		if len(x.entries[placement]) == 0 {
			delete(x.came, placement)
			continue
		}
		x.came[placement] = arrival{now, x.commands.Order()}
	}
}

// cameOf is the command that brought what a placement is to be, zero when an earlier process read it.
func (x *index) cameOf(placement string) arrival {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.came[placement]
}

// loadIndex goes on with the command that is on the disk, if any.
func loadIndex(member string, s *diskStore) (*index, error) {
	commands, err := s.commands(member)
	if err != nil {
		return nil, err
	}
	x := &index{commands: commands, came: map[string]arrival{}}
	x.entries = byPlacement(x.current())
	return x, nil
}

// current are the entries of the newest command.
func (x *index) current() []api.IndexEntry {
	command, _ := x.commands.Command()
	return command.Entries
}

// accept takes a command as it lies on the stream, with its changes. It reports the placements whose entries differ
// from before, sorted; none when the command is the one it has. An older one is disk.ErrOlder: the hub
// learns from the heartbeat what is held here and goes beyond it. The command is on the disk when accept
// returns without error.
func (x *index) accept(body []byte, changes [][]byte, now time.Time) (changed []string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	held := x.current()
	made := func(c api.PlacementCommand) (api.PlacementCommand, error) {
		slices.SortStableFunc(c.Entries, inOrder)
		c, _, err := amended(c, changes)
		return c, err
	}
	if another, err := x.commands.AcceptAs(body, now, made); err != nil || !another {
		return nil, err
	}
	before := x.entries
	x.previous, x.entries = held, byPlacement(x.current())
	changed = differing(before, x.entries)
	x.note(changed, now)
	return changed, nil
}

// amend takes over the changes that come next, and reports the placements that they are about, sorted. They are on the
// disk when amend returns without error.
func (x *index) amend(changes [][]byte, now time.Time) (changed []string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	held, _ := x.commands.Command()
	next, changed, err := amended(held, changes)
	if err != nil {
		return nil, err
	}
	if err := x.commands.Amend(next, changes, now); err != nil {
		return nil, err
	}
	x.previous = held.Entries
	for _, placement := range changed {
		x.refresh(placement, next.Entries)
	}
	x.note(changed, now)
	return changed, nil
}

// amended is an index with changes, one after another, and the placements that they are about, sorted.
func amended(c api.PlacementCommand, changes [][]byte) (api.PlacementCommand, []string, error) {
	about := map[string]bool{}
	for _, body := range changes {
		var change api.PlacementDelta
		if err := json.Unmarshal(body, &change); err != nil {
			return c, nil, fmt.Errorf("reading a change of the index: %w", err)
		}
		wanted := positionOf(&c)
		wanted.Number++
		if change.Kind != api.KindPlacementDelta || change.Member != c.Member || change.Position != wanted {
			return c, nil, fmt.Errorf("the change is a %q for member %q in position %s, expected a %s for %s in %s",
				change.Kind, change.Member, change.Position, api.KindPlacementDelta, c.Member, wanted)
		}
		switch {
		case change.Order.Compare(c.Order) <= 0:
			return c, nil, disk.ErrOlder
		case change.After != api.Order{} && change.After != c.Order:
			return c, nil, fmt.Errorf("change %s is of the index of order %s, expected %s: %w", change.Position, change.After, c.Order, errOther)
		}
		c.Order, c.Changed, c.Entries = change.Order, change.Position, amendedEntries(c.Entries, &change, about)
	}
	return c, slices.Sorted(maps.Keys(about)), nil
}

// amendedEntries are the entries of an index, sorted by placement, with a change; the placements that it is about are noted.
func amendedEntries(entries []api.IndexEntry, change *api.PlacementDelta, noted map[string]bool) []api.IndexEntry {
	about := map[string]bool{}
	for i := range change.Entries {
		about[change.Entries[i].Placement] = true
	}
	for _, placement := range change.Gone {
		about[placement] = true
	}
	maps.Copy(noted, about)
	added := slices.SortedStableFunc(slices.Values(change.Entries), inOrder)
	next := make([]api.IndexEntry, 0, len(entries)+len(added))
	for i := range entries {
		for len(added) > 0 && inOrder(added[0], entries[i]) < 0 {
			next, added = append(next, added[0]), added[1:]
		}
		if !about[entries[i].Placement] {
			next = append(next, entries[i])
		}
	}
	return append(next, added...)
}

func inOrder(a, b api.IndexEntry) int { return strings.Compare(a.Placement, b.Placement) }

// held is where the index stands that is followed, false without one that changes can be made to.
func (x *index) held() (member.Held, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	command, _ := x.commands.Command()
	return heldOf(&command)
}

// heldOf is where an index stands, false when it has no changes.
func heldOf(c *api.PlacementCommand) (member.Held, bool) {
	return member.Held{Position: positionOf(c), Session: c.Session}, len(c.Session) > 0
}

// positionOf is up to where the changes of an index are in it.
func positionOf(c *api.PlacementCommand) api.IndexPosition {
	if c.Changed.Number == 0 {
		return api.IndexPosition{Base: c.Order}
	}
	return c.Changed
}

// of lists the entries of one placement: those withdrawn first.
func (x *index) of(placement string) []api.IndexEntry {
	entries, _ := x.at(placement)
	return entries
}

// at returns the entries of a placement with the order of the command that they are of.
func (x *index) at(placement string) ([]api.IndexEntry, api.Order) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.entries[placement]), x.commands.Order()
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
		slices.SortStableFunc(list, withdrawnFirst)
	}
	return out
}

// refresh takes the entries of one placement from all, which are sorted by placement.
func (x *index) refresh(placement string, all []api.IndexEntry) {
	at, _ := slices.BinarySearchFunc(all, placement, func(e api.IndexEntry, p string) int { return strings.Compare(e.Placement, p) })
	end := at
	for end < len(all) && all[end].Placement == placement {
		end++
	}
	if at == end {
		delete(x.entries, placement)
		return
	}
	x.entries[placement] = slices.SortedStableFunc(slices.Values(all[at:end]), withdrawnFirst)
}

func withdrawnFirst(a, b api.IndexEntry) int {
	switch {
	case a.Withdrawn == b.Withdrawn:
		return 0
	case a.Withdrawn:
		return -1
	}
	return 1
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

package nodesync

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"flotilla/core/api"
)

// inventory is what the member has beside its nodes, and how much of it the hub has.
type inventory struct {
	now api.NodeInventory // the newest, without its head and nodes
	at  time.Time         // of the look that gave it
	// told is what the hub took last, when sure says that it has no other; sequence is that of it. stored
	// says that it has all there is to say but what changed since, tried that one was sent, taken or not.
	told     api.NodeInventory
	stored   bool
	sure     bool
	tried    bool
	sequence uint64
	toldAt   time.Time
	withheld string
}

// TookInventory notes that the hub has an inventory. Withheld and news are as Took has them.
func (s *Sync) TookInventory(inv *api.NodeInventory, withheld string, now time.Time) (news bool) {
	i := &s.inventory
	news = withheld != "" && i.withheld == ""
	i.told, i.sure, i.sequence, i.toldAt, i.withheld = *inv, true, inv.Sequence, now, withheld
	return news
}

// send numbers an inventory that is to be told.
func (s *Sync) send(inv *api.NodeInventory) Step {
	s.sequence++
	s.inventory.sure, s.inventory.tried = false, true
	return Step{Inventory: inv}
}

// dueInventory is the inventory to tell now, nil when there is none; next is when there will be, zero when that is
// not known.
func (s *Sync) dueInventory(now time.Time) (inv *api.NodeInventory, next time.Time) {
	i := &s.inventory
	for _, t := range s.nodes {
		if t.stored == 0 {
			return nil, time.Time{}
		}
	}
	if inv = s.count(); inv == nil {
		return nil, time.Time{}
	}
	resync, interval := i.toldAt.Add(s.pace.Resync), i.toldAt.Add(s.pace.Interval)
	switch {
	case !i.stored || !resync.After(now):
	case same(inv, &i.told):
		return nil, resync
	case interval.After(now):
		return nil, interval
	}
	return inv, time.Time{}
}

// count makes the next inventory, nil while the member cannot be read. Nodes of which the hub refused the
// newest event, or may have lost it, count with one that is still to come: that keeps the hub from acting
// on the member until it has come. A node that left is listed until that is told. What the hub does not
// know yet to be on its node is listed without one, so that the hub does not miss it.
func (s *Sync) count() *api.NodeInventory {
	if s.inventory.at.IsZero() || s.blind {
		return nil
	}
	is := s.inventory.now
	is.Boot, is.Sequence, is.At = s.boot, s.sequence+1, s.stamp(s.inventory.at)
	is.Nodes = make(map[string]uint64, len(s.nodes))
	for name, t := range s.nodes {
		switch {
		case t.gone && (t.stored >= t.version || t.sequence == 0):
		case t.lost || t.failures > 0 || t.sequence == 0:
			is.Nodes[name] = is.Sequence
		default:
			is.Nodes[name] = t.sequence
		}
	}
	if out := s.unheard(); len(out) > 0 {
		is.Pending = append(slices.Clone(is.Pending), out...)
		slices.SortFunc(is.Pending, comparePods)
	}
	return &is
}

// same reports whether two inventories say the same, whatever the events that they count.
func same(a, b *api.NodeInventory) bool {
	counted := func(_, _ uint64) bool { return true }
	return maps.EqualFunc(a.Nodes, b.Nodes, counted) && reflect.DeepEqual(a.Pending, b.Pending) && reflect.DeepEqual(a.Budgets, b.Budgets) &&
		reflect.DeepEqual(a.DaemonSets, b.DaemonSets) && reflect.DeepEqual(a.Namespaces, b.Namespaces)
}

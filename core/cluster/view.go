package cluster

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"flotilla/core/api"
)

// View folds the events of one member into a cluster. It survives events that come twice, late or not
// at all: what it holds of a node is the newest event it saw, and Stale says when that is not enough
// to act on. Of several boots of the agent what arrived last counts, whatever its clock says: the
// messages of one subject arrive in the order in which the broker stored them.
type View struct {
	Cluster *Cluster
	seen    map[string]stamp
	// inventory is the newest one, nil before the first.
	inventory *api.NodeInventory
}

type stamp struct {
	boot     string
	sequence uint64
	at       time.Time
	gone     bool
	withheld string
}

// NewView returns a view of a member of which nothing is known.
func NewView() *View { return &View{Cluster: NewCluster(), seen: map[string]stamp{}} }

// Event folds a node's state in; false when a newer one is known.
func (v *View) Event(e *api.NodeEvent) bool {
	name := e.Node.Name
	now := stamp{e.Boot, e.Sequence, e.At.Time, e.Gone, e.Node.Withheld}
	if old, ok := v.seen[name]; ok && !now.after(old) {
		return false
	}
	v.seen[name] = now
	if e.Gone {
		v.Cluster.Remove(name)
	} else {
		v.Cluster.Set(&e.Node)
	}
	return true
}

// after says that s, which has arrived later, is newer than o.
func (s stamp) after(o stamp) bool { return s.boot != o.boot || s.sequence > o.sequence }

// newer says that inv, which has arrived later, is newer than old. Agents before they counted inventories
// send one a second at most.
func newer(inv, old *api.NodeInventory) bool {
	switch {
	case inv.Boot != old.Boot:
		return true
	case inv.Sequence == old.Sequence:
		return inv.At.After(old.At.Time)
	default:
		return inv.Sequence > old.Sequence
	}
}

// Inventory folds an inventory in; false when a newer one is known. Nodes that it does not list, and
// of which its agent told nothing later, are gone.
func (v *View) Inventory(inv *api.NodeInventory) bool {
	if v.inventory != nil && !newer(inv, v.inventory) {
		return false
	}
	v.inventory = inv
	v.Cluster.SetInventory(inv)
	for name, s := range v.seen {
		if _, listed := inv.Nodes[name]; !listed && (s.boot != inv.Boot || !s.at.After(inv.At.Time)) {
			v.Cluster.Remove(name)
			delete(v.seen, name)
		}
	}
	return true
}

// Forget drops what is known of a node of which nothing is stored any more, of the inventory when node is
// "".
func (v *View) Forget(node string) {
	if node == "" {
		v.inventory = nil
		return
	}
	v.Cluster.Remove(node)
	delete(v.seen, node)
}

// Inventoried is when the inventory was made by the clock of its agent, zero when there is none.
func (v *View) Inventoried() time.Time {
	if v.inventory == nil {
		return time.Time{}
	}
	return v.inventory.At.Time
}

// Declined reports that the agent tells of no nodes: it was told to leave them alone.
func (v *View) Declined() bool {
	return v.inventory != nil && v.inventory.Withheld != "" && len(v.inventory.Nodes) == 0 && v.Cluster.Len() == 0
}

// Unlisted are the nodes that the inventory does not name, so that what is stored of them can be
// purged; sorted.
func (v *View) Unlisted(stored []string) []string {
	if v.inventory == nil {
		return nil
	}
	var out []string
	for _, name := range stored {
		if _, listed := v.inventory.Nodes[name]; !listed {
			if _, seen := v.seen[name]; !seen {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Unconfirmed are the nodes of which something is stored and that the inventory does not name, told of since or not;
// sorted. An agent names a node within seconds of telling of it first.
func (v *View) Unconfirmed(stored []string) []string {
	if v.inventory == nil {
		return nil
	}
	out := slices.DeleteFunc(slices.Clone(stored), func(name string) bool {
		_, listed := v.inventory.Nodes[name]
		return listed
	})
	slices.Sort(out)
	return out
}

// Stale says why the view is not to be acted on, "" when it may be: no inventory yet or for longer than
// most, events missing that the inventory counts, or states that the agent could not tell.
func (v *View) Stale(now time.Time, most time.Duration) string {
	if v.inventory == nil {
		return "the member has sent no inventory of its nodes yet"
	}
	if at := v.inventory.At.Time; now.Sub(at) > most {
		return fmt.Sprintf("the newest inventory of its nodes is of %s, more than %s ago", at.UTC().Format(time.RFC3339), most)
	}
	if v.inventory.Withheld != "" {
		return v.inventory.Withheld
	}
	for _, name := range slices.Sorted(maps.Keys(v.inventory.Nodes)) {
		s, seen := v.seen[name]
		want := v.inventory.Nodes[name]
		switch {
		case !seen:
			return fmt.Sprintf("the inventory lists node %s, of which no event has come", name)
		case s.boot != v.inventory.Boot:
			return fmt.Sprintf("the events of node %s and the inventory are of different starts of the agent; it has not told everything anew yet", name)
		case s.sequence < want:
			return fmt.Sprintf("the newest event of node %s has not come", name)
		case s.withheld != "":
			return fmt.Sprintf("node %s: %s", name, s.withheld)
		}
	}
	return ""
}
